/**
 * One table with its secondary indexes: rows, recent images, and the capacity that a write takes.
 */
import { attribute } from "../../../core/attributes.ts";
import { itemSizeBytes } from "../../../core/item-size.ts";
import type { Item } from "../../../core/types.ts";
import { itemsEqual } from "../../../expressions/attribute-values.ts";
import { writeUnits } from "../../../expressions/capacity.ts";
import {
  type IndexSchema,
  keyOf,
  type KeySchema,
  projectedNames,
} from "../../../expressions/key-schema.ts";
import { project } from "../../../expressions/projections.ts";
import { OrderedRows, type RowKey, type StoredItem } from "./ordered-rows.ts";
import { indexRowKeyOf, rowKeyOf } from "./table-schema.ts";

export type SecondaryIndex = { readonly schema: IndexSchema; readonly rows: OrderedRows };

/** What became of one item, for those who judge a run. */
export type ItemChange = {
  readonly table: string;
  /** Key attributes only. */
  readonly key: Item;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
  readonly nowMs: number;
};

/** Write units by what was written. */
export type WriteCapacity = {
  readonly table: number;
  readonly indexes: ReadonlyMap<SecondaryIndex, number>;
};

export type TableDefinition = {
  readonly name: string;
  readonly schema: KeySchema;
  readonly indexes: readonly IndexSchema[];
  readonly billing: "PAY_PER_REQUEST" | "PROVISIONED";
  readonly createdMs: number;
};

export class Table {
  readonly definition: TableDefinition;
  readonly schema: KeySchema;
  readonly indexes: ReadonlyMap<string, SecondaryIndex>;
  readonly rows: OrderedRows;
  /** Attribute with the time, in seconds, at which an item expires. */
  ttlAttribute: string | undefined = undefined;
  itemCount = 0;
  sizeBytes = 0;

  constructor(definition: TableDefinition, keepMs: number) {
    this.definition = definition;
    this.schema = definition.schema;
    this.rows = new OrderedRows(keepMs);
    this.indexes = new Map(
      definition.indexes.map((schema) => [schema.name, { schema, rows: new OrderedRows(keepMs) }]),
    );
  }

  get name(): string {
    return this.definition.name;
  }

  *indexSchemas(): Generator<IndexSchema> {
    for (const { schema } of this.indexes.values()) yield schema;
  }

  /** What stands under the key now. */
  find(key: RowKey): StoredItem | undefined {
    return this.rows.find(key)?.current;
  }

  /** Stores a checked item, or removes what is there. */
  write(key: RowKey, item: Item | undefined, nowMs: number): WriteCapacity {
    const before = this.find(key);
    const after = item === undefined ? undefined : { item, bytes: itemSizeBytes(item) };
    if (before !== undefined || after !== undefined) this.rows.set(key, after, nowMs);
    this.itemCount += (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    this.sizeBytes += (after?.bytes ?? 0) - (before?.bytes ?? 0);
    const indexes = new Map<SecondaryIndex, number>();
    for (const index of this.indexes.values()) {
      const units = this.#writeIndex(index, { key, before, after, nowMs });
      if (units > 0) indexes.set(index, units);
    }
    return { table: writeUnits(Math.max(before?.bytes ?? 0, after?.bytes ?? 0)), indexes };
  }

  /** The part of an item that an index holds. */
  projected(index: IndexSchema, item: Item): Item {
    if (index.projection.type === "ALL") return item;
    return project(
      item,
      projectedNames(this.schema, index).map((name) => [name]),
    );
  }

  rowKey(item: Item): RowKey {
    return rowKeyOf(this.schema, item);
  }

  key(item: Item): Item {
    return keyOf(this.schema, item);
  }

  /**
   * Items whose time has passed; those of more than five years ago are left alone, as documented.
   */
  *expired(nowMs: number): Generator<{ readonly key: RowKey; readonly item: Item }> {
    if (this.ttlAttribute === undefined) return;
    const nowSeconds = nowMs / 1000;
    for (const { key, current } of this.rows.inHashRange({ hashLow: 0, hashHigh: 2 ** 32 })) {
      const time = current === undefined ? undefined : attribute(current.item, this.ttlAttribute);
      if (current === undefined || time === undefined || !("N" in time)) continue;
      const seconds = Number(time.N);
      if (seconds <= nowSeconds && seconds > nowSeconds - ttlAgeSecondsMax) {
        yield { key, item: current.item };
      }
    }
  }

  /** Units: one write to put or remove an entry, two to move it, none where it stays as it is. */
  #writeIndex(
    index: SecondaryIndex,
    change: {
      readonly key: RowKey;
      readonly before: StoredItem | undefined;
      readonly after: StoredItem | undefined;
      readonly nowMs: number;
    },
  ): number {
    const { key, nowMs } = change;
    const old = this.#entry(index.schema, key, change.before);
    const fresh = this.#entry(index.schema, key, change.after);
    if (old !== undefined && fresh !== undefined && sameRowKey(old.key, fresh.key)) {
      if (itemsEqual(old.stored.item, fresh.stored.item)) return 0;
      index.rows.set(fresh.key, fresh.stored, nowMs);
      return writeUnits(Math.max(old.stored.bytes, fresh.stored.bytes));
    }
    if (old !== undefined) index.rows.set(old.key, undefined, nowMs);
    if (fresh !== undefined) index.rows.set(fresh.key, fresh.stored, nowMs);
    return (
      (old === undefined ? 0 : writeUnits(old.stored.bytes)) +
      (fresh === undefined ? 0 : writeUnits(fresh.stored.bytes))
    );
  }

  #entry(
    index: IndexSchema,
    row: RowKey,
    stored: StoredItem | undefined,
  ): { readonly key: RowKey; readonly stored: StoredItem } | undefined {
    const key = stored === undefined ? undefined : indexRowKeyOf(index, stored.item, row);
    if (stored === undefined || key === undefined) return undefined;
    if (index.projection.type === "ALL") return { key, stored };
    const item = this.projected(index, stored.item);
    return { key, stored: { item, bytes: itemSizeBytes(item) } };
  }
}

const ttlAgeSecondsMax = 5 * 365 * 24 * 3600;

function sameRowKey(a: RowKey, b: RowKey): boolean {
  return a.partition.id === b.partition.id && a.sort?.id === b.sort?.id && a.owner === b.owner;
}
