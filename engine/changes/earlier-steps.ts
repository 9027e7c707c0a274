/**
 * Steps that a BASE transaction had made before the feed began: its record says which, and where in
 * the logs to look for what they have written.
 */
import { keyNamesOf } from "../../core/attributes.ts";
import { CorruptDataError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ClientPorts } from "../../core/ports.ts";
import type { KeyHash, TableDescription, Timestamp } from "../../core/types.ts";
import { textOf } from "../base/attributes.ts";
import { stepKey, type BaseHead, type StepRecord } from "../base/record.ts";
import { tablePartition } from "../base/saline-locks.ts";
import type { Call } from "../call.ts";
import type { Sessions } from "../sessions.ts";
import { baseSigns } from "./base-signs.ts";
import type { CommitWrites } from "./commit-writes.ts";
import type { HeldStep } from "./held-steps.ts";
import { MergedLogs, type MergedCommit } from "./merged-logs.ts";

/** What is recorded of a BASE transaction; undefined: its record has expired. */
export type RecordedBase = (
  base: string,
  options: { readonly signal?: AbortSignal | undefined },
) => Promise<RecordedSteps | undefined>;

type RecordedSteps = { readonly head: BaseHead; readonly steps: readonly StepRecord[] };

/**
 * Of one that is released, the steps below the number; undefined: some have expired. What has, the
 * store drops item by item, in any order.
 */
export function stepsBefore(
  { head, steps }: RecordedSteps,
  number: number,
): readonly StepRecord[] | undefined {
  const count = Math.min(number - 1, head.steps);
  const earlier = steps.filter((step) => step.number <= count);
  return head.phase === "ended" && earlier.length === count ? earlier : undefined;
}

/** Whether it may have written what is asked for. @param tables undefined: all. */
export function mayHaveWritten(
  { end, locks }: StepRecord,
  tables: readonly string[] | undefined,
): boolean {
  if (end.kind === "failed") return false;
  if (tables === undefined) return true;
  const held = new Set(tables.map(tablePartition));
  return locks.some((key) => held.has(textOf(key, "pk")));
}

/**
 * The step as the logs have it.
 * @throws SnapshotTooOldError, PayloadGoneError: they no longer reach back so far.
 */
export async function stepInLogs(
  {
    ports,
    sessions,
    writes,
    records,
  }: {
    readonly ports: ClientPorts;
    readonly sessions: Sessions;
    readonly writes: CommitWrites;
    readonly records: TableDescription;
  },
  base: string,
  { step, call }: { readonly step: StepRecord; readonly call: Call },
): Promise<HeldStep> {
  const { number } = step;
  const { key } = sessions.hashes.item(keyNamesOf(records), stepKey(base, number));
  const logs = await MergedLogs.begin(ports, sessions, {
    after: { timestamp: afterOf(step) },
    call,
  });
  for (;;) {
    const found = await logs.next(call);
    for (const commit of found.filter((each) => hasWritten(each, key))) {
      const { items, records: put } = await writes.of(commit, call);
      const sign = baseSigns(put).step;
      if (sign?.base !== base || sign.number !== number) continue;
      const { timestamp, id } = commit;
      return { number, at: { timestamp, id }, writes: items };
    }
    if (found.length > 0 || logs.hasMore) continue;
    throw new CorruptDataError(
      `step ${number} of BASE transaction ${base} is recorded, and no log has its commit`,
    );
  }
}

function afterOf({ after, atMs }: StepRecord): Timestamp {
  return after ?? (Math.max(0, (atMs - limits.stepClockMarginMs) * 1_000) as Timestamp);
}

function hasWritten({ parts }: MergedCommit, key: KeyHash): boolean {
  return parts.some(({ verdict }) => verdict.writes.some((write) => write.key === key));
}
