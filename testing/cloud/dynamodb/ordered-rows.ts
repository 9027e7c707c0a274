/**
 * The rows of a table or an index: partitions in the order of their keys' hashes, rows within one
 * in the order of their sort keys. Each row keeps its recent images, so that a read can be served
 * as of some moment ago; what was deleted stays as a row without an image until that moment is out
 * of reach. Nothing here depends on the order of insertion.
 */
import type { Item } from "../../../core/types.ts";
import { compareKeyScalars, type KeyScalar, partitionHash } from "./key-scalar.ts";

/** Where a row stands. */
export type RowKey = {
  readonly partition: KeyScalar;
  /** Undefined where there is no sort key. */
  readonly sort: KeyScalar | undefined;
  /** Tells rows of an index apart that have the same index key; empty in a table. */
  readonly owner: string;
};

export type StoredItem = { readonly item: Item; readonly bytes: number };

export type Row = {
  readonly key: RowKey;
  /** What stands there now. */
  readonly current: StoredItem | undefined;
};

/**
 * Where a walk through a partition begins: behind a row's place, or at a sort key, that one
 * included.
 */
export type Start = { readonly after: RowKey } | { readonly from: KeyScalar };

type Image = { readonly stored: StoredItem | undefined; readonly replacedAtMs: number };

type MutableRow = {
  readonly key: RowKey;
  current: StoredItem | undefined;
  /** Older images, oldest first. */
  images: Image[];
};

type Partition = {
  readonly id: string;
  readonly hash: number;
  readonly rows: MutableRow[];
  readonly byId: Map<string, MutableRow>;
};

/** What stood in the row at that time; undefined asks for what stands there now. */
export function imageAt(row: Row, atMs: number | undefined): StoredItem | undefined {
  if (atMs === undefined) return row.current;
  const image = (row as MutableRow).images.find(({ replacedAtMs }) => replacedAtMs > atMs);
  return image === undefined ? row.current : image.stored;
}

export class OrderedRows {
  readonly #keepMs: number;
  readonly #partitions = new Map<string, Partition>();
  readonly #order: Partition[] = [];
  /** Rows by the time of their replaced images, for pruning. */
  #replaced: { readonly row: MutableRow; readonly atMs: number }[] = [];
  #pruned = 0;

  /** @param keepMs how long replaced images are kept. */
  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  find(key: RowKey): Row | undefined {
    return this.#partitions.get(key.partition.id)?.byId.get(rowId(key));
  }

  /** Puts an item there, or takes it away. */
  set(key: RowKey, stored: StoredItem | undefined, nowMs: number): void {
    this.#prune(nowMs);
    const row = (this.find(key) as MutableRow | undefined) ?? this.#insert(key);
    if (this.#keepMs > 0) {
      row.images.push({ stored: row.current, replacedAtMs: nowMs });
      this.#replaced.push({ row, atMs: nowMs });
    }
    row.current = stored;
    if (stored === undefined && row.images.length === 0) this.#remove(row);
  }

  /** Rows of one partition from `start` on, in either direction; without it, all of them. */
  *inPartition(
    partition: KeyScalar,
    { start, descending = false }: { readonly start?: Start; readonly descending?: boolean },
  ): Generator<Row> {
    const rows = this.#partitions.get(partition.id)?.rows ?? [];
    if (descending) {
      for (let i = descendingStart(rows, start) - 1; i >= 0; i--) {
        const row = rows[i];
        if (row !== undefined) yield row;
      }
      return;
    }
    for (let i = ascendingStart(rows, start); i < rows.length; i++) {
      const row = rows[i];
      if (row !== undefined) yield row;
    }
  }

  /** All rows after a place, of the partitions whose hash lies in `[hashLow, hashHigh)`. */
  *inHashRange(options: {
    readonly hashLow: number;
    readonly hashHigh: number;
    readonly after?: RowKey | undefined;
  }): Generator<Row> {
    const { after, hashLow, hashHigh } = options;
    const first =
      after === undefined
        ? this.#orderPlace(hashLow, "")
        : this.#orderPlace(partitionHash(after.partition.id), after.partition.id);
    for (let i = first; i < this.#order.length; i++) {
      const partition = this.#order[i];
      if (partition === undefined || partition.hash >= hashHigh) return;
      const begun = after !== undefined && partition.id === after.partition.id;
      const start = begun ? placeAfter(partition.rows, after) : 0;
      for (let j = start; j < partition.rows.length; j++) {
        const row = partition.rows[j];
        if (row !== undefined) yield row;
      }
    }
  }

  #insert(key: RowKey): MutableRow {
    const { id } = key.partition;
    let partition = this.#partitions.get(id);
    if (partition === undefined) {
      partition = { id, hash: partitionHash(id), rows: [], byId: new Map() };
      this.#partitions.set(id, partition);
      this.#order.splice(this.#orderPlace(partition.hash, id), 0, partition);
    }
    const row: MutableRow = { key, current: undefined, images: [] };
    partition.byId.set(rowId(key), row);
    partition.rows.splice(place(partition.rows, key), 0, row);
    return row;
  }

  #remove({ key }: MutableRow): void {
    const partition = this.#partitions.get(key.partition.id);
    if (partition === undefined) return;
    partition.byId.delete(rowId(key));
    partition.rows.splice(place(partition.rows, key), 1);
    if (partition.rows.length > 0) return;
    this.#partitions.delete(partition.id);
    this.#order.splice(this.#orderPlace(partition.hash, partition.id), 1);
  }

  #prune(nowMs: number): void {
    const beforeMs = nowMs - this.#keepMs;
    for (; this.#pruned < this.#replaced.length; this.#pruned += 1) {
      const entry = this.#replaced[this.#pruned];
      if (entry === undefined || entry.atMs >= beforeMs) break;
      const { row } = entry;
      row.images = row.images.filter(({ replacedAtMs }) => replacedAtMs >= beforeMs);
      const stands = this.find(row.key) === row;
      if (stands && row.current === undefined && row.images.length === 0) this.#remove(row);
    }
    // The entries that are done leave in bulk.
    if (this.#pruned > 1_024 && this.#pruned * 2 > this.#replaced.length) {
      this.#replaced = this.#replaced.slice(this.#pruned);
      this.#pruned = 0;
    }
  }

  /** Index of the first partition that does not come before this place. */
  #orderPlace(hash: number, id: string): number {
    return firstIndex(this.#order, (each) => !isBefore(each, hash, id));
  }
}

/** Index of the row with this key, or where it would stand. */
function place(rows: readonly MutableRow[], key: RowKey): number {
  // Logs grow at their end.
  const last = rows.at(-1);
  if (last === undefined || compareRowKeys(last.key, key) < 0) return rows.length;
  return firstIndex(rows, (row) => compareRowKeys(row.key, key) >= 0);
}

function placeAfter(rows: readonly MutableRow[], key: RowKey): number {
  return firstIndex(rows, (row) => compareRowKeys(row.key, key) > 0);
}

function ascendingStart(rows: readonly MutableRow[], start: Start | undefined): number {
  if (start === undefined) return 0;
  if ("after" in start) return placeAfter(rows, start.after);
  return firstIndex(rows, (row) => compareSort(row.key, start.from) >= 0);
}

/** One above the index of the first row of a descending walk. */
function descendingStart(rows: readonly MutableRow[], start: Start | undefined): number {
  if (start === undefined) return rows.length;
  if ("after" in start) return place(rows, start.after);
  return firstIndex(rows, (row) => compareSort(row.key, start.from) > 0);
}

function compareSort(key: RowKey, sort: KeyScalar): number {
  return key.sort === undefined ? 0 : compareKeyScalars(key.sort, sort);
}

/** Index of the first element that meets a condition which all later ones meet too. */
function firstIndex<Element>(
  elements: readonly Element[],
  meets: (element: Element) => boolean,
): number {
  let low = 0;
  let high = elements.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const element = elements[middle];
    if (element !== undefined && meets(element)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function isBefore(partition: Partition, hash: number, id: string): boolean {
  return partition.hash === hash ? partition.id < id : partition.hash < hash;
}

/** Of one partition. */
function compareRowKeys(a: RowKey, b: RowKey): number {
  if (a.sort !== undefined && b.sort !== undefined) {
    const order = compareKeyScalars(a.sort, b.sort);
    if (order !== 0) return order;
  }
  return a.owner === b.owner ? 0 : a.owner < b.owner ? -1 : 1;
}

function rowId({ sort, owner }: RowKey): string {
  if (owner === "") return sort?.id ?? "";
  return `${(sort?.id.length ?? 0).toString()}:${sort?.id ?? ""}${owner}`;
}
