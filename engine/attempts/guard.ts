/** What stands between a body and its transaction, where BASE transactions are about. */
import type { Call } from "../call.ts";
import type {
  BaseStepName,
  BodyTransaction,
  Receipt,
  ResultCodec,
  TransactOptions,
} from "../types.ts";
import type { AttemptServices } from "./attempt-services.ts";
import type { TransactionContext } from "./transaction-context.ts";

export type Guard = {
  /** As the body is to see it. */
  readonly transaction: BodyTransaction;
  /** Called once the body has returned, before what it has written is certified. */
  beforeCommit(): Promise<void>;
};

/** Made anew for each attempt. */
export type GuardOf = (services: AttemptServices, context: TransactionContext) => Guard;

export type TransactTask<Result> = {
  readonly options: TransactOptions;
  readonly body: (transaction: BodyTransaction) => Promise<Result>;
  /** With an idempotency key alone. */
  readonly codec: ResultCodec<Result> | undefined;
  /** Default: it is kept apart from open BASE transactions, where there may be some. */
  readonly guard?: GuardOf;
  /** Told with its events. */
  readonly step?: BaseStepName | undefined;
};

/** What runs a body until its transaction commits. */
export type RunsTransactions = {
  transact<Result>(
    call: Call,
    task: TransactTask<Result>,
  ): Promise<{ readonly result: Result; readonly receipt: Receipt }>;
};
