/** What to run: names, settings, and for each workload who takes part and how hard. */
import type { ContestantName } from "./contestant.ts";
import type { Place } from "./stage.ts";

export type Scene = {
  readonly workload: string;
  readonly concurrencies: readonly number[];
  readonly contestants: readonly ContestantName[];
};

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
  /** Add a run that counts calls and units. */
  readonly counted: boolean;
  /** No workload is begun after so many; undefined: all are. */
  readonly minutesMax?: number;
  /**
   * Where client processes leave a `.cpuprofile` each, of all that they have done; undefined: they
   * run unprofiled.
   */
  readonly profileFolder?: string;
};
