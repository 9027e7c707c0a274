/**
 * A log in memory, whose reads can be held back, and a clock that runs as fast as it is asked to.
 */
import type { Clock, CommitLog, Ports, StoredBlock } from "../../core/ports.ts";
import type {
  LogBlock,
  LogPosition,
  MakerNumber,
  SequenceNumber,
  Timestamp,
  TransactionId,
  Verdict,
  Watermark,
} from "../../core/types.ts";
import { encodeLogBlock } from "../schemas/encode-log-block.ts";

export function idOf(n: number): TransactionId {
  return n.toString(16).padStart(32, "0") as TransactionId;
}

/** Aborts all: what a follower does with ids does not depend on the decision. */
function abortOf(n: number, timestamp: number): Verdict {
  return {
    kind: "aborted",
    id: idOf(n),
    timestamp: timestamp as Timestamp,
    reason: { kind: "probed" },
  };
}

export class MemoryLog {
  readonly blocks: StoredBlock[] = [];
  /** Positions up to it have expired. */
  expiredThrough = 0;
  watermark: Watermark = {
    position: 0 as LogPosition,
    timestamp: 1_000 as Timestamp,
    cursor: undefined,
  };
  pageBlocksMax = 3;
  reads = 0;
  /** Resolves before each read is answered; what it answers was there when it was asked. */
  hold: (() => Promise<void>) | undefined;
  failures = 0;
  /** What the next blocks name as the oldest one with an open transaction. */
  oldestOpen: LogPosition | undefined;
  #newest = 1_000 as Timestamp;

  /** One block with one decision, or one stale answer, on each id. */
  append(...ids: readonly number[]): void {
    this.put(ids.map((id) => ({ id, stale: false })));
  }

  put(requests: readonly { readonly id: number; readonly stale: boolean }[]): void {
    this.putDecided(
      requests.map(({ id, stale }) => (at) => {
        return stale ? { kind: "stale", id: idOf(id) } : abortOf(id, at);
      }),
    );
  }

  /** One block; each verdict is made for the next timestamp. */
  putDecided(decide: readonly ((at: Timestamp) => Verdict)[]): void {
    const previousTimestamp = this.#newest;
    const verdicts = decide.map((verdictAt) => {
      const verdict = verdictAt((this.#newest + 1) as Timestamp);
      if ("timestamp" in verdict) this.#newest = verdict.timestamp;
      return verdict;
    });
    const isClients = verdicts.some(
      (verdict) => "payload" in verdict && verdict.payload.kind === "inline",
    );
    const block: LogBlock = {
      position: (this.blocks.length + 1) as LogPosition,
      previousTimestamp,
      throughTimestamp: this.#newest,
      cursor: {
        sequenceNumber: (this.blocks.length + 1).toString() as SequenceNumber,
        requestsDone: "all",
      },
      arrivalMs: 1,
      rejectedRecords: 0,
      ...(this.oldestOpen === undefined ? {} : { oldestOpen: this.oldestOpen }),
      ...(isClients ? { maker: { number: 1 as MakerNumber, installed: [] } } : {}),
      verdicts,
    };
    this.blocks.push({ position: block.position, bytes: encodeLogBlock(block) });
  }

  moveWatermark(position: number): void {
    const timestamp = (1_000 + position) as Timestamp;
    this.watermark = { position: position as LogPosition, timestamp, cursor: undefined };
  }

  get port(): CommitLog {
    const refuse = (): never => {
      throw new Error("a follower only reads");
    };
    return {
      readAfter: async (_, after) => {
        this.reads += 1;
        if (this.failures > 0) {
          this.failures -= 1;
          throw new Error("scripted");
        }
        const found = this.#living().filter(({ position }) => position > after);
        const page = found.slice(0, this.pageBlocksMax);
        await this.hold?.();
        return { blocks: page, complete: page.length === found.length };
      },
      readAt: (_, position) =>
        Promise.resolve(this.#living().find((block) => block.position === position)),
      append: refuse,
      readBackward: refuse,
      spill: refuse,
      readSpilled: refuse,
      continues: refuse,
    };
  }

  #living(): StoredBlock[] {
    return this.blocks.filter(({ position }) => position > this.expiredThrough);
  }
}

/** Sleeps end at the next turn of the event loop, and take as long as they say by this clock. */
function fastClock(): Clock {
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: (durationMs, signal) =>
      new Promise((resolve, reject) => {
        setImmediate(() => {
          nowMs += durationMs;
          if (signal?.aborted === true) reject(signal.reason as Error);
          else resolve();
        });
      }),
  };
}

/** The ports that following a log takes. */
export function followerPorts(log: MemoryLog): Ports {
  return {
    clock: fastClock(),
    log: log.port,
    control: { readWatermark: () => Promise.resolve(log.watermark) },
  } as unknown as Ports;
}
