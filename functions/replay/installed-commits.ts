/**
 * What clients say, in the records that bring their next commits, that they have installed. A
 * record comes after the commits that it speaks of, so a batch tells of most of its own commits,
 * and nothing has to be kept from one to the next.
 *
 * It is believed: whoever may write to the stream may have anything written to the tables.
 */
import { FrameError } from "../../core/errors.ts";
import type { StreamRecord } from "../../core/ports.ts";
import type { Timestamp } from "../../core/types.ts";
import { readInstalled } from "../../schemas/commit-record.ts";

/** By commit timestamp. A record that is none says nothing. */
export function installedCommits(records: readonly StreamRecord[]): ReadonlySet<Timestamp> {
  const installed = new Set<Timestamp>();
  for (const { data } of records) {
    try {
      for (const timestamp of readInstalled(data)) installed.add(timestamp);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
    }
  }
  return installed;
}
