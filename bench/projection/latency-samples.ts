/** Latencies of a run, in a histogram of microseconds. */
import { build, type Histogram } from "hdr-histogram-js";

/** Milliseconds. */
export type Percentiles = {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
};

export const percentileNames = ["p50", "p90", "p99", "p999"] as const;

const percents = { p50: 50, p90: 90, p99: 99, p999: 99.9 } as const;

/** Steps of the distribution's curve, in percent. */
const curvePercents = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9] as const;

export type CurvePoint = { readonly percent: number; readonly ms: number };

export class LatencySamples {
  readonly #histogram: Histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: 600_000_000,
    numberOfSignificantValueDigits: 3,
  });

  add(ms: number): void {
    this.#histogram.recordValue(Math.max(0, Math.round(ms * 1_000)));
  }

  get count(): number {
    return this.#histogram.totalCount;
  }

  get percentiles(): Percentiles {
    return {
      p50: this.#at(percents.p50),
      p90: this.#at(percents.p90),
      p99: this.#at(percents.p99),
      p999: this.#at(percents.p999),
    };
  }

  get curve(): readonly CurvePoint[] {
    return curvePercents.map((percent) => ({ percent, ms: this.#at(percent) }));
  }

  #at(percent: number): number {
    return this.#histogram.getValueAtPercentile(percent) / 1_000;
  }
}
