/**
 * One attempt of a transaction: reads at its read timestamp, its own buffered writes laid over
 * them. Implements the engine's `BodyTransaction` (engine/types.ts); committing is commit.ts.
 */
import { keyOf } from "../../core/attributes.ts";
import { TransactionClosedError, UnavailableError } from "../../core/errors.ts";
import { validateDeletedKey, validateItem, validateKey } from "../../core/item-validation.ts";
import { OnDemand } from "../../core/on-demand.ts";
import { isBaseRecordsTable, recordsAreOwn } from "../../core/own-tables.ts";
import type { Item, TableDescription, Timestamp } from "../../core/types.ts";
import { asError } from "../concurrency.ts";
import type { Beside } from "../reading/pages.ts";
import { batchGetInShards, getItem } from "../reading/point-reads.ts";
import type { AttemptViews } from "./attempt-views.ts";
import { readKeyOf } from "../reading/read-key.ts";
import type { TableRegistry } from "../table-registry.ts";
import type { BodyTransaction, PageRequest, QuerySpec, RowPage, ScanSpec } from "../types.ts";
import { assertKeyCount, itemIdentity, WriteBuffer } from "./write-buffer.ts";

const pages = new OnDemand("pages", () => import("../reading/pages.ts"));

export class TransactionContext implements BodyTransaction {
  readonly views: AttemptViews;
  readonly writes: WriteBuffer;
  readonly #registry: TableRegistry;
  /**
   * Items read so far: they cannot have changed at the read timestamp, so a second read costs
   * nothing.
   */
  readonly #read = new Map<string, Item | undefined>();
  /** By pages of indexes (index-pages.ts). */
  readonly shown = new Map<string, Item>();
  #isRolledBack = false;

  constructor(views: AttemptViews, registry: TableRegistry) {
    this.views = views;
    this.writes = new WriteBuffer(views.hashes);
    this.#registry = registry;
  }

  get readTimestamp(): Timestamp {
    return this.views.readTimestamp;
  }

  /** Whether it is kept apart from BASE transactions, or is a step of one. */
  isGuarded = false;

  /**
   * @throws UnavailableError for a table for BASE transactions that was registered meanwhile.
   * InvalidRequestError for the one that holds their records.
   */
  describe(table: string): TableDescription {
    const description = this.#registry.describe(table);
    if (this.isGuarded) return description;
    if (isBaseRecordsTable(table)) throw recordsAreOwn(table);
    if (description.baseSince === undefined) return description;
    throw this.views.fate.doom(
      new UnavailableError(
        `table "${table}" was registered for BASE transactions since this transaction began; it ` +
          "is to be run again",
      ),
    );
  }

  async get(table: string, key: Item): Promise<Item | undefined> {
    this.views.assertOpen();
    const description = this.describe(table);
    validateKey(description, key);
    const own = this.writes.find(description, key);
    if (own !== undefined) return own.item;
    const identity = itemIdentity(description, key);
    if (this.#read.has(identity)) return this.#read.get(identity);
    assertKeyCount(this.views.readCount + 1, this.writes.size);
    const asked = readKeyOf(this.views.hashes, { table: description, key, identity });
    const item = await getItem(await this.views.at(asked.hashes.partition), asked);
    this.#read.set(identity, item);
    return item;
  }

  /**
   * As `get`, also from a table that is Tidemark's own and that no caller can name; and never what
   * is only about to be committed: waits for the verdicts of this process's own writers first.
   */
  async getCommitted(description: TableDescription, key: Item): Promise<Item | undefined> {
    validateKey(description, key);
    const identity = itemIdentity(description, key);
    const asked = readKeyOf(this.views.hashes, { table: description, key });
    const view = await this.views.at(asked.hashes.partition);
    await view.local?.localDecided({ ...asked, identity });
    const item = await getItem(view, asked);
    this.#read.set(identity, item);
    return item;
  }

  async batchGet(
    keys: readonly { readonly table: string; readonly key: Item }[],
  ): Promise<readonly (Item | undefined)[]> {
    this.views.assertOpen();
    const wanted = keys.map(({ table, key }) => {
      const description = this.describe(table);
      validateKey(description, key);
      // Own writes as of the call, as `get` has them.
      const own = this.writes.find(description, key);
      return { description, key, identity: itemIdentity(description, key), own };
    });
    await this.#readAll(wanted.filter(({ own }) => own === undefined));
    return wanted.map(({ identity, own }) =>
      own === undefined ? this.#read.get(identity) : own.item,
    );
  }

  /** Items at the read timestamp, own writes left aside; they join the read set. */
  async stored(
    description: TableDescription,
    keys: readonly Item[],
  ): Promise<readonly (Item | undefined)[]> {
    const wanted = keys.map((key) => {
      return { description, key, identity: itemIdentity(description, key) };
    });
    await this.#readAll(wanted);
    return wanted.map(({ identity }) => this.#read.get(identity));
  }

  async #readAll(
    wanted: readonly {
      readonly description: TableDescription;
      readonly key: Item;
      readonly identity: string;
    }[],
  ): Promise<void> {
    const unread = new Map(
      wanted
        .filter(({ identity }) => !this.#read.has(identity))
        .map((want) => [want.identity, want]),
    );
    assertKeyCount(this.views.readCount + unread.size, this.writes.size);
    if (unread.size === 0) return;
    const asked = [...unread.values()];
    const { hashes } = this.views;
    const items = await batchGetInShards(
      this.views,
      asked.map(({ description: table, key, identity }) =>
        readKeyOf(hashes, { table, key, identity }),
      ),
    );
    asked.forEach(({ identity }, i) => this.#read.set(identity, items[i]));
  }

  get isRolledBack(): boolean {
    return this.#isRolledBack;
  }

  rollback(): void {
    this.views.assertOpen();
    this.#isRolledBack = true;
    // mutant: rollback-keeps-writes
    this.writes.clear();
  }

  doom(error: unknown): void {
    // What comes late must not stand in place of how the commit ends.
    const { fate } = this.views;
    if (!fate.isClosed) fate.doom(asError(error));
  }

  put(table: string, item: Item): void {
    this.#assertWritable();
    this.putInto(this.describe(table), item);
  }

  /** As `put`, also into a table that is Tidemark's own. */
  putInto(description: TableDescription, item: Item): void {
    this.views.assertOpen();
    validateItem(description, item);
    this.#buffer(description, keyOf(description, item), item);
  }

  delete(table: string, key: Item): void {
    this.#assertWritable();
    this.deleteFrom(this.describe(table), key);
  }

  /** As `delete`, also from a table whose rows are Tidemark's own. */
  deleteFrom(description: TableDescription, key: Item): void {
    this.views.assertOpen();
    validateDeletedKey(description, key);
    this.#buffer(description, key, undefined);
  }

  #assertWritable(): void {
    this.views.assertOpen();
    if (!this.#isRolledBack) return;
    throw new TransactionClosedError("the transaction was rolled back; return from its body");
  }

  #buffer(table: TableDescription, key: Item, item: Item | undefined): void {
    assertKeyCount(this.views.readCount, this.writes.size + 1);
    this.writes.set(table, key, item, this.views.fate.versioned);
  }

  /** @param beside writes below the page what is to be laid over it (pages.ts). */
  async queryPage(
    table: string,
    query: QuerySpec,
    page: PageRequest,
    beside?: Beside,
  ): Promise<RowPage> {
    this.views.assertOpen();
    const of = this.describe(table);
    return pages.use(({ queryRows }) => queryRows(this, of, query, { ...page, beside }));
  }

  async scanPage(table: string, scan: ScanSpec, page: PageRequest): Promise<RowPage> {
    this.views.assertOpen();
    const of = this.describe(table);
    return pages.use(({ scanRows }) => scanRows(this, of, { ...scan, ...page }));
  }
}
