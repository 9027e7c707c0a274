/**
 * BASE transactions that are asked for by somebody who has no handler for them, such as the REST
 * interface, and begun by a runner. A request is a record, and an entry in the list of what is
 * open. It holds nothing, and nothing has happened until somebody who has the handler takes it up
 * and the first step is committed:
 *
 *     requested ──▶ running            first step committed: accepted, and goes on to its end
 *               ──▶ refused            by its first step, or what checks its input
 *               ──▶ cancelled
 *               ──▶ parked, ▲          its handler has failed too often before its first step
 *                   └───────┘
 *
 * Each arrow is a commit that reads the head and puts it, so that of a step and whoever cancels
 * one is first, and the other is told. What was refused or cancelled stays for as long as what has
 * ended: a copy of the request that was under way for long must not begin it after all.
 */
import { baseExpiryAttribute } from "../../core/base-tables.ts";
import type { BaseRefusal } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Clock } from "../../core/ports.ts";
import type { AttributeValue, TableDescription } from "../../core/types.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";
import type { Signalled } from "./base-name.ts";
import {
  headItem,
  headKey,
  openItem,
  openKey,
  toHead,
  type BaseBeginning,
  type BaseHead,
} from "./record.ts";

/** Runs a transaction over the records table alone. */
export type OverRecords = <Result>(
  options: Signalled,
  task: (context: TransactionContext, records: TableDescription) => Promise<Result>,
) => Promise<Result>;

export type WantedBase = {
  readonly name: string;
  readonly version: number;
  readonly input: AttributeValue;
  readonly isUnchecked: boolean;
  /** Random: tells this request from all others of that id. */
  readonly request: string;
};

/** That nobody has begun it, and somebody may. */
export function isWaiting({ phase, steps }: Pick<BaseHead, "phase" | "steps">): boolean {
  return steps === 0 && (phase === "requested" || phase === "parked");
}

/** That it never began, and never will. */
export function isRefused({ phase }: Pick<BaseHead, "phase">): boolean {
  return phase === "refused" || phase === "cancelled";
}

/** Two clients' clocks may be wrong in opposite directions. */
const clockMarginMs = 2 * limits.clientClockErrorMsMax;

/**
 * Whether a process may be at what was last heard of then. A clock that no honest one can be so far
 * ahead is not believed: who has died with it would keep all runners away for as long.
 */
export function isHeardOf(
  lastMs: number,
  { takeOverMs, nowMs }: { readonly takeOverMs: number; readonly nowMs: number },
): boolean {
  const isPossible = lastMs <= nowMs + clockMarginMs;
  return isPossible && lastMs + takeOverMs > nowMs;
}

/** What a run of it begins with. Its token tells this run from others that take it up at once. */
export function beginningOf(
  { name, version, input, request, isUnchecked = false }: BaseHead,
  { token, begunMs }: Pick<BaseBeginning, "token" | "begunMs">,
): BaseBeginning {
  return { name, version, input, request, isUnchecked, token, begunMs };
}

/** Whether that step is the next one of what stands there. */
export function isAtStep(
  found: BaseHead | undefined,
  { number, beginning }: { readonly number: number; readonly beginning: BaseBeginning },
): boolean {
  const { request } = beginning;
  if (number > 1) return found?.steps === number - 1 && found.phase !== "ended";
  if (found === undefined) return request === undefined;
  // mutant: begins-what-was-cancelled
  return found.phase === "requested" && found.request === request;
}

export async function headIn(
  context: TransactionContext,
  records: TableDescription,
  base: string,
): Promise<BaseHead | undefined> {
  const item = await context.get(records.name, headKey(base));
  return item && toHead(item);
}

export class BaseRequests {
  readonly #over: OverRecords;
  readonly #clock: Clock;

  constructor(over: OverRecords, clock: Clock) {
    this.#over = over;
    this.#clock = clock;
  }

  /** @returns what stands there now: this one, also where an earlier try of it has put it. */
  request(base: string, wanted: WantedBase, options: Signalled): Promise<BaseHead> {
    return this.#over(options, async (context, records) => {
      const found = await headIn(context, records, base);
      // mutant: asks-over-what-stands
      if (found !== undefined) return found;
      const requestedMs = this.#clock.nowMs();
      const head: BaseHead = {
        ...wanted,
        ...{ token: undefined, steps: 0, phase: "requested", startedMs: requestedMs, lastMs: 0 },
        ...{ failures: 0, failure: undefined, result: undefined, dependsOn: [] },
      };
      context.putInto(records, headItem(base, head));
      const { name, version } = wanted;
      // mutant: requests-not-listed
      context.putInto(records, openItem({ base, name, version, requestedMs }));
      return head;
    });
  }

  /** @returns what has become of it: cancelled, unless it has begun. Undefined: there is none. */
  cancel(base: string, options: Signalled): Promise<BaseHead | undefined> {
    return this.#closed(base, options, (head) =>
      // mutant: cancels-what-has-begun
      isWaiting(head) ? { ...head, phase: "cancelled" } : undefined,
    );
  }

  /** Notes why it will not be, unless another run of it has begun it meanwhile. */
  refuse(
    base: string,
    { request, refusal }: { readonly request: string; readonly refusal: BaseRefusal },
  ): Promise<BaseHead | undefined> {
    return this.#closed(base, {}, (head) =>
      isWaiting(head) && head.request === request
        ? { ...head, phase: "refused", refusal, failure: `${refusal.name}: ${refusal.message}` }
        : undefined,
    );
  }

  #closed(
    base: string,
    options: Signalled,
    next: (head: BaseHead) => BaseHead | undefined,
  ): Promise<BaseHead | undefined> {
    return this.#over(options, async (context, records) => {
      const before = await headIn(context, records, base);
      const closed = before && next(before);
      if (closed === undefined) return before;
      const nowMs = this.#clock.nowMs();
      const after: BaseHead = { ...closed, lastMs: nowMs };
      const expiresAt = Math.floor(nowMs / 1000) + limits.baseRetentionSeconds;
      const expiry = { [baseExpiryAttribute]: { N: expiresAt.toString() } };
      context.putInto(records, { ...headItem(base, after), ...expiry });
      context.deleteFrom(records, openKey(base));
      return after;
    });
  }
}
