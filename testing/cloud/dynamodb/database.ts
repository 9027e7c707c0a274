/** All tables, and what every operation shares: finding a table, writing an item, the time. */
import * as limits from "./service-limits.ts";
import { itemSizeBytes } from "../../../core/item-size.ts";
import type { Item } from "../../../core/types.ts";
import { invalid, tableMissing } from "./failures.ts";
import type { RowKey } from "./ordered-rows.ts";
import type { ItemChange, Table, WriteCapacity } from "./table.ts";

export class Database {
  readonly tables = new Map<string, Table>();
  readonly #nowMs: () => number;
  readonly #listeners: ((change: ItemChange) => void)[] = [];
  /** How long images are kept for stale reads. */
  readonly staleMsMax: number;

  constructor(options: { readonly nowMs: () => number; readonly staleMsMax: number }) {
    this.#nowMs = options.nowMs;
    this.staleMsMax = options.staleMsMax;
  }

  get nowMs(): number {
    return this.#nowMs();
  }

  onWrite(listener: (change: ItemChange) => void): void {
    this.#listeners.push(listener);
  }

  /** @throws ServiceError when there is no such table. */
  table(name: string): Table {
    const table = this.tables.get(name);
    if (table === undefined) throw tableMissing();
    return table;
  }

  /** Stores a checked item, or removes what stands there, and tells the listeners. */
  write(table: Table, key: RowKey, item: Item | undefined): WriteCapacity {
    const { nowMs } = this;
    const before = table.find(key)?.item;
    const capacity = table.write(key, item, nowMs);
    const stood = before ?? item;
    if (stood !== undefined && this.#listeners.length > 0) {
      const change = { table: table.name, key: table.key(stood), before, after: item, nowMs };
      for (const listener of this.#listeners) listener(change);
    }
    return capacity;
  }
}

/** @throws ServiceError for a name that no table can have. */
export function requireTableName(name: unknown): string {
  if (typeof name !== "string") {
    throw invalid("The parameter 'TableName' is required but was not present in the request");
  }
  // A table may also be named by its ARN, which ends with its name.
  const own = name.startsWith("arn:") ? name.slice(name.indexOf("/") + 1) : name;
  if (own.length < 3 || own.length > 255) {
    throw invalid("TableName must be at least 3 characters long and at most 255 characters long");
  }
  if (!/^[a-zA-Z0-9_.-]+$/.test(own)) {
    throw invalid(
      `1 validation error detected: Value '${own}' at 'tableName' failed to satisfy constraint: ` +
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
    );
  }
  return own;
}

/** @throws ServiceError for an item above 400 KB. */
export function requireItemSize(item: Item, message: string): void {
  if (itemSizeBytes(item) > limits.itemBytesMax) throw invalid(message);
}

/** @throws ServiceError for a value that the parameter does not take. */
export function requireOneOf(
  parameter: string,
  value: string | undefined,
  allowed: readonly string[],
): void {
  if (value === undefined || allowed.includes(value)) return;
  throw invalid(
    `1 validation error detected: Value '${value}' at '${parameter}' failed to satisfy ` +
      "constraint: " +
      `Member must satisfy enum value set: [${allowed.join(", ")}]`,
  );
}
