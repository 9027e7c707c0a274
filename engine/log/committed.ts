/** A transaction that stands, by whichever way. */
import type { Consumption } from "../../core/ports.ts";
import type { Timestamp } from "../../core/types.ts";
import type { CommitName } from "../committing/commit-under-way.ts";

export type Committed = {
  readonly name: CommitName;
  readonly commitTimestamp: Timestamp | undefined;
  /** Whether its writes are in their tables. */
  readonly installed: Promise<boolean>;
  /** What has not been counted for the call yet. */
  readonly consumed?: () => Consumption;
  readonly isLocal?: true;
};
