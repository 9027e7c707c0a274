/**
 * The commands of one run of a transaction's body: whatever they read joins its read set, and what
 * they write is buffered, to be seen by its later reads.
 *
 * DynamoDB performs each command at one moment; a body may send many at once. So whatever writes
 * takes its turn here, from its last look at the items to its write.
 */
import { InvalidRequestError } from "../core/errors.ts";
import type { BodyTransaction, Reader } from "../engine/types.ts";
import type { Item } from "../core/types.ts";
import { keyOf } from "../expressions/key-schema.ts";
import { decideWrite, type BoundWrite, type Decision } from "../expressions/writes.ts";
import { canonical } from "./canonical.ts";
import { commandTable, type CommandTable } from "./tables.ts";

/** A transaction; or a snapshot, which is of the same kind and must not write. */
export type CommandTransaction = Reader & Pick<BodyTransaction, "put" | "delete" | "doom">;

export type TableWrite = BoundWrite<CommandTable>;

/** Where a page was cut that had more rows than were asked for. */
export type CutPage = {
  /** Of the rows that the engine has given; those from `at` on are not shown yet. */
  readonly keys: readonly Item[];
  readonly at: number;
  readonly cursor: Item | undefined;
};

export class TransactionCommands {
  readonly transaction: CommandTransaction;
  readonly #mayWrite: boolean;
  /** By what was asked for and the key that the answer ended with. */
  readonly cutPages = new Map<string, CutPage>();
  /** Requests of TransactWriteItems that were done, by their tokens. */
  readonly tokens = new Map<string, string>();
  #underWay = 0;
  #isAbandoned = false;
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(transaction: CommandTransaction, mayWrite = true) {
    this.transaction = transaction;
    this.#mayWrite = mayWrite;
  }

  /** Whether commands have been begun that are not answered yet. */
  get isAtWork(): boolean {
    return this.#underWay > 0;
  }

  /** Counts what is under way, from when the application has sent it. */
  async during<Result>(run: () => Promise<Result>): Promise<Result> {
    const isLate = this.#isAbandoned;
    this.#underWay += 1;
    try {
      return await run();
    } finally {
      this.#underWay -= 1;
      // One of its own each time: of a shared one each waiter would be kept for good.
      if (this.#isAbandoned && !isLate) await new Promise<never>(() => undefined);
    }
  }

  /**
   * The transaction fails since its body has not waited for what is under way. Nothing of that is
   * answered from now on: a rejection would reach promises that nobody looks at, the application's
   * and its libraries' own, which no part of ours can mark as handled, and Node ends a process for
   * one. Whatever is sent later is refused as ever.
   */
  abandon(): void {
    this.#isAbandoned = true;
  }

  /** @throws InvalidRequestError for a table that is not registered. */
  table(name: string): CommandTable {
    return commandTable(this.transaction.describe(name));
  }

  async get(table: CommandTable, key: Item): Promise<Item | undefined> {
    const item = await this.transaction.get(table.name, key);
    return item && canonical(item);
  }

  async batchGet(
    keys: readonly { readonly table: CommandTable; readonly key: Item }[],
  ): Promise<readonly (Item | undefined)[]> {
    const asked = keys.map(({ table, key }) => ({ table: table.name, key }));
    const items = await this.transaction.batchGet(asked);
    return items.map((item) => item && canonical(item));
  }

  /**
   * @param reads whether anything depends on what is there; else the write is blind.
   * @throws ServiceError when its condition fails.
   */
  async write(write: TableWrite, reads: boolean): Promise<Decision> {
    const { table, item } = write;
    const key = keyOf(table.schema, item);
    // Beside what others do, so that in its turn it is at hand.
    if (reads) await this.get(table, key);
    return this.inTurn(async () => {
      const before = reads ? await this.get(table, key) : undefined;
      const decision = { before, after: decideWrite(write, before) };
      this.apply(write, decision, reads);
      return decision;
    });
  }

  /** @param isSeen whether what was there before is known. */
  apply({ kind, table, item }: TableWrite, { before, after }: Decision, isSeen: boolean): void {
    if (kind === "check") return;
    const { transaction } = this;
    if (!this.#mayWrite) {
      throw new InvalidRequestError("body", "a snapshot only reads; use `db.transact`");
    }
    if (after !== undefined) transaction.put(table.name, after);
    else if (!isSeen || before !== undefined) {
      transaction.delete(table.name, keyOf(table.schema, item));
    }
  }

  /** Of what is asked so, one runs after the other. */
  inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    const turn = this.#lastTurn.then(run);
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }
}
