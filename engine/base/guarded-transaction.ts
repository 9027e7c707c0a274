/**
 * What a body is given in place of its transaction, where BASE transactions are about: how it
 * reads, and what its commit does besides, is its kind's.
 */
import { TransactionClosedError } from "../../core/errors.ts";
import { isBaseRecordsTable, recordsAreOwn } from "../../core/own-tables.ts";
import type { Item, TableDescription, Timestamp } from "../../core/types.ts";
import type { AttemptServices } from "../attempts/attempt-services.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";
import type { BodyTransaction, PageRequest, QuerySpec, RowPage, ScanSpec } from "../types.ts";
import type { LockReader } from "./lock-reader.ts";

export type GuardParts = {
  readonly context: TransactionContext;
  readonly locks: LockReader;
  readonly services: AttemptServices;
};

export abstract class GuardedTransaction implements BodyTransaction {
  protected readonly context: TransactionContext;
  protected readonly locks: LockReader;
  protected readonly services: AttemptServices;
  #isGathered = false;

  constructor({ context, locks, services }: GuardParts) {
    this.context = context;
    this.locks = locks;
    this.services = services;
  }

  get readTimestamp(): Timestamp {
    return this.context.readTimestamp;
  }

  describe(table: string): TableDescription {
    this.assertUsers(table);
    return this.context.describe(table);
  }

  /**
   * What is recorded of BASE transactions nobody's body reads or writes: a row there says that one
   * is released, or what a runner is to do.
   * @throws InvalidRequestError
   */
  protected assertUsers(table: string): void {
    if (isBaseRecordsTable(table)) throw recordsAreOwn(table);
  }

  /** @throws where the table may not be written so. */
  protected abstract assertWritable(table: string): void;

  /**
   * What a body has not waited for may come when the locks of what it has written are looked at, or
   * taken: nobody would see to its own.
   * @throws TransactionClosedError
   */
  #assertGathering(): void {
    // mutant: late-puts-taken
    if (!this.#isGathered) return;
    throw new TransactionClosedError(
      "the transaction is being committed; wait for its reads and writes within its body",
    );
  }

  put(table: string, item: Item): void {
    this.#assertGathering();
    this.assertWritable(table);
    this.context.put(table, item);
  }

  delete(table: string, key: Item): void {
    this.#assertGathering();
    this.assertWritable(table);
    this.context.delete(table, key);
  }

  rollback(): void {
    this.#assertGathering();
    this.context.rollback();
  }

  doom(error: unknown): void {
    this.context.doom(error);
  }

  abstract get(table: string, key: Item): Promise<Item | undefined>;
  abstract batchGet(
    keys: readonly { readonly table: string; readonly key: Item }[],
  ): Promise<readonly (Item | undefined)[]>;
  abstract queryPage(table: string, query: QuerySpec, page: PageRequest): Promise<RowPage>;
  abstract scanPage(table: string, scan: ScanSpec, page: PageRequest): Promise<RowPage>;
  /** Once the body has returned, before what it has written is certified: nothing comes to it. */
  beforeCommit(): Promise<void> {
    this.#isGathered = true;
    return this.gathered();
  }

  protected abstract gathered(): Promise<void>;
}
