/**
 * What the other logs of a transaction say of it: an oracle that is asked to settle one of its
 * parts looks there before it certifies, as it reads spilled payloads. It asks nobody to abort: who
 * waits has done so (engine/sharded/).
 */
import { CorruptDataError, SnapshotTooOldError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, CommitLog, ControlStore } from "../../core/ports.ts";
import type {
  LogPosition,
  Part,
  ShardId,
  ShardNumber,
  Timestamp,
  TransactionId,
  WholeOutcome,
} from "../../core/types.ts";
import {
  decidingPart,
  foldPart,
  unseen,
  wholeOutcome,
  type PartState,
} from "../../core/whole-outcome.ts";
import { blocksAbove } from "../../engine/log/log-search.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";

export type OtherLogsParts = {
  readonly log: Pick<CommitLog, "readAfter" | "readAt" | "readBackward">;
  readonly control: Pick<ControlStore, "shardMap" | "keyHasher">;
};

type Asked = {
  readonly id: TransactionId;
  /** What the asking log holds of it. */
  readonly own: { readonly shard: ShardNumber; readonly state: PartState };
};
type AskedPart = Asked & { readonly part: Part };

/** Undefined: it is open, or one of the logs is longer than is read for it. */
export async function outcomeInOtherLogs(
  { log, control }: OtherLogsParts,
  asked: Asked & { readonly parts: readonly Part[] },
  call: CallOptions,
): Promise<WholeOutcome | undefined> {
  const map = await control.shardMap(call);
  const states = new Map<ShardNumber, PartState>([[asked.own.shard, asked.own.state]]);
  const deciding = decidingPart(asked.parts);
  const others = (deciding === undefined ? asked.parts : [deciding]).flatMap((part) => {
    const shard = map?.get(part.shard)?.id;
    return states.has(part.shard) || shard === undefined ? [] : [{ part, shard }];
  });
  // All at once: the oracle certifies nothing meanwhile. One that the map does not have is unseen.
  await Promise.all(
    others.map(async ({ part, shard }) => {
      const hashes = new KeyHashes(await control.keyHasher(shard, call));
      states.set(part.shard, await stateIn({ log, shard, hashes }, { ...asked, part }, call));
    }),
  );
  return wholeOutcome(asked.parts, states);
}

type Looked = Pick<OtherLogsParts, "log"> & {
  readonly shard: ShardId;
  readonly hashes: KeyHashes;
};

async function stateIn(
  looked: Looked,
  { id, part, own }: AskedPart,
  call: CallOptions,
): Promise<PartState> {
  const state = await stateAbove(looked, { id, above: part.from }, call);
  if (state.kind !== "unseen" || own.state.kind !== "prepared") return state;
  // Who names a moment to which that log had not come must not bar for good: whoever meets his part
  // has asked to abort it below.
  const met = Math.max(0, own.state.timestamp - limits.partAheadMicrosMax) as Timestamp;
  return met < part.from ? stateAbove(looked, { id, above: met }, call) : state;
}

async function stateAbove(
  { log, shard, hashes }: Looked,
  { id, above }: { readonly id: TransactionId; readonly above: Timestamp },
  call: CallOptions,
): Promise<PartState> {
  const [newest] = await log.readBackward(shard, { blocksMax: 1, ...call });
  const through = newest?.position ?? (0 as LogPosition);
  let state = unseen;
  let blocks = 0;
  try {
    for await (const block of blocksAbove(log, shard, { above, through, hashes, call })) {
      state = foldPart(state, block, id);
      if (state.kind === "committed" || state.kind === "aborted") break;
      blocks += 1;
      if (blocks >= limits.otherLogBlocksMax) break;
    }
  } catch (error) {
    // A log that is damaged, or no longer reaches back, says nothing more.
    const isSilent = error instanceof CorruptDataError || error instanceof SnapshotTooOldError;
    if (!isSilent) throw error;
  }
  return state;
}
