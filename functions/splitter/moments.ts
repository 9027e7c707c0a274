/**
 * Where in a log a moment lies: the newest block that reaches no further. Positions have no holes
 * and times rise with them, so a few looks find it, however long the log is; what they do not find
 * is guessed between the two nearest blocks that were seen.
 *
 *     seen      ├───────────────┼───────────────────────────┤ newest
 *     moment             ^ next look: where it would be, were the blocks evenly spread
 */
import * as limits from "../../core/limits.ts";
import type { CallOptions, CommitLog, StoredBlock } from "../../core/ports.ts";
import type { LogPosition, ShardId } from "../../core/types.ts";
import { decodeLogBlockHeader } from "../../schemas/log-block.ts";

/** Blocks, from the newest one back. */
const firstStep = 64;

type Seen = { readonly position: number; readonly timeMs: number };

export class Moments {
  readonly #log: Pick<CommitLog, "readAt">;
  readonly #shard: ShardId;
  readonly #call: CallOptions;
  /** By rising position; the first one is the log's beginning, or what is known of it. */
  readonly #seen: Seen[];

  /** @param log.beginsAt before its first block: of one that was split off the fork. */
  constructor(
    {
      log,
      shard,
      beginsAt,
    }: {
      readonly log: Pick<CommitLog, "readAt">;
      readonly shard: ShardId;
      readonly beginsAt: LogPosition;
    },
    newest: StoredBlock,
    call: CallOptions,
  ) {
    this.#log = log;
    this.#shard = shard;
    this.#call = call;
    this.#seen = [{ position: beginsAt, timeMs: Number.NEGATIVE_INFINITY }, seenOf(newest)];
  }

  /** How many blocks there are up to the moment, from the log's beginning on. */
  async positionAt(momentMs: number): Promise<LogPosition> {
    for (let looks = 0; looks < limits.splitProbesMax; looks += 1) {
      const { low, high } = this.#around(momentMs);
      if (high === undefined || high.position - low.position <= 1) {
        return low.position as LogPosition;
      }
      await this.#look(nextLook(low, high, momentMs, looks));
    }
    const { low, high } = this.#around(momentMs);
    const guess = high === undefined ? low.position : between(low, high, momentMs);
    return guess as LogPosition;
  }

  /** The nearest two that were seen: at or before the moment, and after it. */
  #around(momentMs: number): { readonly low: Seen; readonly high: Seen | undefined } {
    const at = this.#seen.findLastIndex(({ timeMs }) => timeMs <= momentMs);
    const low = this.#seen[at] ?? { position: 0, timeMs: Number.NEGATIVE_INFINITY };
    return { low, high: this.#seen[at + 1] };
  }

  async #look(position: number): Promise<void> {
    const stored = await this.#log.readAt(this.#shard, position as LogPosition, this.#call);
    // What has expired is older than any window.
    const seen =
      stored === undefined ? { position, timeMs: Number.NEGATIVE_INFINITY } : seenOf(stored);
    this.#seen.push(seen);
    this.#seen.sort((a, b) => a.position - b.position);
  }
}

/** Of a block: up to when it reaches. */
export function timeMsOf({ position, bytes }: StoredBlock): number {
  return decodeLogBlockHeader(bytes, position).throughTimestamp / 1_000;
}

function seenOf(stored: StoredBlock): Seen {
  return { position: stored.position, timeMs: timeMsOf(stored) };
}

/**
 * From the end back by growing steps while nothing older than the moment was seen; then by where it
 * would be, and every other time in the middle, as loads are not even.
 */
function nextLook(low: Seen, high: Seen, momentMs: number, looks: number): number {
  const middle = Math.floor((low.position + high.position) / 2);
  if (low.timeMs === Number.NEGATIVE_INFINITY) {
    const back = high.position - firstStep * 4 ** looks;
    return back > low.position ? back : middle;
  }
  return looks % 2 === 0 ? within(low, high, between(low, high, momentMs)) : middle;
}

/** Where nothing is known of what comes before, rather too few blocks than too many. */
function between(low: Seen, high: Seen, momentMs: number): number {
  if (low.timeMs === Number.NEGATIVE_INFINITY) return high.position;
  const share = (momentMs - low.timeMs) / Math.max(1, high.timeMs - low.timeMs);
  return low.position + Math.floor(share * (high.position - low.position));
}

function within(low: Seen, high: Seen, position: number): number {
  return Math.min(Math.max(position, low.position + 1), high.position - 1);
}
