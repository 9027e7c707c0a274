/** The oracle's service over memory: what it asks of the control table, and its log. */
import { systemDigest } from "../aws/system-digest.ts";
import { KeyHasher } from "../core/key-hash.ts";
import type { StoredBlock } from "../core/ports.ts";
import type { LogPosition, ShardId, TableDescription, Timestamp } from "../core/types.ts";
import { createOracleService, type OracleServiceOptions } from "../functions/oracle/service.ts";
import { silentObservability } from "../functions/shared/silent-observability.ts";
import { sampleHashSecret, sampleRandom } from "../testing/sample-hashes.ts";

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
): OracleServiceOptions["control"] {
  const described: TableDescription = {
    name: table.name,
    partitionKey: { name: table.partitionKey, type: "S" },
    history: false,
    access: "transactional",
  };
  return {
    idempotencyTable: controlTable,
    keyHasher: () => Promise.resolve(new KeyHasher(sampleHashSecret)),
    shardMap: () => Promise.resolve(undefined),
    shardNumbers: () => Promise.resolve([]),
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

/** A service whose every block is appended, told to the caller, and never read again. */
export function oracleInMemory({
  control,
  appended,
}: {
  readonly control: OracleServiceOptions["control"];
  readonly appended: (block: StoredBlock, shard: ShardId) => void;
}): ReturnType<typeof createOracleService> {
  const log: OracleServiceOptions["log"] = {
    append(shard, block) {
      appended(block, shard);
      return Promise.resolve("appended");
    },
    readBackward: () => Promise.resolve([]),
    readAfter: () => Promise.resolve({ blocks: [], complete: true }),
    readAt: () => Promise.resolve(undefined),
    readSpilled: () => Promise.resolve(undefined),
  };
  return createOracleService({
    log,
    control,
    clock: stillClock,
    random: sampleRandom,
    digest: systemDigest,
    observability: silentObservability,
  });
}
