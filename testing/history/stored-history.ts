/**
 * What the stores say at the end of a recorded run, for the second and the third file of a history:
 * the order of every key's versions as the log has it, and what stands in the tables. Whoever
 * judges with these does not have to believe what clients were told.
 */
import type { ClientPorts, CommitStream, StreamRecord } from "../../core/ports.ts";
import type { LogBlock, LogPosition, SequenceNumber, ShardId } from "../../core/types.ts";
import { PayloadLoader } from "../../engine/log/payload-loader.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";
import { withChainedVersions } from "./chained-versions.ts";
import { historyKey, historyVersion, initialVersion } from "./key-text.ts";
import { isWrite, type FinalState, type HistoryTransaction, type VersionOrder } from "./types.ts";

export type StoredHistory = {
  readonly versionOrder: readonly VersionOrder[];
  /** Undefined while the tables do not hold all that the log says. */
  readonly finalState: readonly FinalState[] | undefined;
};

type StorePorts = Pick<ClientPorts, "clock" | "digest" | "stream" | "log" | "items" | "control">;

/** Records read at once: commits lie in the stream much as they lie in the log. */
const recordsMax = 200;

/**
 * Nothing may be written meanwhile. What the transactions do not mention is left out: other runs
 * may have used the stores.
 * @throws CorruptDataError when the log or a payload cannot be read any more; StoreError
 */
export async function readStoredHistory(
  ports: StorePorts,
  transactions: readonly HistoryTransaction[],
): Promise<StoredHistory> {
  const written = writtenVersions(transactions);
  const orders = new Map<
    string,
    { versions: { version: string; timestamp: number }[]; deletedAt: number[] }
  >();
  let isInstalled = true;
  for (const shard of await ports.control.shards()) {
    const blocks = await blocksOf(ports, shard);
    const watermark = await ports.control.readWatermark(shard);
    const newest = blocks.at(-1)?.throughTimestamp ?? 0;
    isInstalled &&= (watermark?.timestamp ?? 0) >= newest;
    for await (const { key, version, timestamp } of versionsIn(ports, shard, blocks)) {
      const known = written.get(key);
      if (known === undefined || (version !== null && !known.has(version))) continue;
      const order = orders.get(key) ?? { versions: [], deletedAt: [] };
      orders.set(key, order);
      if (version === null) order.deletedAt.push(timestamp);
      else order.versions.push({ version, timestamp });
    }
  }
  const logged = Array.from(orders, ([key, order]) => ({ key, ...order }));
  return {
    versionOrder: withChainedVersions(logged, transactions),
    finalState: isInstalled ? await finalStateOf(ports, written) : undefined,
  };
}

/** By key: the names of the versions that somebody wrote or found there. */
function writtenVersions(
  transactions: readonly HistoryTransaction[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const versions = new Map<string, Set<string>>();
  for (const op of transactions.flatMap(({ ops }) => ops)) {
    const known = versions.get(op[1]) ?? new Set();
    versions.set(op[1], known);
    if (isWrite(op)) known.add(op[2]);
  }
  return versions;
}

async function blocksOf(
  { log, control }: StorePorts,
  shard: ShardId,
): Promise<readonly LogBlock[]> {
  const blocks: LogBlock[] = [];
  const hashes = new KeyHashes(await control.keyHasher(shard));
  // What comes before a fork is the other log's.
  const begin = hashes.past.at(-1)?.through ?? (0 as LogPosition);
  for (;;) {
    const after = blocks.at(-1)?.position ?? begin;
    const page = await log.readAfter(shard, after);
    for (const { position, bytes } of page.blocks) {
      blocks.push(decodeLogBlock(bytes, position, hashes));
    }
    if (page.complete || page.blocks.length === 0) return blocks;
  }
}

/** Named versions of recorded items; a deletion has no name in the stores, and is null. */
async function* versionsIn(
  ports: StorePorts,
  shard: ShardId,
  blocks: readonly LogBlock[],
): AsyncGenerator<{
  readonly key: string;
  readonly version: string | null;
  readonly timestamp: number;
}> {
  const hashes = new KeyHashes(await ports.control.keyHasher(shard));
  const readingOn = { ...ports, stream: readingAhead(ports.stream) };
  const loader = new PayloadLoader(readingOn, { shard, hashes });
  for (const verdict of blocks.flatMap(({ verdicts }) => verdicts)) {
    if (verdict.kind !== "committed") continue;
    const { tables, writes } = await loader.load(verdict);
    for (const { table: index, key: item, item: stored } of writes) {
      const table = tables[index];
      const version = historyVersion(stored);
      if (table === undefined || version === undefined) continue;
      const key = historyKey(describedByName(table), item);
      yield { key, version, timestamp: verdict.timestamp };
    }
  }
}

function describedByName(table: {
  readonly name: string;
  readonly partitionKey: string;
  readonly sortKey?: string | undefined;
}): Parameters<typeof historyKey>[0] {
  // Of the types nothing depends: the key's own values have theirs.
  const named = (name: string) => ({ name, type: "S" }) as const;
  return {
    name: table.name,
    partitionKey: named(table.partitionKey),
    ...(table.sortKey === undefined ? {} : { sortKey: named(table.sortKey) }),
  };
}

/** The same stream, in fewer calls for a reader that goes through it. */
function readingAhead(stream: CommitStream): CommitStream {
  let known = new Map<SequenceNumber, StreamRecord>();
  return {
    put: (...given) => stream.put(...given),
    read: async (shard, from, options) => {
      if (!known.has(from)) {
        const read = await stream.read(shard, from, { ...options, recordsMax });
        if (read.kind !== "found") return read;
        known = new Map(read.records.map((record) => [record.sequenceNumber, record]));
      }
      const found = known.get(from);
      return found === undefined
        ? { kind: "unseen", complete: false }
        : { kind: "found", records: [found] };
    },
  };
}

async function finalStateOf(
  ports: StorePorts,
  written: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<readonly FinalState[]> {
  const stored = new Map<string, string | null>();
  const { tables } = await ports.control.registry();
  for (const table of tables) {
    let startKey: Awaited<ReturnType<typeof ports.items.scan>>["lastKey"];
    do {
      const page = await ports.items.scan({ table, startKey });
      for (const { key: item, item: found } of page.rows) {
        const key = historyKey(table, item);
        stored.set(
          key,
          historyVersion(found) ?? (found === undefined ? null : initialVersion(key)),
        );
      }
      startKey = page.lastKey;
    } while (startKey !== undefined);
  }
  const state: FinalState[] = [];
  for (const [key, versions] of written) {
    const version = stored.get(key) ?? null;
    // Somebody else's, written by a program that records nothing, or in an earlier run.
    if (version === null || versions.has(version)) state.push({ key, version });
  }
  return state;
}
