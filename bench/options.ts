/**
 * The command line of a benchmark: `--json` prints one machine-readable object instead of a table.
 */
import { parseArgs } from "node:util";

/**
 * What serves DynamoDB: dynalite in this process, or AWS's own emulator, which knows transactions.
 */
export type BenchStore = "dynalite" | "dynamodb-local";

/** @throws TypeError naming an option or a store that does not exist. */
export function costOptions(): { readonly json: boolean; readonly store: BenchStore } {
  const { values } = parseArgs({
    options: {
      json: { type: "boolean", default: false },
      store: { type: "string", default: "dynalite" },
    },
  });
  const { json, store } = values;
  if (store === "dynalite" || store === "dynamodb-local") return { json, store };
  throw new TypeError(`--store is dynalite or dynamodb-local; got ${store}`);
}
