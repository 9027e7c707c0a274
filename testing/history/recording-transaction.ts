/**
 * The transaction as a recorded body has it. Reads and writes are recorded in the order in which
 * they count: reads by key where they were called, since they see the writes before their call;
 * pages where they were answered, since own writes are laid over them then.
 */
import { attribute } from "../../core/attributes.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import { compareKeyValues } from "../../core/key-order.ts";
import { matchesSortKey } from "../../core/sort-key-condition.ts";
import type { Item, TableDescription } from "../../core/types.ts";
import type {
  BodyTransaction,
  EngineTransaction,
  QuerySpec,
  Reader,
  RowPage,
  ScanSpec,
} from "../../engine/types.ts";
import { historyKey, historyVersion, historyAttribute } from "./key-text.ts";
import type { AttemptRecord, HistoryRecorder } from "./recorder.ts";
import type { RecordingOptions } from "./recording-options.ts";

export function recordingReader(
  reader: Reader,
  attempt: AttemptRecord,
  options: Pick<RecordingOptions, "process" | "universe">,
  recorder: HistoryRecorder,
): Reader {
  return new RecordingReader(reader, attempt, options, recorder).methods();
}

export function recordingTransaction(
  transaction: EngineTransaction,
  attempt: AttemptRecord,
  options: RecordingOptions,
  recorder: HistoryRecorder,
): EngineTransaction {
  const reads = new RecordingReader(transaction, attempt, options, recorder);
  return {
    ...reads.methods(),
    // A spread would have read the timestamp once and for all.
    get readTimestamp() {
      return transaction.readTimestamp;
    },
    put: (table, item) => {
      if (Object.hasOwn(item, historyAttribute)) {
        throw new InvalidRequestError(historyAttribute, "is where the recorder keeps versions");
      }
      const version = attempt.nextVersion();
      transaction.put(table, { ...item, [historyAttribute]: { S: version } });
      const isAppend = options.appendTables?.includes(table) === true;
      const key = historyKey(transaction.describe(table), item);
      attempt.push([isAppend ? "a" : "w", key, version]);
    },
    delete: (table, key) => {
      transaction.delete(table, key);
      const name = historyKey(transaction.describe(table), key);
      attempt.push(["d", name, attempt.nextVersion()]);
    },
  };
}

/** As above, for a body that may roll back: then its writes were never made. */
export function recordingBody(
  transaction: BodyTransaction,
  attempt: AttemptRecord,
  options: RecordingOptions,
  recorder: HistoryRecorder,
): BodyTransaction {
  return {
    ...recordingTransaction(transaction, attempt, options, recorder),
    // As above.
    get readTimestamp() {
      return transaction.readTimestamp;
    },
    rollback: () => {
      transaction.rollback();
      attempt.forgetWrites();
    },
    doom: (error) => {
      transaction.doom(error);
    },
  };
}

type Page = { readonly limit?: number | undefined; readonly cursor?: Item | undefined };

class RecordingReader {
  readonly #reader: Reader;
  readonly #attempt: AttemptRecord;
  readonly #options: Pick<RecordingOptions, "process" | "universe">;
  readonly #recorder: HistoryRecorder;
  /**
   * Keys found so far by passes under way, by what was asked for and where the next page begins.
   */
  readonly #passes = new Map<string, ReadonlySet<string>>();

  constructor(
    reader: Reader,
    attempt: AttemptRecord,
    options: Pick<RecordingOptions, "process" | "universe">,
    recorder: HistoryRecorder,
  ) {
    this.#reader = reader;
    this.#attempt = attempt;
    this.#options = options;
    this.#recorder = recorder;
  }

  methods(): Reader {
    const reader = this.#reader;
    return {
      get readTimestamp() {
        return reader.readTimestamp;
      },
      describe: (table) => reader.describe(table),
      get: (table, key) => this.#get(table, key),
      batchGet: (keys) => this.#batchGet(keys),
      queryPage: (table, query, page) => this.#queryPage(table, query, page),
      scanPage: (table, scan, page) => this.#scanPage(table, scan, page),
    };
  }

  #describe(name: string): TableDescription {
    const table = this.#reader.describe(name);
    if (table.access === "mixed") this.#attempt.readAsItIs();
    return table;
  }

  async #get(table: string, key: Item): Promise<Item | undefined> {
    const record = this.#attempt.reserve();
    const item = await this.#reader.get(table, key);
    this.#note(record, historyKey(this.#describe(table), key), item);
    return withoutVersion(item);
  }

  async #batchGet(
    keys: readonly { readonly table: string; readonly key: Item }[],
  ): Promise<readonly (Item | undefined)[]> {
    const records = keys.map(() => this.#attempt.reserve());
    const items = await this.#reader.batchGet(keys);
    for (const [i, record] of records.entries()) {
      const asked = keys[i];
      if (asked === undefined) continue;
      this.#note(record, historyKey(this.#describe(asked.table), asked.key), items[i]);
    }
    return items.map(withoutVersion);
  }

  async #queryPage(table: string, query: QuerySpec, page: Page): Promise<RowPage> {
    const found = await this.#reader.queryPage(table, query, page);
    return this.#page(found, {
      table: this.#describe(table),
      pass: `${table} ${JSON.stringify(query, bytesAsText)}`,
      page,
      covers:
        query.index === undefined
          ? (description, key) => inRange(query, description, key)
          : undefined,
    });
  }

  async #scanPage(table: string, scan: ScanSpec, page: Page): Promise<RowPage> {
    const found = await this.#reader.scanPage(table, scan, page);
    const description = this.#describe(table);
    const { segment } = scan;
    return this.#page(found, {
      ...{ table: description, page },
      pass: segment === undefined ? table : `${table} ${segment.index}/${segment.total}`,
      // Which rows are of a segment the store alone knows.
      covers: segment === undefined ? () => true : undefined,
    });
  }

  #page(
    found: RowPage,
    asked: {
      readonly table: TableDescription;
      readonly pass: string;
      readonly page: Page;
      /** Whether a pass that is through has looked at the key; undefined: nobody can tell. */
      readonly covers: ((table: TableDescription, key: Item) => boolean) | undefined;
    },
  ): RowPage {
    const { table, page, covers } = asked;
    const seen = new Set(
      page.cursor === undefined ? [] : this.#passes.get(passText(asked.pass, page.cursor)),
    );
    const wholePass =
      page.cursor === undefined || this.#passes.has(passText(asked.pass, page.cursor));
    for (const item of found.rows) {
      const key = historyKey(table, item);
      seen.add(key);
      this.#note(this.#attempt.reserve(), key, item);
    }
    if (found.cursor !== undefined) {
      if (wholePass) this.#passes.set(passText(asked.pass, found.cursor), seen);
    } else if (wholePass && covers !== undefined) {
      this.#noteAbsent(table, covers, seen);
    }
    return { rows: found.rows.map((item) => strip(item)), cursor: found.cursor };
  }

  #noteAbsent(
    table: TableDescription,
    covers: (table: TableDescription, key: Item) => boolean,
    seen: ReadonlySet<string>,
  ): void {
    for (const each of this.#options.universe ?? []) {
      if (each.table !== table.name || !covers(table, each.key)) continue;
      const key = historyKey(table, each.key);
      // An own write made during the pass may lie before the place that the pass had reached.
      if (seen.has(key) || this.#attempt.hasWritten(key)) continue;
      this.#attempt.push(["r", key, null]);
      this.#noteTimestamp();
    }
  }

  #note(record: ReturnType<AttemptRecord["reserve"]>, key: string, item: Item | undefined): void {
    const version = historyVersion(item);
    const name =
      version === undefined ? this.#recorder.initialVersion(key, this.#options.process) : version;
    record(["r", key, name]);
    this.#noteTimestamp();
  }

  /** As far as known now; a receipt says it for good. */
  #noteTimestamp(): void {
    if (!this.#attempt.isOver) this.#attempt.snapshotTs = this.#reader.readTimestamp;
  }
}

function withoutVersion(item: Item | undefined): Item | undefined {
  return item === undefined ? undefined : strip(item);
}

function strip(item: Item): Item {
  if (!Object.hasOwn(item, historyAttribute)) return item;
  const { [historyAttribute]: _version, ...rest } = item;
  return rest;
}

function inRange(query: QuerySpec, table: TableDescription, key: Item): boolean {
  const partition = attribute(key, table.partitionKey.name);
  if (partition === undefined || compareKeyValues(partition, query.partitionKey) !== 0) {
    return false;
  }
  if (query.sortKey === undefined || table.sortKey === undefined) return true;
  const value = attribute(key, table.sortKey.name);
  return value !== undefined && matchesSortKey(query.sortKey, value);
}

function passText(pass: string, cursor: Item): string {
  return `${pass} ${JSON.stringify(cursor, bytesAsText)}`;
}

function bytesAsText(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Array.from(value) : value;
}
