/**
 * Every metric that the functions write, and its unit. Names are API: alarms and dashboards are
 * built on them. docs/operations.md says what each means and what to do about it.
 */
export const functionMetrics = {
  // oracle
  Records: "Count",
  RejectedRecords: "Count",
  Blocks: "Count",
  BlockBytes: "Bytes",
  Committed: "Count",
  AbortedConflict: "Count",
  AbortedCheckedAhead: "Count",
  AbortedPayloadUnreadable: "Count",
  AbortedTooLarge: "Count",
  AbortedTableUnknown: "Count",
  AbortedTableDiffers: "Count",
  AbortedProbed: "Count",
  Stale: "Count",
  Duplicates: "Count",
  Rebuilds: "Count",
  PositionsTaken: "Count",
  // replay
  ReplayedTransactions: "Count",
  ReplayInstalledWrites: "Count",
  DeadLetters: "Count",
  ReplayTablesDenied: "Count",
  ForgedInstallReports: "Count",
  WatermarkLag: "Milliseconds",
  // reaper
  TombstonesRemoved: "Count",
  TombstonesKept: "Count",
  TombstoneBatchesWaiting: "Count",
  ReaperFailures: "Count",
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

/** The metrics of one unit. */
export type MetricOf<Unit extends Units[keyof Units]> = {
  [Name in keyof Units]: Units[Name] extends Unit ? Name : never;
}[keyof Units];
