/**
 * What became of the operations whose clients never learned it: killed in the middle, or answered
 * "unknown". Every request that was sent for one is settled by its id; then the operation is called once more under
 * its idempotency key if one has committed, which must return that commit's result and do nothing.
 */
import type { Client } from "../../sdk/index.ts";
import type { Acknowledgement, JournaledOperation } from "./journal.ts";
import { perform } from "./operations.ts";

/** An operation whose end is known: acknowledged, or certain to have written nothing. */
export type SettledOperation = Omit<JournaledOperation, "aborted">;

export type Settlement = {
  readonly operations: readonly SettledOperation[];
  readonly faults: readonly string[];
  /** How many had to be settled, by what they turned out to be. */
  readonly committed: number;
  readonly aborted: number;
  /** Ids of known end whose outcome was asked for all the same. */
  readonly sampled: number;
};

/** Known outcomes that are asked for again, to see that the log agrees with what was acknowledged. */
const samplesMax = 100;
const settledAtOnce = 4;

export async function settle(
  db: Client,
  journaled: readonly JournaledOperation[],
): Promise<Settlement> {
  const faults: string[] = [];
  const counts = { committed: 0, aborted: 0, sampled: 0 };
  const open = journaled.filter(
    ({ acknowledged, aborted }) => !aborted && acknowledged === undefined,
  );
  const known = journaled.filter((operation) => !open.includes(operation));
  const settled = await mapConcurrently(open, async (operation) => {
    const acknowledged = await settleOne(db, operation, faults);
    if (acknowledged === undefined) counts.aborted += 1;
    else counts.committed += 1;
    return { ...operation, acknowledged };
  });
  const step = Math.max(1, Math.ceil(known.length / samplesMax));
  const samples = known.filter(
    ({ transactionIds }, index) => index % step === 0 || transactionIds.length > 5,
  );
  await mapConcurrently(samples.slice(0, 2 * samplesMax), async (operation) => {
    for (const id of operation.transactionIds) {
      const expected = id === operation.acknowledged?.transactionId ? "committed" : "aborted";
      const outcome = await db.outcome(id);
      counts.sampled += 1;
      if (outcome === expected) continue;
      faults.push(`outcome: ${operation.operation.id} had ${id} ${expected}, the log: ${outcome}`);
    }
  });
  return { operations: [...known, ...settled], faults, ...counts };
}

async function settleOne(
  db: Client,
  { operation, transactionIds }: JournaledOperation,
  faults: string[],
): Promise<Acknowledgement | undefined> {
  const committed: string[] = [];
  for (const id of transactionIds) {
    if ((await db.outcome(id)) === "committed") committed.push(id);
  }
  if (committed.length > 1) {
    faults.push(`exactly once: ${operation.id} committed as ${committed.join(" and as ")}`);
  }
  const [transactionId] = committed;
  if (transactionId === undefined) return undefined;
  const { done, receipt } = await perform(db, operation);
  if (!receipt.replayed || receipt.transactionId !== transactionId) {
    faults.push(
      `exactly once: ${operation.id} committed as ${transactionId}, and its repeat as ${receipt.transactionId ?? "nothing"}`,
    );
  }
  return { transactionId, commitTimestamp: receipt.commitTimestamp ?? 0, done };
}

async function mapConcurrently<From, To>(
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
