/** What the stream holds from where the log ends in it. */
import type { StreamRecord } from "../../core/ports.ts";
import { decodeBlock } from "../../engine/log-search.ts";
import type { LocalStores } from "../harness/local-stores.ts";

/** The record at the log's end and those behind it, once there are as many. */
export async function recordsFrom(
  { ports, shard }: LocalStores,
  atLeast: number,
): Promise<readonly StreamRecord[]> {
  const [newest] = await ports.log.readBackward(shard, { blocksMax: 1 });
  const cursor = newest === undefined ? undefined : decodeBlock(newest).cursor;
  if (cursor === undefined) throw new Error("the log has no cursor");
  for (let i = 0; i < 500; i += 1) {
    const records = await ports.stream.read(shard, cursor.sequenceNumber, { recordsMax: 100 });
    if (records.length >= atLeast) return records;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("no record came");
}
