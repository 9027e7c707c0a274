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
import type { BaseRefusal } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Clock } from "../../core/ports.ts";
import type { AttributeValue, TableDescription } from "../../core/types.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";
import { expiringAfter } from "./attributes.ts";
import type { Signalled } from "./base-name.ts";
import { openItem, openKey } from "./open-list.ts";
import { headItem, isWaiting, notFailing, type BaseBeginning, type BaseHead } from "./record.ts";
import { headIn } from "./records.ts";

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
        ...{ ...notFailing, failure: undefined, result: undefined, dependsOn: [] },
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
      context.putInto(records, {
        ...headItem(base, after),
        ...expiringAfter(nowMs, limits.baseRetentionSeconds),
      });
      context.deleteFrom(records, openKey(base));
      return after;
    });
  }
}
