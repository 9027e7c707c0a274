/** What of a page's rows its request asks for. */
import { itemSizeBytes } from "../core/item-size.ts";
import type { Item } from "../core/types.ts";
import { CapacityCount, readUnits } from "../expressions/capacity.ts";
import { meets } from "../expressions/conditions.ts";
import { projectedNames } from "../expressions/key-schema.ts";
import { project } from "../expressions/projections.ts";
import { consumed } from "./consumption.ts";
import type { PagePlan } from "./page-plan.ts";
import { kindOfRead, projected } from "./projections.ts";

export function pageAnswer(
  { input, bound, table, index, select, fetches }: PagePlan,
  page: { readonly rows: readonly Item[]; readonly lastKey: Item | undefined },
): object {
  const { filter, paths } = bound;
  const count = new CapacityCount(table.name);
  const items: Item[] = [];
  let bytes = 0;
  for (const row of page.rows) {
    const entry =
      index === undefined || index.projection.type === "ALL"
        ? row
        : project(
            row,
            projectedNames(table.schema, index).map((name) => [name]),
          );
    bytes += itemSizeBytes(entry);
    if (fetches !== "never") count.addTable(readUnits(itemSizeBytes(row), kindOfRead(input)));
    if (!meets(filter, fetches === "never" ? entry : row)) continue;
    items.push(projected(fetches === "to-return" ? row : entry, paths));
  }
  const units = readUnits(bytes, kindOfRead(input));
  if (index === undefined) count.addTable(units);
  else count.addIndex(index, units);
  return {
    ...(select === "COUNT" ? {} : { Items: items }),
    ...{ Count: items.length, ScannedCount: page.rows.length },
    ...(page.lastKey === undefined ? {} : { LastEvaluatedKey: page.lastKey }),
    ...consumed(count, input.ReturnConsumedCapacity),
  };
}
