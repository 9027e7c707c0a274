/** What a load does before, around and after something that happens to a deployment. */
import type { EngineEvent, Receipt } from "../../engine/types.ts";
import { LatencySamples, type Percentiles } from "../projection/latency-samples.ts";

export type WindowFigures = {
  readonly committedPerSecond: number;
  /** Runs of bodies that came to nothing, of all. */
  readonly runAgainShare: number;
  readonly latency: Percentiles;
  readonly longestMs: number;
};

export class WindowTally {
  #committed = 0;
  #runAgain = 0;
  #longestMs = 0;
  readonly #latency = new LatencySamples();

  note(event: EngineEvent): void {
    if (event.kind === "attempt-aborted") this.#runAgain += 1;
    if (event.kind === "committed") this.commit(event.receipt);
  }

  commit({ phases }: Pick<Receipt, "phases">): void {
    const { retryMs, bodyMs, certifyMs, installMs } = phases;
    const ms = retryMs + bodyMs + certifyMs + installMs;
    this.#committed += 1;
    this.#longestMs = Math.max(this.#longestMs, ms);
    this.#latency.add(ms);
  }

  figures(seconds: number): WindowFigures {
    const runs = this.#committed + this.#runAgain;
    return {
      committedPerSecond: this.#committed / seconds,
      runAgainShare: this.#runAgain / Math.max(1, runs),
      latency: this.#latency.percentiles,
      longestMs: this.#longestMs,
    };
  }
}

/** Before something happens, from then on, and after: as many seconds each. */
export class ThreeWindows {
  readonly #seconds: number;
  readonly #tallies = [new WindowTally(), new WindowTally(), new WindowTally()] as const;

  constructor(seconds: number) {
    this.#seconds = seconds;
  }

  /** Undefined before and after all of them. */
  at(second: number): WindowTally | undefined {
    return this.#tallies[Math.floor(second / this.#seconds)];
  }

  figures(): readonly [WindowFigures, WindowFigures, WindowFigures] {
    const [before, from, after] = this.#tallies;
    const seconds = this.#seconds;
    return [before.figures(seconds), from.figures(seconds), after.figures(seconds)];
  }
}
