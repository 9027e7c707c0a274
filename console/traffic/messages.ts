/** What the console and the clients of its traffic say to each other over the IPC channel. */
import type { Step, WireItem } from "../wire.ts";

/** What a client is told when it starts, as its only argument. */
export type TrafficSettings = {
  readonly endpoint: string;
  /** Of all clients of this traffic; begins the ids of its transfers. */
  readonly name: string;
  readonly seed: number;
  readonly accountIds: readonly string[];
  readonly commit: "auto" | "stream" | "express";
};

export type ToTraffic =
  /** Finish what is under way, then exit. */
  | { readonly kind: "stop" }
  /** kill -9 yourself when the next commit is in the log, before any of its writes is sent. */
  | { readonly kind: "die-at-decision" };

/** A transfer that was acknowledged: both accounts have an entry of it in the ledger. */
export type Acknowledged = {
  readonly id: string;
  readonly source: string;
  readonly target: string;
};

/** One transfer as its client has it: the ids that its attempts had, and what happened. */
export type TransferCourse = { readonly ids: readonly string[]; readonly steps: readonly Step[] };

export type MetConflict = {
  readonly table: string;
  readonly key: WireItem | undefined;
  readonly early: boolean;
  readonly attempt: number;
  readonly id: string | undefined;
  readonly version: number | undefined;
};

export type TrafficCounts = {
  readonly committed: number;
  readonly attempts: number;
  readonly conflicts: number;
  readonly failed: number;
  readonly unknown: number;
};

export type FromTraffic =
  | { readonly kind: "ready" }
  | {
      readonly kind: "told";
      /** Since the last time. */
      readonly counts: TrafficCounts;
      readonly acknowledged: readonly Acknowledged[];
      readonly courses: readonly TransferCourse[];
      readonly conflicts: readonly MetConflict[];
    };

export const noCounts: TrafficCounts = {
  committed: 0,
  attempts: 0,
  conflicts: 0,
  failed: 0,
  unknown: 0,
};
