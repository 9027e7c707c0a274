/** What commands are said to have taken (docs/orms.md, What works). */
import { itemSizeBytes } from "../core/item-size.ts";
import type { Item } from "../core/types.ts";
import {
  CapacityCount,
  writeUnits,
  type CapacityLevel,
  type ConsumedCapacity,
} from "../expressions/capacity.ts";
import type { Decision } from "../expressions/writes.ts";
import type { CommandTable } from "./tables.ts";

export function sizeOf(item: Item | undefined): number {
  return item === undefined ? 0 : itemSizeBytes(item);
}

/**
 * As DynamoDB counts the command natively, its indexes left out; of a blind write by what it
 * writes.
 */
export function countWrite(
  table: CommandTable,
  { before, after }: Decision,
  count = new CapacityCount(table.name),
  factor = 1,
): CapacityCount {
  count.addTable(writeUnits(Math.max(sizeOf(before), sizeOf(after))) * factor);
  return count;
}

export function consumed(
  count: CapacityCount,
  level: CapacityLevel,
): { readonly ConsumedCapacity?: ConsumedCapacity } {
  const report = count.report(level);
  return report === undefined ? {} : { ConsumedCapacity: report };
}

export function consumedByTable(
  counts: Iterable<CapacityCount>,
  level: CapacityLevel,
  both?: "read" | "write",
): { readonly ConsumedCapacity?: readonly ConsumedCapacity[] } {
  const reports = Array.from(counts, (count) => count.report(level, both));
  const ConsumedCapacity = reports.filter((report) => report !== undefined);
  return ConsumedCapacity.length === 0 ? {} : { ConsumedCapacity };
}
