/**
 * Trouble with a service that somebody has ordered, in place of the faults that strike by chance:
 * for a time it refuses all calls, or is slow.
 */
import type { VirtualTime } from "./virtual-time.ts";

/** Services by name: `dynamodb`, `kinesis`. */
export class ServiceTrouble {
  readonly #time: VirtualTime;
  readonly #refusesUntilMs = new Map<string, number>();
  readonly #slow = new Map<string, { readonly factor: number; readonly untilMs: number }>();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Every call that arrives within `durationMs` from now is refused for want of capacity. */
  refuse(service: string, durationMs: number): void {
    this.#refusesUntilMs.set(service, this.#time.nowMs + durationMs);
  }

  /** Calls that are made within `durationMs` from now take `factor` times as long. */
  slow(service: string, { durationMs, factor }: { durationMs: number; factor: number }): void {
    this.#slow.set(service, { factor, untilMs: this.#time.nowMs + durationMs });
  }

  refuses(service: string): boolean {
    return (this.#refusesUntilMs.get(service) ?? 0) > this.#time.nowMs;
  }

  slowFactor(service: string): number {
    const slow = this.#slow.get(service);
    return slow !== undefined && slow.untilMs > this.#time.nowMs ? slow.factor : 1;
  }

  /** All is well from now on. */
  clear(): void {
    this.#refusesUntilMs.clear();
    this.#slow.clear();
  }
}
