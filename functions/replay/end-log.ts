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
import { CorruptDataError } from "../../core/errors.ts";
import type { OpenTransactions } from "../../core/open-transactions.ts";
import type { CallOptions, Ports } from "../../core/ports.ts";
import type {
  LogBlock,
  LogPosition,
  ShardId,
  ShardNumber,
  Takeover,
  Watermark,
} from "../../core/types.ts";
import { decodeLogBlockHeader } from "../../schemas/log-block.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import type { Observability } from "../shared/observability.ts";
import { isInPast } from "./forked-log.ts";
import type { LogProgress } from "./progress.ts";

type Changes = {
  readonly hashes: KeyHashes;
  readonly block: LogBlock;
  /** As of the block before. */
  readonly open: Pick<OpenTransactions, "size">;
};

/**
 * Enters in the map what the block says of it: a tail that begins above goes by the map. Of its
 * past the other log's replay has seen to it.
 * @throws CorruptDataError for an end or a takeover that may not stand there: the watermark stays
 * before it, and no other log is brought into it.
 */
export async function enterChanges(
  ports: Pick<Ports, "control" | "log" | "clock" | "random">,
  { hashes, block, open }: Changes,
  call: CallOptions,
): Promise<void> {
  const { fork, handover, position: at, throughTimestamp: through } = block;
  if (isInPast(hashes, at)) return;
  const { shard } = hashes;
  // probe: replay-enters-a-fork
  if (fork !== undefined) await ports.control.enterFork(fork, { of: shard, at }, call);
  if (handover?.kind === "takes") {
    await assertEnded(ports, { handover, at }, call);
    // probe: replay-enters-a-join
    await ports.control.enterJoin(handover, { heir: shard, at }, call);
  }
  if (handover?.kind === "ended") await assertMayEnd(ports, { shard, at, open }, call);
  // mutant: range-given-to-nobody
  if (handover?.kind === "ended") await takeOver(ports, { shard, at, through });
}

/** Anybody with the right to append may put it: then nobody is to take the range for that. */
async function assertMayEnd(
  { control }: Pick<Ports, "control">,
  {
    shard,
    at,
    open,
  }: Pick<Changes, "open"> & { readonly shard: ShardNumber; readonly at: LogPosition },
  call: CallOptions,
): Promise<void> {
  const entry = (await control.shardMap(call))?.get(shard);
  if (entry?.ended !== undefined) return;
  const why =
    entry?.joins !== true
      ? "and no operator joins it"
      : open.size > 0
        ? "and something in it is open"
        : undefined;
  if (why !== undefined) throw mayNotStand(`block ${at} ends the log of shard ${shard}, ${why}`);
}

/**
 * Two blocks have to agree: the other log's end stands where the takeover says, and its range is
 * the one that the map has for it.
 */
async function assertEnded(
  { control, log }: Pick<Ports, "control" | "log">,
  { handover: taken, at }: { readonly handover: Takeover; readonly at: LogPosition },
  call: CallOptions,
): Promise<void> {
  const map = await control.shardMap(call);
  const entry = map?.get(taken.shard);
  // It is entered by now, and stays as it is.
  if (entry?.ended !== undefined) return;
  const stored = entry && (await log.readAt(entry.id, taken.endedAt, call));
  const end = stored && decodeLogBlockHeader(stored.bytes, stored.position);
  const range = entry && map?.rangeOf(taken.shard);
  const isEnd = end?.handover?.kind === "ended" && end.throughTimestamp === taken.endedThrough;
  if (isEnd && range?.from === taken.from && range.to === taken.to) return;
  throw mayNotStand(
    `block ${at} takes the range of shard ${taken.shard}, whose log does not end so at block ` +
      taken.endedAt.toString(),
  );
}

function mayNotStand(what: string): CorruptDataError {
  return new CorruptDataError(`${what} (docs/operations.md, A block that stops the shard)`);
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
