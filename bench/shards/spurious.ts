/**
 * Aborts, and which of them were for nothing: transactions of four reads and four writes, uniform
 * over a million records, from two processes of 250 clients each. An abort is for nothing unless a
 * transaction that did commit had written the record that it names, after it was read.
 */
import { Load } from "../projection/load.ts";
import { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { access, itemIdAt } from "../projection/transactions.ts";
import { naiveValidators } from "./naive-validators.ts";
import { apart, openDeployment } from "./run-load.ts";
import { differentItems } from "./spread-keys.ts";

export type SpuriousCase = {
  readonly shards: readonly number[];
  readonly records: number;
  readonly clientsPerProcess: number;
  readonly seconds: number;
  readonly naiveTransactions: number;
  readonly watermarksEvery: readonly number[];
};

export type SpuriousRow = {
  readonly variant: "tidemark" | "without feedback";
  readonly shards: number;
  /** Of the variant without feedback: a watermark after so many transactions. */
  readonly watermarkEvery: number | null;
  /** Runs of transactions, and those that ended in an abort. */
  readonly runs: number;
  readonly aborted: number;
  readonly spurious: number;
  readonly spuriousShare: number;
};

type Abort = { readonly key: string | undefined; readonly timestamp: number | undefined };

/** How far a conflict's place in its log may lie above the timestamp at which the other counts. */
const placeAboveMicros = 2_000_000;

export async function tidemarkRow(
  { seed, records, clientsPerProcess, seconds }: SpuriousCase & { readonly seed: number },
  shards: number,
): Promise<SpuriousRow> {
  const deployment = await openDeployment({ seed, shards });
  const aborts: Abort[] = [];
  const writers = new Map<string, number[]>();
  let runs = 0;
  const load = new Load(deployment, {
    ...{ commit: "stream", processes: 2, seconds, warmUpSeconds: 4 },
    arrival: { kind: "closed", clientsPerProcess },
    body: () => Promise.reject(new Error("tasks take its place")),
    tasks: (random) => {
      const chosen = apart(differentItems(random, 8, records), 4);
      return {
        readOnly: false,
        body: async (_reads, transaction) => {
          runs += 1;
          if (transaction !== undefined) await access(transaction, chosen);
        },
        committed: ({ commitTimestamp = 0 }) => {
          for (const n of chosen.writes) {
            const known = writers.get(itemIdAt(n)) ?? [];
            known.push(commitTimestamp);
            writers.set(itemIdAt(n), known);
          }
        },
      };
    },
    onEvent: (event) => {
      if (event.kind !== "attempt-aborted") return;
      const { key, version } = event.detail ?? {};
      const id = key?.["id"];
      const named = id !== undefined && "S" in id ? id.S : undefined;
      aborts.push({ key: named, timestamp: version });
    },
  });
  await load.run();
  const spurious = aborts.filter((abort) => !isFounded(abort, writers)).length;
  return {
    ...{
      variant: "tidemark",
      shards,
      watermarkEvery: null,
      runs,
      aborted: aborts.length,
      spurious,
    },
    spuriousShare: spurious / Math.max(1, runs),
  };
}

function isFounded(
  { key, timestamp }: Abort,
  writers: ReadonlyMap<string, readonly number[]>,
): boolean {
  if (key === undefined || timestamp === undefined) return false;
  return (writers.get(key) ?? []).some(
    (written) => written <= timestamp && written > timestamp - placeAboveMicros,
  );
}

export function naiveRow(
  task: SpuriousCase & { readonly seed: number },
  { shards, watermarkEvery }: { readonly shards: number; readonly watermarkEvery: number },
): SpuriousRow {
  const { records, clientsPerProcess, naiveTransactions: transactions, seed } = task;
  const result = naiveValidators(
    {
      ...{ validators: shards, records, reads: 4, writes: 4, watermarkEvery, transactions },
      concurrent: 2 * clientsPerProcess,
    },
    new SeededRandom(`naive ${seed.toString()}`),
  );
  return {
    ...{ variant: "without feedback", shards, watermarkEvery },
    ...{ runs: result.transactions, aborted: result.aborted, spurious: result.spurious },
    spuriousShare: result.spurious / Math.max(1, result.transactions),
  };
}
