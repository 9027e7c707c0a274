/** What is shown while the demo runs: a bar on a terminal, plain lines of the kills everywhere. */
import { SingleBar } from "cli-progress";
import type { Measurements } from "./measurements.ts";

const redrawMs = 200;

export class Progress {
  readonly #bar: SingleBar | undefined;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(measurements: Measurements, run: { readonly seconds: number }) {
    if (!process.stderr.isTTY) return;
    const format =
      "  {bar} {elapsed}/{seconds} s | {rate} commits/s | {conflicts} conflicts | {unknowns} " +
      "unknown | {kills} killed";
    const bar = new SingleBar({
      format,
      hideCursor: true,
      barsize: 20,
      stream: process.stderr,
      barCompleteChar: "█",
      barIncompleteChar: "░",
    });
    const { seconds } = run;
    const beganMs = performance.now();
    let lastCommits = 0;
    let lastMs = beganMs;
    let rate = 0;
    const state = (): object => {
      const nowMs = performance.now();
      if (nowMs - lastMs >= 1_000) {
        rate = Math.round(((measurements.commits - lastCommits) * 1_000) / (nowMs - lastMs));
        lastCommits = measurements.commits;
        lastMs = nowMs;
      }
      const elapsed = Math.min(seconds, Math.round((nowMs - beganMs) / 1_000));
      const { conflicts, counters } = measurements;
      return { elapsed, seconds, rate, conflicts, unknowns: counters.unknowns, kills: this.kills };
    };
    bar.start(seconds * 1_000, 0, state());
    this.#bar = bar;
    this.#timer = setInterval(() => {
      bar.update(Math.min(seconds * 1_000, Math.round(performance.now() - beganMs)), state());
    }, redrawMs);
  }

  kills = 0;

  stop(): void {
    clearInterval(this.#timer);
    this.#bar?.stop();
  }
}
