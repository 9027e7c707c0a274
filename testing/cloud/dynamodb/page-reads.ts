/**
 * Query and Scan: one page, row by row. The page is not isolated as a unit: between two steps
 * others may write, and rows behind the place that the page has reached are seen as they are then.
 */
import type { Select } from "@aws-sdk/client-dynamodb";
import type { AttributeValue, Item } from "../../../core/types.ts";
import { setAttribute, attribute } from "../../../core/attributes.ts";
import { CapacityCount, readUnits } from "../../../expressions/capacity.ts";
import { type Condition, meets } from "../../../expressions/conditions.ts";
import { keyAttributes } from "../../../expressions/key-schema.ts";
import type { Fetches } from "../../../expressions/pages.ts";
import type { DocumentPath } from "../../../expressions/placeholders.ts";
import { project } from "../../../expressions/projections.ts";
import { consumed, findAt } from "./item-operations.ts";
import type { Operations } from "./operation-types.ts";
import { imageAt, type Row, type RowKey, type StoredItem } from "./ordered-rows.ts";
import { toSdkItem } from "./sdk-values.ts";
import type { SecondaryIndex, Table } from "./table.ts";
import * as limits from "./service-limits.ts";

/** A page that is being read. */
export type SteppedRead<Output> = {
  /** Reads at most so many rows; whether there may be more to read. */
  step(rowsMax: number): boolean;
  /** Of what was read; reads the rest first. */
  result(): Output;
};

export type PagePlan = {
  readonly table: Table;
  readonly index: SecondaryIndex | undefined;
  /** Rows behind a place, or from the beginning, in the page's order. */
  readonly rows: (after: RowKey | undefined) => Generator<Row>;
  readonly after: RowKey | undefined;
  /** Undefined: now. */
  readonly atMs: number | undefined;
  readonly limit: number | undefined;
  readonly consistent: boolean;
  readonly filter: Condition | undefined;
  readonly paths: readonly DocumentPath[] | undefined;
  readonly select: Select;
  /**
   * Of a local index that lacks what is asked for, or what is filtered by: items come from the
   * table.
   */
  readonly fetches: Fetches;
  readonly report: "INDEXES" | "TOTAL" | "NONE" | undefined;
};

type PageOutput = Operations["Query"]["output"];

export class PageRead implements SteppedRead<PageOutput> {
  readonly #plan: PagePlan;
  #place: RowKey | undefined;
  #last: Item | undefined;
  #ended = false;
  #scanned = 0;
  #bytes = 0;
  #fetchUnits = 0;
  #count = 0;
  readonly #items: Item[] = [];

  constructor(plan: PagePlan) {
    this.#plan = plan;
    this.#place = plan.after;
  }

  step(rowsMax: number): boolean {
    if (this.#ended) return false;
    const { rows, atMs, limit } = this.#plan;
    let visited = 0;
    for (const row of rows(this.#place)) {
      if (visited >= rowsMax) return true;
      this.#place = row.key;
      const stored = imageAt(row, atMs);
      if (stored === undefined) continue;
      visited += 1;
      this.#take(stored);
      const full = this.#scanned === limit || this.#bytes >= limits.pageBytesMax;
      if (!full) continue;
      this.#ended = true;
      this.#last = stored.item;
      return false;
    }
    this.#ended = true;
    return false;
  }

  result(): PageOutput {
    this.step(Number.POSITIVE_INFINITY);
    const { select, report } = this.#plan;
    return {
      ...(select === "COUNT" ? {} : { Items: this.#items.map(toSdkItem) }),
      Count: this.#count,
      ScannedCount: this.#scanned,
      ...(this.#last === undefined ? {} : { LastEvaluatedKey: this.#startKey(this.#last) }),
      ...consumed(this.#capacity(), report),
    };
  }

  #take(stored: StoredItem): void {
    const { table, filter, paths, fetches, atMs } = this.#plan;
    this.#scanned += 1;
    this.#bytes += stored.bytes;
    let { item } = stored;
    if (fetches !== "never") {
      const whole = findAt(table, table.key(item), atMs);
      this.#fetchUnits += readUnits(whole?.bytes ?? 0, this.#kind());
      item = whole?.item ?? item;
    }
    if (!meets(filter, item)) return;
    this.#count += 1;
    if (fetches === "to-filter") ({ item } = stored);
    this.#items.push(paths === undefined ? item : project(item, paths));
  }

  #startKey(item: Item) {
    const { table, index } = this.#plan;
    const key: Record<string, AttributeValue> = {};
    const attributes = [
      ...keyAttributes(table.schema),
      ...(index === undefined ? [] : keyAttributes(index.schema)),
    ];
    for (const { name } of attributes) {
      const value = attribute(item, name);
      if (value !== undefined) setAttribute(key, name, value);
    }
    return toSdkItem(key);
  }

  #kind(): "consistent" | "eventual" {
    return this.#plan.consistent ? "consistent" : "eventual";
  }

  #capacity(): CapacityCount {
    const { table, index } = this.#plan;
    const count = new CapacityCount(table.name);
    const units = readUnits(this.#bytes, this.#kind());
    if (index === undefined) count.addTable(units);
    else count.addIndex(index.schema, units);
    count.addTable(this.#fetchUnits);
    return count;
  }
}
