/**
 * Every write that the log commits, in its order, out of the payloads where the decisions say that
 * they lie: which items they are of, and not only what their hashes are.
 */
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { PayloadLoader, type PayloadPorts } from "../../engine/log/payload-loader.ts";
import type { StreamRecord } from "../../core/ports.ts";
import { holds, type ShardMap } from "../../core/shard-map.ts";
import type {
  CommittedVerdict,
  Item,
  KeyHash,
  LogBlock,
  LogPosition,
  ShardId,
  Stamp,
  TableDescription,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";

export type LoggedWrite = {
  /** Whose log commits it. */
  readonly shard: ShardId;
  readonly id: TransactionId;
  readonly table: Pick<TableDescription, "name" | "partitionKey" | "sortKey">;
  readonly key: Item;
  /** Undefined for a delete. */
  readonly item: Item | undefined;
  readonly timestamp: Timestamp;
  /** Of a write of a mixed table: what it replaces. */
  readonly stamp?: Stamp | undefined;
};

/** Ports for which the records of streams that are gone are still there. */
export function withGoneRecords<P extends PayloadPorts>(
  ports: P,
  { goneRecords }: { readonly goneRecords: readonly StreamRecord[] },
): P {
  const gone = new Map(goneRecords.map((record) => [record.sequenceNumber, record]));
  const read: typeof ports.stream.read = async (shard, from, options) => {
    const record = gone.get(from);
    if (record === undefined) return ports.stream.read(shard, from, options);
    return { kind: "found", records: [record] };
  };
  return { ...ports, stream: { ...ports.stream, read } };
}

export async function writesOfLog(
  ports: PayloadPorts,
  log: {
    readonly shard: ShardId;
    readonly hashes: KeyHashes;
    /** As it is in the end; undefined: the deployment has one shard. */
    readonly map: ShardMap | undefined;
  },
  blocks: readonly LogBlock[],
): Promise<readonly LoggedWrite[]> {
  const logged: LoggedWrite[] = [];
  const loader = new PayloadLoader(ports, log);
  const isOwn = ownWrites(blocks, log);
  for (const verdict of blocks.flatMap(({ verdicts }) => verdicts)) {
    if (verdict.kind !== "committed") continue;
    const { tables, writes } = await loader.load(verdict);
    const stamps = (verdict.stamps ?? []).values();
    for (const [at, { table: index, key, item }] of writes.entries()) {
      const table = tables[index];
      if (table === undefined) continue;
      const stamp = table.isMixed === true ? { stamp: stamps.next().value } : {};
      const hash = verdict.writes[at]?.partition;
      // The other log has it, too, and speaks for what lies in its own range.
      if (hash !== undefined && !isOwn(verdict, hash)) continue;
      logged.push({
        shard: log.shard,
        id: verdict.id,
        table: {
          name: table.name,
          partitionKey: { name: table.partitionKey, type: "S" },
          ...(table.sortKey === undefined ? {} : { sortKey: { name: table.sortKey, type: "S" } }),
        },
        key,
        item,
        timestamp: verdict.timestamp,
        ...stamp,
      });
    }
  }
  return logged;
}

/**
 * What was open when a shard was split is entered in both logs: whether a write of it lies in the
 * range that the log has where it is entered.
 */
function ownWrites(
  blocks: readonly LogBlock[],
  { hashes, map }: { readonly hashes: KeyHashes; readonly map: ShardMap | undefined },
): (verdict: CommittedVerdict, partition: KeyHash) => boolean {
  const places = new Map<CommittedVerdict, LogPosition>();
  const forks: LogPosition[] = hashes.past.map(({ through }) => through);
  for (const { verdicts, position, fork } of blocks) {
    if (fork !== undefined) forks.push(position);
    for (const verdict of verdicts) if (verdict.kind === "committed") places.set(verdict, position);
  }
  return (verdict, partition) => {
    const { payload } = verdict;
    const place = places.get(verdict);
    if (payload.kind !== "prepared" || place === undefined || map === undefined) return true;
    const isShared = forks.some((fork) => payload.position <= fork && fork < place);
    return !isShared || holds(map.rangeAt(hashes.shard, place), partition);
  };
}
