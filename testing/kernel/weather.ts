/**
 * Faults that last: for some seconds a service is slow, or refuses most calls or some, or a
 * consumer stands still. Looked at once a second of virtual time, so that a run of any length meets
 * its share.
 */
import type { FaultName, Faults } from "./faults.ts";
import type { Trace } from "./trace.ts";
import type { Cancel, VirtualTime } from "./virtual-time.ts";

type LastingFault = Extract<
  FaultName,
  "throttling-storm" | "slow-service" | "consumer-pause" | "log-throttled" | "append-denied"
>;

const spells: readonly { readonly fault: LastingFault; readonly msMin: number; msMax: number }[] = [
  { fault: "throttling-storm", msMin: 500, msMax: 20_000 },
  { fault: "slow-service", msMin: 1_000, msMax: 30_000 },
  { fault: "consumer-pause", msMin: 1_000, msMax: 60_000 },
  { fault: "log-throttled", msMin: 500, msMax: 20_000 },
  { fault: "append-denied", msMin: 100, msMax: 120_000 },
];

const lookMs = 1_000;

export class Weather {
  readonly #time: VirtualTime;
  readonly #faults: Faults;
  readonly #trace: Trace;
  /** Fault and place → moment at which it ends. */
  readonly #untilMs = new Map<string, number>();
  readonly #places: { readonly [Fault in LastingFault]: Set<string> } = {
    "throttling-storm": new Set(),
    "slow-service": new Set(),
    "consumer-pause": new Set(),
    "log-throttled": new Set(),
    "append-denied": new Set(),
  };
  #next: Cancel | undefined;

  constructor(parts: {
    readonly time: VirtualTime;
    readonly faults: Faults;
    readonly trace: Trace;
  }) {
    this.#time = parts.time;
    this.#faults = parts.faults;
    this.#trace = parts.trace;
  }

  /** Names a place (a service, a mapping) at which the fault may strike. */
  add(fault: LastingFault, place: string): void {
    this.#places[fault].add(place);
    if (!this.#faults.isOn(fault)) return;
    this.#next ??= this.#time.after(lookMs, () => {
      this.#look();
    });
  }

  /** Whether the fault lasts there now. */
  isActive(fault: LastingFault, place: string): boolean {
    return (this.#untilMs.get(`${fault} ${place}`) ?? 0) > this.#time.nowMs;
  }

  /** Every spell ends at once. */
  clear(): void {
    this.#untilMs.clear();
  }

  stop(): void {
    this.#next?.();
  }

  #look(): void {
    for (const { fault, msMin, msMax } of spells) {
      for (const place of this.#places[fault]) {
        if (this.isActive(fault, place) || !this.#faults.strikes(fault, place)) continue;
        const lasts = this.#faults.of(fault).logarithmic(msMin, msMax);
        this.#untilMs.set(`${fault} ${place}`, this.#time.nowMs + lasts);
        this.#trace.note(this.#time.nowMs, `${fault} at ${place} for ${lasts.toFixed(0)} ms`);
      }
    }
    this.#next = this.#time.after(lookMs, () => {
      this.#look();
    });
  }
}
