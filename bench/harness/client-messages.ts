/**
 * What the benchmark and its client processes say to each other over IPC; both come from one
 * checkout.
 */
import type { Cost } from "../cost.ts";
import type { BenchTarget, InProcessContestant } from "./contestant.ts";
import type { Loop } from "./drivers.ts";
import type { Recorded } from "./recorder.ts";

/** The first message to a client process. */
export type ClientSettings = {
  readonly contestant: InProcessContestant;
  readonly target: BenchTarget;
};

export type ClientTask =
  | {
      readonly kind: "run";
      readonly workload: string;
      readonly loop: Loop;
      /** This process's share of all workers. */
      readonly workers: number;
      readonly firstWorker: number;
      readonly durationMs: number;
      readonly seed: number;
      /**
       * Count calls and units over so many operations of each worker, the same ones for every
       * contestant; the run's times are then not for comparison. Undefined: a timed run, without
       * counting.
       */
      readonly countedEach: number | undefined;
    }
  | { readonly kind: "check"; readonly workload: string }
  | { readonly kind: "stop" };

export type ClientRun = {
  readonly elapsedMs: number;
  /** Processor time of this process. */
  readonly cpuMs: number;
  readonly unstarted: number;
  readonly recorded: Recorded;
  /** Of a counted run. */
  readonly cost: Cost;
};

export type ClientAnswer =
  | { readonly kind: "ready" }
  | { readonly kind: "ran"; readonly run: ClientRun }
  | { readonly kind: "checked"; readonly violations: readonly string[] }
  | { readonly kind: "failed"; readonly message: string };
