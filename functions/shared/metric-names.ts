import type { Outcome } from "../../core/verdict-kinds.ts";

/** The oracle's answers. */
export const outcomeMetrics = {
  committed: "Committed",
  conflict: "AbortedConflict",
  "checked-ahead": "AbortedCheckedAhead",
  "payload-unreadable": "AbortedPayloadUnreadable",
  "too-large": "AbortedTooLarge",
  "table-unknown": "AbortedTableUnknown",
  "table-differs": "AbortedTableDiffers",
  probed: "AbortedProbed",
  elsewhere: "AbortedElsewhere",
  stale: "Stale",
  prepared: "Prepared",
  voted: "Voted",
  counted: "PartsCommitted",
  busy: "Busy",
} as const satisfies Record<Outcome, string>;

/**
 * Every metric that the functions write, and its unit. Names are API: alarms and dashboards are
 * built on them. docs/operations.md says what each means and what to do about it.
 */
export const functionMetrics = {
  // oracle
  Records: "Count",
  RejectedRecords: "Count",
  EndedShardRecords: "Count",
  Blocks: "Count",
  BlockBytes: "Bytes",
  ...counts(Object.values(outcomeMetrics)),
  Duplicates: "Count",
  Rebuilds: "Count",
  PositionsTaken: "Count",
  // replay
  ReplayedTransactions: "Count",
  ReplayInstalledWrites: "Count",
  DeadLetters: "Count",
  ReplayTablesDenied: "Count",
  ForgedInstallReports: "Count",
  VotedDown: "Count",
  PartsSettled: "Count",
  // replay and reaper
  FencesRemoved: "Count",
  WatermarkLag: "Milliseconds",
  LogBlocks: "Count",
  OldestOpen: "Milliseconds",
  // reaper
  TombstonesRemoved: "Count",
  TombstonesKept: "Count",
  TombstoneBatchesWaiting: "Count",
  FencesWaiting: "Count",
  ReaperFailures: "Count",
  // splitter
  EntriesPerSecond: "Count",
  WriteUnitsPerSecond: "Count",
  Splits: "Count",
  SplitsHeldBack: "Count",
  SplitsRefused: "Count",
  // auditor
  AuditedWrites: "Count",
  UnawareWrites: "Count",
  UnawareUnderFence: "Count",
  // api
  RestDuration: "Milliseconds",
  RestSucceeded: "Count",
  RestConflict: "Count",
  RestUnknown: "Count",
  RestThrottled: "Count",
  RestRefused: "Count",
  RestFailed: "Count",
} as const;

type Units = typeof functionMetrics;

export type MetricName = keyof Units;

/** The metrics of one unit. */
export type MetricOf<Unit extends Units[keyof Units]> = {
  [Name in keyof Units]: Units[Name] extends Unit ? Name : never;
}[keyof Units];

function counts<Name extends string>(names: readonly Name[]): Readonly<Record<Name, "Count">> {
  return Object.fromEntries(names.map((name) => [name, "Count"])) as Record<Name, "Count">;
}
