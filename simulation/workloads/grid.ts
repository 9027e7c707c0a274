/**
 * A table of a fixed grid of rows, told by a partition and by a place in it. Which of them are
 * there is the workload's business; all keys that a query may ever find are known beforehand.
 */
import type { AnyTable } from "../../sdk/index.ts";
import type { AttributeValue } from "../../core/types.ts";
import type { KeyUniverse } from "../../testing/history/recording-options.ts";
import { testTable } from "../../testing/test-tables.ts";
import type { TestTable } from "../../testing/deployment-options.ts";

export type Grid = { readonly table: TestTable; readonly universe: KeyUniverse };

export function gridOf(
  { name, keyNames: [partitionKey = "", sortKey = ""] = [] }: AnyTable,
  rows: {
    readonly partitions: readonly string[];
    /** Sort keys: texts, or binaries. */
    readonly places: readonly (string | Uint8Array)[];
    readonly history: boolean;
  },
): Grid {
  const { partitions, places, history } = rows;
  const type = typeof places[0] === "string" ? "S" : "B";
  return {
    table: testTable(name, { partitionKey, sortKey: { name: sortKey, type }, history }),
    universe: partitions.flatMap((partition) =>
      places.map((place) => ({
        table: name,
        key: { [partitionKey]: { S: partition }, [sortKey]: valueOf(place) },
      })),
    ),
  };
}

function valueOf(place: string | Uint8Array): AttributeValue {
  return typeof place === "string" ? { S: place } : { B: place };
}
