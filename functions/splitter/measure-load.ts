/**
 * How busy a log is, from the log alone: how many blocks each part of the window has, by their
 * positions, and what blocks hold, by a few of each part. So a measurement reads a bounded number
 * of blocks however busy the log is, keeps nothing, and says the same to whoever makes it.
 */
import { CorruptDataError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, CommitLog, ControlStore, StoredBlock } from "../../core/ports.ts";
import type { ShardRange } from "../../core/shard-map.ts";
import type { LoadSlot, ShardLoad } from "../../core/split-policy.ts";
import type { LogBlock, LogPosition, ShardId, ShardNumber } from "../../core/types.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { Moments, timeMsOf } from "./moments.ts";

export type MeasuringPorts = {
  readonly log: Pick<CommitLog, "readAt" | "readBackward">;
  readonly control: Pick<ControlStore, "readWatermark" | "keyHasher">;
};

export type MeasuredShard = {
  readonly number: ShardNumber;
  readonly id: ShardId;
  readonly range: ShardRange;
  /** Of one that was split off the fork: what lies before is another one's load. */
  readonly beginsAt: LogPosition;
};

export type Window = { readonly endsMs: number; readonly lengthMs: number };

const bytesOfWriteUnit = 1024;
/** Of a block, so that one of thousands of writes does not outweigh the others. */
const hashesOfBlock = 256;

/** @throws StoreError. */
export async function measureLoad(
  ports: MeasuringPorts,
  shard: MeasuredShard,
  { window, call }: { readonly window: Window; readonly call: CallOptions },
): Promise<ShardLoad> {
  const { number, id, range, beginsAt } = shard;
  const [newest] = await ports.log.readBackward(id, { ...call, blocksMax: 1 });
  const bounds = newest === undefined ? [] : await boundsOf(ports, shard, { newest, window, call });
  const hashes = new KeyHashes(await ports.control.keyHasher(id, call));
  const slots: LoadSlot[] = [];
  const written: number[] = [];
  for (let slot = 0; slot < limits.splitSlots; slot += 1) {
    const after = bounds[slot] ?? beginsAt;
    const through = bounds[slot + 1] ?? after;
    const seen = await sample(ports, { id, after, through, call });
    const blocks = seen.flatMap((stored) => decodedOrNot(stored, hashes) ?? []);
    const seconds = window.lengthMs / 1_000 / limits.splitSlots;
    const perSecond = (through - after) / seconds / Math.max(1, seen.length);
    slots.push({
      entries: sumOf(blocks.map(({ verdicts }) => verdicts.length)) * perSecond,
      writeUnits: sumOf(seen.map(unitsOf)) * perSecond,
    });
    for (const block of blocks) written.push(...writtenBy(block));
  }
  const lagMs = newest === undefined ? 0 : await lagOf(ports, { id, newest, window, call });
  return { shard: number, range, slots, lagMs, hashes: written };
}

/** The newest block at each bound of the window's parts; none: it has been quiet for longer. */
async function boundsOf(
  { log }: MeasuringPorts,
  { id, beginsAt }: MeasuredShard,
  at: { readonly newest: StoredBlock; readonly window: Window; readonly call: CallOptions },
): Promise<readonly LogPosition[]> {
  const { newest, window, call } = at;
  const { endsMs, lengthMs } = window;
  const isQuiet = timeMsOf(newest) <= endsMs - lengthMs;
  if (isQuiet || newest.position <= beginsAt) return [];
  const moments = new Moments({ log, shard: id, beginsAt }, newest, call);
  const bounds: LogPosition[] = [];
  for (let slot = 0; slot < limits.splitSlots; slot += 1) {
    const position = await moments.positionAt(endsMs - lengthMs * (1 - slot / limits.splitSlots));
    // What is guessed may lie before what is known.
    bounds.push(Math.max(position, bounds.at(-1) ?? beginsAt) as LogPosition);
  }
  return [...bounds, newest.position];
}

/** The newest few of a stretch of the log. */
async function sample(
  { log }: MeasuringPorts,
  stretch: {
    readonly id: ShardId;
    readonly after: LogPosition;
    readonly through: LogPosition;
    readonly call: CallOptions;
  },
): Promise<readonly StoredBlock[]> {
  const { id, after, through, call } = stretch;
  const blocksMax = Math.min(limits.splitSlotBlocksMax, through - after);
  if (blocksMax === 0) return [];
  return await log.readBackward(id, { ...call, from: through, blocksMax });
}

/** How long the oldest commit has waited that is not installed for certain. */
async function lagOf(
  { log, control }: MeasuringPorts,
  of: {
    readonly id: ShardId;
    readonly newest: StoredBlock;
    readonly window: Window;
    readonly call: CallOptions;
  },
): Promise<number> {
  const { id, newest, window, call } = of;
  const watermark = await control.readWatermark(id, call);
  if (watermark === undefined || watermark.position >= newest.position) return 0;
  const next = await log.readAt(id, (watermark.position + 1) as LogPosition, call);
  return next === undefined ? 0 : Math.max(0, window.endsMs - timeMsOf(next));
}

/** The upper 32 bits of the hashes of partitions that it writes, or is about to. */
function writtenBy({ verdicts }: LogBlock): readonly number[] {
  const found = verdicts.flatMap((verdict) =>
    verdict.kind === "committed" || verdict.kind === "prepared"
      ? verdict.writes.map(({ partition }) => Number(partition >> 32n))
      : [],
  );
  const step = Math.ceil(found.length / hashesOfBlock);
  return step <= 1 ? found : found.filter((_, at) => at % step === 0);
}

function unitsOf({ bytes }: StoredBlock): number {
  return Math.ceil(bytes.length / bytesOfWriteUnit);
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** One that is damaged stops its shard, and is others' to tell of. */
function decodedOrNot(stored: StoredBlock, hashes: KeyHashes): LogBlock | undefined {
  try {
    return decodeBlock(stored, hashes);
  } catch (error) {
    if (error instanceof CorruptDataError) return undefined;
    throw error;
  }
}
