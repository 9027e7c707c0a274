/**
 * One attempt at a step: runs its body, and adds what its commit puts besides what that has
 * written: the step's record, the head, and the locks of all that it has read and written.
 */
import type { AttributeValue, TableDescription } from "../../core/types.ts";
import type { AttemptServices } from "../attempts/attempt-services.ts";
import type { Guard } from "../attempts/guard.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";
import type { BodyTransaction } from "../types.ts";
import { stateItem } from "./base-state.ts";
import { allDependencies } from "./dependencies.ts";
import { LockReader } from "./lock-reader.ts";
import { openItem } from "./open-list.ts";
import {
  headItem,
  newHead,
  notFailing,
  stepItem,
  type BaseBeginning,
  type BaseHead,
  type StepRecord,
} from "./record.ts";
import { headIn } from "./records.ts";
import { isAtStep } from "./requests.ts";
import { endOf, failedBy, type StepEnd } from "./step-end.ts";
import { isOfBody } from "./step-errors.ts";
import { StepTransaction, type Heed } from "./step-transaction.ts";

export type StepTask = {
  readonly number: number;
  readonly name: string;
  readonly body: (transaction: BodyTransaction) => Promise<AttributeValue>;
  readonly beginning: BaseBeginning;
  readonly signal: AbortSignal;
};

export type MadeStep = {
  /** With what its body returned or threw. */
  readonly step: StepRecord;
  /** What it threw. */
  readonly error: unknown;
  readonly head: BaseHead;
};

type Ran = { readonly before: BaseHead | undefined; readonly end: StepEnd };

export class StepAttempt implements Guard {
  readonly transaction: StepTransaction;
  readonly #base: string;
  readonly #task: StepTask;
  readonly #context: TransactionContext;
  readonly #locks: LockReader;
  readonly #services: AttemptServices;
  #ran: Ran | undefined;
  #made: MadeStep | undefined;

  constructor(
    base: string,
    task: StepTask,
    parts: {
      readonly context: TransactionContext;
      readonly services: AttemptServices;
      readonly records: TableDescription;
      readonly heed: Heed | undefined;
    },
  ) {
    const { context, services, records, heed } = parts;
    context.isGuarded = true;
    this.#base = base;
    this.#task = task;
    this.#context = context;
    this.#services = services;
    this.#locks = new LockReader(context, records, services.ports.digest);
    const isFirst = task.number === 1;
    const locks = this.#locks;
    this.transaction = new StepTransaction({ context, locks, services, base, heed, isFirst });
  }

  /** What its commit records; undefined: what stands there has come further, or begun otherwise. */
  get made(): MadeStep | undefined {
    return this.#made;
  }

  /** @throws what the body throws before anything is accepted. */
  async run(): Promise<void> {
    const found = await headIn(this.#context, this.#locks.records, this.#base);
    // mutant: step-made-again
    if (!isAtStep(found, this.#task)) {
      this.transaction.rollback();
      return;
    }
    // A request is nothing that has begun.
    const before = this.#task.number === 1 ? undefined : found;
    const isAccepted = before !== undefined;
    const at = { context: this.#context, services: this.#services, isAccepted };
    const end = await endOf(this.#task, this.transaction, at);
    this.#ran = { before, end };
  }

  async beforeCommit(): Promise<void> {
    if (this.#ran === undefined) return;
    const { before } = this.#ran;
    const { error, ...end } = await this.#lockAll(this.#ran);
    const { number, name, beginning } = this.#task;
    const base = this.#base;
    const nowMs = this.#services.ports.clock.nowMs();
    const { after, taken, dependsOn: met } = this.transaction;
    const step: StepRecord = { number, name, atMs: nowMs, after, locks: taken, end };
    const head: BaseHead = {
      ...(before ?? newHead(beginning, nowMs)),
      steps: number,
      lastMs: nowMs,
      ...notFailing,
      failure: undefined,
      dependsOn: await allDependencies(
        base,
        { before: before?.dependsOn ?? [], met },
        { locks: this.#locks, isFirst: before === undefined },
      ),
    };
    this.#made = { step, error, head };
    const { records } = this.#locks;
    this.#context.putInto(records, stepItem(base, step));
    this.#context.putInto(records, headItem(base, head));
    if (number > 1) return;
    this.#context.putInto(records, stateItem({ base, phase: "open", dependsOn: [] }));
    this.#context.putInto(records, openItem({ base, ...beginning }));
  }

  /**
   * Buffers the locks. A step that asks for more than a commit takes has failed as if its body had:
   * its handler is told, and goes on.
   */
  async #lockAll({ before, end }: Ran): Promise<StepEnd> {
    try {
      await this.transaction.beforeCommit();
      return end;
    } catch (error) {
      const isDoomed = this.#context.views.fate.doomed !== undefined;
      const isFinal = before === undefined || isDoomed || end.kind === "failed";
      if (isFinal || !isOfBody(error)) throw error;
      this.#context.writes.clear();
      await this.transaction.beforeCommit();
      return failedBy(error as Error);
    }
  }
}
