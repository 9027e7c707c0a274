/** What to run: names, settings, and for each workload who takes part and how hard. */
import type { ContestantName } from "./contestant.ts";
import type { Place } from "./stage.ts";

export type Scene = {
  readonly workload: string;
  readonly concurrencies: readonly number[];
  readonly contestants: readonly ContestantName[];
};

/** Enough for the rarest kind of a mix, few enough for the slowest contestant. */
export const countedOperationsUsual = 512;

export type Plan = {
  /** As on the command line. */
  readonly name: string;
  readonly place: Place;
  readonly scenes: readonly Scene[];
  /** Open loop at this rate; undefined: closed. */
  readonly ratePerSecond: number | undefined;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly repetitions: number;
  /** Client processes of each contestant. */
  readonly processes: number;
  readonly seed: number;
  /** Of a run, beside the timed ones, that counts calls and units; 0: there is none. */
  readonly countedOperations: number;
  /** No workload is begun after so many; undefined: all are. */
  readonly minutesMax?: number;
  /**
   * Where client processes leave a `.cpuprofile` each, of all that they have done; undefined: they
   * run unprofiled.
   */
  readonly profileFolder?: string;
};
