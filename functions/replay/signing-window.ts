/**
 * Until when an install may be signed (docs/protocol.md §7, Deletes). The time begins before the watermark is read: what
 * the watermark had not passed then, no reaper has removed a tombstone of; and what is signed within the
 * window is dead before one does.
 */
import { limits } from "../../core/limits.ts";
import type { Ports } from "../../core/ports.ts";
import type { LogPosition, ShardId } from "../../core/types.ts";

/** A window is renewed well before its end, so that a slow call still fits. */
const renewAfterMs = limits.installSignMsMax / 2;

export class SigningWindow {
  readonly #ports: Pick<Ports, "clock" | "control">;
  readonly #shard: ShardId;
  /** The last position of what is being installed. */
  readonly #through: LogPosition;
  #learnedMs = Number.NEGATIVE_INFINITY;
  #passed = false;
  #renewing: Promise<void> | undefined;

  constructor(ports: Pick<Ports, "clock" | "control">, shard: ShardId, through: LogPosition) {
    this.#ports = ports;
    this.#shard = shard;
    this.#through = through;
  }

  /** Wall clock, milliseconds; undefined once the watermark has passed everything: somebody else did the work. */
  async signBeforeMs(): Promise<number | undefined> {
    const { clock } = this.#ports;
    // Also renewed when the wall clock was set back: an older time would be a longer window.
    const ageMs = clock.nowMs() - this.#learnedMs;
    if (ageMs >= renewAfterMs || ageMs < 0) {
      this.#renewing ??= this.#renew().finally(() => {
        this.#renewing = undefined;
      });
      await this.#renewing;
    }
    return this.#passed ? undefined : this.#learnedMs + limits.installSignMsMax;
  }

  async #renew(): Promise<void> {
    const learnedMs = this.#ports.clock.nowMs();
    const watermark = await this.#ports.control.readWatermark(this.#shard);
    this.#learnedMs = learnedMs;
    this.#passed = watermark !== undefined && watermark.position >= this.#through;
  }
}
