/** What runners take, and the checks of it: at hand before a runner is (base-function.ts). */
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { BaseTrouble } from "../engine/base/types.ts";
import type { AnyBase } from "./base-definition.ts";
import {
  aFunction,
  aSignal,
  type Check,
  type Checks,
  checkOptions,
  integerIn,
  type LooseCheck,
  oneOf,
} from "./check-options.ts";

export type BaseRunnerOptions = {
  /** What it runs, each in its version: those, too, that are only open in an older one. */
  readonly handlers: readonly AnyBase[];
  /** What no process has been at for so long is taken over. Default 30,000. */
  readonly takeOverMs?: number;
  /** Between two looks. Default 1,000. */
  readonly pollMs?: number;
  /** `"caught-up"` ends it when nothing is left to go on with. Default `"stopped"`. */
  readonly until?: "stopped" | "caught-up";
  /** Ends it; what runs goes on, unless the client is closed. */
  readonly signal?: AbortSignal;
  /**
   * Told of what has no handler here, of failures, of what was parked, and when the store is out
   * for long, and answers again.
   */
  readonly onTrouble?: (trouble: BaseTrouble) => void;
};

const someHandlers: Check<readonly AnyBase[]> = (value) =>
  Array.isArray(value) && value.length > 0 && value.every(isDefinition)
    ? undefined
    : "an array of what defineBase makes, and not empty";

export const runnerChecks = {
  handlers: someHandlers,
  takeOverMs: integerIn({ min: 100, max: limits.baseTakeOverMsMax }),
  pollMs: integerIn({ min: 10, max: limits.baseRunnerPollMsMax }),
  until: oneOf("stopped", "caught-up"),
  signal: aSignal,
  onTrouble: aFunction,
} satisfies Checks<BaseRunnerOptions>;

/** @throws InvalidRequestError naming the option that is missing, unknown or wrong. */
export function checkRunnerOptions(
  options: Partial<BaseRunnerOptions>,
  checks: Readonly<Record<keyof BaseRunnerOptions, LooseCheck>>,
): asserts options is BaseRunnerOptions {
  checkOptions("", options, checks);
  if (options.handlers !== undefined) return;
  throw new InvalidRequestError("handlers", "a runner needs `handlers`, made by defineBase");
}

export function isDefinition(value: unknown): boolean {
  return typeof value === "object" && value !== null && "handler" in value && "version" in value;
}
