/**
 * BASE transactions as applications define them (docs/base.md): a handler that goes from step to
 * step. Each step is a transaction of its own, and its commit also keeps what it has returned.
 */
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { utf8Length } from "../core/utf8.ts";
import { anObject, type Checks, checkOptions, integerIn } from "./check-options.ts";
import type { Validator } from "./table.ts";
import type { TransactionBody } from "./transaction.ts";

/** What a handler is given. It may touch the world only by what it can do twice. */
export type BaseSteps = {
  /** That of the BASE transaction. */
  readonly id: string;
  /**
   * Runs a step, once: when the handler runs again after a crash, it returns what it did, and
   * throws where it failed. Other BASE transactions see it at once, all others after the end.
   * @param name of the step, the same in every run.
   * @throws what the body throws; `StepFailedError` in a later run.
   * @example
   * await base.step("bill", async (tx) => {
   *   tx.put(accounts, base.id, { balanceCents: 0 });
   * });
   */
  step<Result>(name: string, body: TransactionBody<Result>): Promise<Result>;
  /**
   * When the step before was committed, or all began: the same in every run.
   * @example const placedAt = base.now().toISOString();
   */
  now(): Date;
  /**
   * In `[0, 1)`; the same in every run. It follows from name and id, and is no secret.
   * @example const winner = Math.floor(base.random() * 10);
   */
  random(): number;
  /**
   * The same in every run; no secret either.
   * @example const voucher = base.uuid();
   */
  uuid(): string;
};

export type BaseHandler<Input, Result> = (base: BaseSteps, input: Input) => Promise<Result>;

export type BaseOptions<Input> = {
  /** Of the handler: to be raised where it takes other steps than before. Default 1. */
  readonly version?: number;
  /** Validates what it is begun with (Standard Schema, synchronous). */
  readonly input?: Validator<unknown, Input> | undefined;
  /**
   * A run that makes no step for so many milliseconds is over, and counts as failed; another one
   * goes on. 1,000 to a day. Default 900,000.
   */
  readonly silentMsMax?: number;
  /**
   * A handler that fails is run again, at growing intervals, for so many milliseconds at least, and
   * ten times; then it is parked. 100 to seven days. Default 3,600,000.
   */
  readonly parkAfterMs?: number;
};

/** Made by `defineBase`. */
export type BaseDefinition<Input = never, Result = unknown> = {
  readonly name: string;
  readonly version: number;
  readonly input: Validator<unknown, Input> | undefined;
  readonly handler: BaseHandler<Input, Result>;
  readonly silentMsMax: number;
  readonly parkAfterMs: number;
};

/** Any definition, whatever its types. */
export type AnyBase = Pick<
  BaseDefinition,
  "name" | "version" | "handler" | "silentMsMax" | "parkAfterMs"
> & {
  readonly input?: Validator<unknown, unknown> | undefined;
};

/** What names it, and says what it returns. */
export type NamedBase<Result> = Pick<BaseDefinition<never, Result>, "name" | "handler">;

export const definitionChecks = {
  version: integerIn({ min: 1, max: limits.baseVersionMax }),
  input: (value: unknown) =>
    typeof value === "function" || anObject(value) === undefined
      ? undefined
      : "a Standard Schema validator",
  silentMsMax: integerIn({ min: 1_000, max: limits.baseSilentMsMax }),
  parkAfterMs: integerIn({ min: limits.baseParkAfterMsMin, max: limits.baseParkAfterMsMax }),
} satisfies Checks<BaseOptions<unknown>>;

/**
 * Defines a BASE transaction.
 * @param name of 1 to 64 letters, digits, dots, dashes and underscores.
 * @throws InvalidRequestError for another name, and for options that are unknown or wrong.
 * @example
 * const createOrder = defineBase("create-order", async (base, order: Order) => {
 *   const seat = await base.step("reserve", (tx) => reserve(tx, order));
 *   await base.step("bill", (tx) => bill(tx, order, seat));
 *   return { seat };
 * });
 */
export function defineBase<Input, Result>(
  name: string,
  handler: BaseHandler<Input, Result>,
): BaseDefinition<Input, Result>;
export function defineBase<Input, Result>(
  name: string,
  options: BaseOptions<Input>,
  handler: BaseHandler<Input, Result>,
): BaseDefinition<Input, Result>;
export function defineBase<Input, Result>(
  name: string,
  first: BaseOptions<Input> | BaseHandler<Input, Result>,
  second?: BaseHandler<Input, Result>,
): BaseDefinition<Input, Result> {
  // Options behind the handler would otherwise count for nothing, without a word.
  const isAlone = typeof first === "function" && second === undefined;
  const [options, handler] = isAlone ? [{}, first] : [first as BaseOptions<Input>, second];
  if (typeof handler !== "function") {
    throw new InvalidRequestError("handler", "the last argument must be the handler, a function");
  }
  if (!isName(name)) {
    throw new InvalidRequestError(
      "name",
      `a BASE transaction's name has 1 to ${limits.baseNameBytesMax} letters, digits, dots, ` +
        "dashes and underscores",
    );
  }
  checkOptions("", options, definitionChecks);
  const { version = 1, input } = options;
  const { silentMsMax = limits.baseSilentMsDefault } = options;
  const { parkAfterMs = limits.baseParkAfterMsDefault } = options;
  return { name, version, input, handler, silentMsMax, parkAfterMs };
}

function isName(name: unknown): boolean {
  if (typeof name !== "string" || !/^[\w.-]+$/.test(name)) return false;
  return utf8Length(name) <= limits.baseNameBytesMax;
}
