/**
 * Every write that the log commits, in its order, out of the payloads where the decisions say that
 * they lie: which items they are of, and not only what their hashes are.
 */
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { PayloadLoader, type PayloadPorts } from "../../engine/payload-loader.ts";
import type { StreamRecord } from "../../core/ports.ts";
import type {
  Item,
  LogBlock,
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
  log: { readonly shard: ShardId; readonly hashes: KeyHashes },
  blocks: readonly LogBlock[],
): Promise<readonly LoggedWrite[]> {
  const logged: LoggedWrite[] = [];
  const loader = new PayloadLoader(ports, log);
  for (const verdict of blocks.flatMap(({ verdicts }) => verdicts)) {
    if (verdict.kind !== "committed") continue;
    const { tables, writes } = await loader.load(verdict);
    const stamps = (verdict.stamps ?? []).values();
    for (const { table: index, key, item } of writes) {
      const table = tables[index];
      if (table === undefined) continue;
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
        ...(table.isMixed === true ? { stamp: stamps.next().value } : {}),
      });
    }
  }
  return logged;
}
