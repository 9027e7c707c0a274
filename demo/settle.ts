/**
 * What became of the operations whose clients never learned it: killed in the middle, or answered
 * "unknown". First every request that was sent for one is settled by its id, which reads nothing
 * but the log; so the tables can then be looked at as the functions alone have left them. After
 * that, each that has committed is called once more under its idempotency key, which must return
 * that commit's result and do nothing.
 */
import { type Client, createClient } from "../sdk/index.ts";
import type { JournaledOperation } from "./journal.ts";
import { perform } from "./operations.ts";

/** An operation whose end is known: acknowledged, or certain to have written nothing. */
export type SettledOperation = Omit<JournaledOperation, "aborted" | "certifiedId">;

/**
 * An operation that its client left open, and the one request of its that has committed, if any.
 */
export type DecidedOperation = {
  readonly journaled: JournaledOperation;
  readonly committedId: string | undefined;
};

export type Decisions = {
  readonly known: readonly JournaledOperation[];
  readonly decided: readonly DecidedOperation[];
  readonly faults: readonly string[];
  readonly counts: {
    /** Commits whose client died before their first install. */
    readonly orphaned: number;
    /** Ids of known end whose outcome was asked for all the same. */
    readonly outcomesSampled: number;
  };
};

/**
 * Known outcomes that are asked for again, to see that the log agrees with what was acknowledged.
 */
const samplesMax = 100;
const settledAtOnce = 4;

/** Settles every open operation by the ids of its requests, and asks again for known ones. */
export async function decideOpen(
  { db, endpoint }: { readonly db: Client; readonly endpoint: string },
  journaled: readonly JournaledOperation[],
): Promise<Decisions> {
  const faults: string[] = [];
  const isOpen = ({ acknowledged, aborted }: JournaledOperation): boolean =>
    acknowledged === undefined && !aborted;
  const known = journaled.filter((operation) => !isOpen(operation));
  const decided = await mapConcurrently(journaled.filter(isOpen), async (open) => {
    const committed: string[] = [];
    for (const id of open.transactionIds) {
      if ((await db.outcome(id)) === "committed") committed.push(id);
    }
    if (committed.length > 1) {
      faults.push(`exactly once: ${open.operation.id} committed as ${committed.join(" and as ")}`);
    }
    faults.push(...orphanFaults(open, committed));
    return { journaled: open, committedId: committed[0] };
  });
  for (const operation of known) {
    const { acknowledged } = operation;
    const committed = acknowledged === undefined ? [] : [acknowledged.transactionId];
    faults.push(...orphanFaults(operation, committed));
  }
  const orphaned = journaled.filter(({ certifiedId }) => certifiedId !== undefined).length;
  const step = Math.max(1, Math.ceil(known.length / samplesMax));
  const samples = known.filter((_operation, index) => index % step === 0);
  const outcomesSampled = await askAgain(samples, { endpoint, faults });
  return { known, decided, faults, counts: { orphaned, outcomesSampled } };
}

/** Whoever died between a decision and its installs knew that it was committed. */
export function orphanFaults(
  { operation, certifiedId }: Pick<JournaledOperation, "operation" | "certifiedId">,
  committed: readonly string[],
): readonly string[] {
  if (certifiedId === undefined || committed.includes(certifiedId)) return [];
  return [`lost: ${operation.id} was certified as ${certifiedId}, and is not committed`];
}

/**
 * By some clients of its own, since each searches the log at a bounded pace: one alone would take
 * half a minute.
 */
async function askAgain(
  samples: readonly JournaledOperation[],
  { endpoint, faults }: { readonly endpoint: string; readonly faults: string[] },
): Promise<number> {
  const shares = Array.from({ length: settledAtOnce }, (_, nth) =>
    samples.filter((_sample, index) => index % settledAtOnce === nth),
  );
  const counts = await mapConcurrently(shares, async (share) => {
    const asker = createClient({ endpoint });
    try {
      let asked = 0;
      for (const sample of share) asked += await checkOutcomes(asker, sample, faults);
      return asked;
    } finally {
      await asker.close();
    }
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

async function checkOutcomes(
  db: Client,
  { operation, transactionIds, acknowledged }: JournaledOperation,
  faults: string[],
): Promise<number> {
  for (const id of transactionIds) {
    const expected = id === acknowledged?.transactionId ? "committed" : "aborted";
    const outcome = await db.outcome(id);
    if (outcome === expected) continue;
    faults.push(
      `outcome: request ${id} of ${operation.id} was ${expected}, the log says ${outcome}`,
    );
  }
  return transactionIds.length;
}

/** Learns the results of those that have committed, by the same call once more. */
export async function repeatCommitted(
  db: Client,
  decided: readonly DecidedOperation[],
): Promise<{
  readonly operations: readonly SettledOperation[];
  readonly faults: readonly string[];
}> {
  const faults: string[] = [];
  const operations = await mapConcurrently(decided, async ({ journaled, committedId }) => {
    const { aborted: _aborted, certifiedId: _certifiedId, ...operation } = journaled;
    if (committedId === undefined) return operation;
    const { done, receipt } = await perform(db, withoutDeadline(journaled.operation));
    if (!receipt.replayed || receipt.transactionId !== committedId) {
      const repeated = receipt.transactionId ?? "nothing";
      const { id } = journaled.operation;
      faults.push(`exactly once: ${id} committed as ${committedId}, its repeat as ${repeated}`);
    }
    const commitTimestamp = receipt.commitTimestamp ?? 0;
    return { ...operation, acknowledged: { transactionId: committedId, commitTimestamp, done } };
  });
  return { operations, faults };
}

function withoutDeadline(operation: JournaledOperation["operation"]): typeof operation {
  if (operation.kind !== "transfer") return operation;
  const { deadlineMs: _deadlineMs, ...patient } = operation;
  return patient;
}

/** Some at a time, in the order asked for. */
export async function mapConcurrently<From, To>(
  values: readonly From[],
  map: (value: From) => Promise<To>,
): Promise<To[]> {
  const mapped: To[] = [];
  const queue = values.entries();
  const work = async (): Promise<void> => {
    for (const [index, value] of queue) mapped[index] = await map(value);
  };
  await Promise.all(Array.from({ length: settledAtOnce }, work));
  return mapped;
}
