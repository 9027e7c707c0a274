/**
 * The command line of `bench:cost`: `--json` prints one machine-readable object instead of tables.
 */
import { parseArgs } from "node:util";
import { tableAccesses } from "../core/table-access.ts";
import type { TableAccess } from "../core/types.ts";
import type { CommitPreference } from "../engine/types.ts";

/**
 * What serves DynamoDB: dynalite in this process, or AWS's own emulator, which knows transactions.
 */
export const benchStores = ["dynalite", "dynamodb-local"] as const;
export type BenchStore = (typeof benchStores)[number];

const commitWays = ["stream", "auto", "express"] as const satisfies readonly CommitPreference[];

export type CostOptions = {
  readonly json: boolean;
  readonly store: BenchStore;
  /** Each in a deployment of its own, one after another. */
  readonly commits: readonly CommitPreference[];
  /** Of the table: `mixed` shows what native operations beside transactions cost those. */
  readonly access: TableAccess;
};

/** @throws TypeError naming an option, a store or a way to commit that does not exist. */
export function costOptions(args: readonly string[]): CostOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: "boolean", default: false },
      store: { type: "string", default: "dynalite" },
      access: { type: "string", default: "transactional" },
      commit: { type: "string", default: commitWays.join(",") },
    },
  });
  return {
    json: values.json,
    store: oneOf("--store", benchStores, values.store),
    access: oneOf("--access", tableAccesses, values.access),
    commits: values.commit.split(",").map((way) => oneOf("--commit", commitWays, way)),
  };
}

function oneOf<Name extends string>(option: string, names: readonly Name[], given: string): Name {
  const found = names.find((name) => name === given);
  if (found !== undefined) return found;
  throw new TypeError(`${option} is one of ${names.join(", ")}; got ${given}`);
}
