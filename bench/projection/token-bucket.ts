/** A rate with some room for bursts: how the services' limits per second are understood here. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #room: number;
  #tokens: number;
  #sinceMs: number;

  /**
   * @param options.roomSeconds how many seconds' worth may be taken at once after a pause; default
   * 1.
   */
  constructor(
    perSecond: number,
    { nowMs, roomSeconds = 1 }: { readonly nowMs: number; readonly roomSeconds?: number },
  ) {
    this.#perSecond = perSecond;
    this.#room = perSecond * roomSeconds;
    this.#tokens = this.#room;
    this.#sinceMs = nowMs;
  }

  /** What may still be taken now; below zero after a `charge` of more than that. */
  left(nowMs: number): number {
    const refilled = this.#tokens + ((nowMs - this.#sinceMs) / 1_000) * this.#perSecond;
    this.#tokens = Math.min(this.#room, refilled);
    this.#sinceMs = nowMs;
    return this.#tokens;
  }

  /** Takes what an operation costs, into debt if need be. */
  charge(nowMs: number, tokens: number): void {
    this.left(nowMs);
    this.#tokens -= tokens;
  }
}
