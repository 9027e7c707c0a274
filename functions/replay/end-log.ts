/**
 * What the log of a shard says of the map, and the end of one that is joined to its neighbour
 * (docs/protocol.md §10, Joining shards).
 *
 *     closing ──── outcomes of what was open ──── ended            the shard's log
 *                                                   └─▶ takes      its neighbour's
 *
 * The shard's replay ends its log once nothing in it is open and all that it has committed stands
 * in its tables: whoever follows the neighbour's log alone misses nothing then. Whoever comes to
 * the end next sees to it that the range is taken, and that the map says so, before the watermark
 * passes it. So an operator, or a replay, that dies in between holds up nobody for long.
 *
 * Invariant: I7.
 */
import {
  decidingBlockBehind,
  putBehind,
  type ProvisioningParts,
} from "../../aws/provisioning-block.ts";
import { takeOver } from "../../aws/take-over.ts";
import type { CallOptions, Ports } from "../../core/ports.ts";
import type { LogBlock, ShardId, Watermark } from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import type { Observability } from "../shared/observability.ts";
import { isInPast } from "./forked-log.ts";
import type { LogProgress } from "./progress.ts";

/**
 * Enters in the map what the block says of it: a tail that begins above goes by the map. Of its
 * past the other log's replay has seen to it.
 */
export async function enterChanges(
  ports: Pick<Ports, "control" | "log" | "clock" | "random">,
  { hashes, block }: { readonly hashes: KeyHashes; readonly block: LogBlock },
  call: CallOptions,
): Promise<void> {
  const { fork, handover, position: at, throughTimestamp: through } = block;
  if (isInPast(hashes, at)) return;
  const { shard } = hashes;
  // probe: replay-enters-a-fork
  if (fork !== undefined) await ports.control.enterFork(fork, { of: shard, at }, call);
  if (handover?.kind === "takes") {
    // probe: replay-enters-a-join
    await ports.control.enterJoin(handover, { heir: shard, at }, call);
  }
  // mutant: range-given-to-nobody
  if (handover?.kind === "ended") await takeOver(ports, { shard, at, through });
}

/** Whether the log may end where replay has come to its end. */
export function mayEnd({ isClosing, open }: Pick<LogProgress, "isClosing" | "open">): boolean {
  // mutant: ends-with-open
  return isClosing && open.size === 0;
}

/**
 * Whether an operator joins the shard. Else somebody has put a block that may not stand there: a
 * log without range, and without an heir, nobody could mend.
 */
export async function isJoined(
  { control, log }: Pick<Ports, "control"> & Pick<Observability, "log">,
  { shard }: Pick<KeyHashes, "shard">,
  call: CallOptions,
): Promise<boolean> {
  const map = await control.shardMap(call);
  const isJoining = map?.live(shard)?.joins === true && map.below(shard) !== undefined;
  if (!isJoining) log.error("a log is closing that nobody joins: it is not ended", { shard });
  return isJoining;
}

/** Nothing stands behind the place yet; false: something does by now, and is to be followed. */
export async function endLog(
  ports: Pick<ProvisioningParts, "random"> & Pick<Ports, "log">,
  at: {
    readonly shard: ShardId;
    readonly hashes: KeyHashes;
    readonly place: Watermark;
    /** Wall clock before the log was read to its end. */
    readonly endReadMs: number;
  },
): Promise<boolean> {
  const { shard, hashes, place: end, endReadMs: lookedMs } = at;
  // probe: log-ends
  const block = { ...decidingBlockBehind(end, ports.random), handover: { kind: "ended" } as const };
  return (await putBehind(ports, { shard, hashes, end, lookedMs }, block)) === "appended";
}
