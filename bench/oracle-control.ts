/** What an oracle service asks of the control table, answered from memory. */
import { KeyHasher } from "../core/key-hash.ts";
import type { ControlStore } from "../core/ports.ts";
import type { LogPosition, TableDescription, Timestamp } from "../core/types.ts";
import type { OracleServiceOptions } from "../functions/oracle/service.ts";
import { sampleHashSecret } from "../testing/sample-hashes.ts";

const controlTable: TableDescription = {
  name: "tidemark-bench-control",
  partitionKey: { name: "pk", type: "S" },
  sortKey: { name: "sk", type: "S" },
  history: false,
  access: "transactional",
};

/** A log that begins at `start`, and one registered table with a text as its key. */
export function oracleControl(
  start: Timestamp,
  table: { readonly name: string; readonly partitionKey: string },
): Pick<ControlStore, "readWatermark" | "keyHasher" | "tables" | "idempotencyTable"> {
  const described: TableDescription = {
    name: table.name,
    partitionKey: { name: table.partitionKey, type: "S" },
    history: false,
    access: "transactional",
  };
  return {
    idempotencyTable: controlTable,
    keyHasher: () => Promise.resolve(new KeyHasher(sampleHashSecret)),
    tables: () => Promise.resolve([described]),
    readWatermark: () =>
      Promise.resolve({ position: 0 as LogPosition, timestamp: start, cursor: undefined }),
  };
}

export const stillClock: OracleServiceOptions["clock"] = {
  nowMs: () => 0,
  monotonicMs: () => 0,
  sleep: () => Promise.resolve(),
};
