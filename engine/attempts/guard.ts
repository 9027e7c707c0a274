/** What stands between a body and its transaction, where BASE transactions are about. */
import type { BodyTransaction } from "../types.ts";
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
