/**
 * Until when an install may be signed (docs/protocol.md §7, Deletes). The time begins before the
 * watermark is read: what the watermark had not passed then, no reaper has removed a tombstone of;
 * and what is signed within the window is dead before one does.
 */
import * as limits from "../../core/limits.ts";
import type { CallOptions, Ports } from "../../core/ports.ts";
import type { ShardId, Timestamp } from "../../core/types.ts";

/** A window is renewed well before its end, so that a slow call still fits. */
const renewAfterMs = limits.installSignMsMax / 2;

export class SigningWindow {
  readonly #ports: Pick<Ports, "clock" | "control">;
  readonly #shard: ShardId;
  readonly #call: CallOptions;
  #learnedMs = Number.NEGATIVE_INFINITY;
  /** The watermark's timestamp as it stood at `#learnedMs` or later. */
  #passedThrough = 0 as Timestamp;
  #renewing: Promise<void> | undefined;

  constructor(ports: Pick<Ports, "clock" | "control">, shard: ShardId, call: CallOptions) {
    this.#ports = ports;
    this.#shard = shard;
    this.#call = call;
  }

  /**
   * Wall clock, milliseconds; undefined once the watermark has passed the commit: somebody else has
   * installed it. Judged write by write: a watermark that stands within a chunk vouches for a part
   * of it, and what was deleted in that part may have been reaped while this process was frozen.
   */
  async signBeforeMs(commit: Timestamp): Promise<number | undefined> {
    const { clock } = this.#ports;
    // Also renewed when the wall clock was set back: an older time would be a longer window.
    const ageMs = clock.nowMs() - this.#learnedMs;
    if (ageMs >= renewAfterMs || ageMs < 0) {
      this.#renewing ??= this.#renew().finally(() => {
        this.#renewing = undefined;
      });
      await this.#renewing;
    }
    return commit <= this.#passedThrough ? undefined : this.#learnedMs + limits.installSignMsMax;
  }

  async #renew(): Promise<void> {
    const learnedMs = this.#ports.clock.nowMs();
    const watermark = await this.#ports.control.readWatermark(this.#shard, this.#call);
    this.#learnedMs = learnedMs;
    this.#passedThrough = watermark?.timestamp ?? this.#passedThrough;
  }
}
