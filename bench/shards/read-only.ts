/**
 * Read-only transactions and the oracles: one-shot transactions of ten reads or of ten writes, by
 * the share of writes. Readers and writers are processes of their own, so that whatever a reader's
 * process puts into stream or log was put for a transaction that only reads.
 */
import type { CommitPreference } from "../../engine/types.ts";
import { Load, type LoadOptions } from "../projection/load.ts";
import type { Adapt } from "../projection/projected-deployment.ts";
import type { Percentiles } from "../projection/latency-samples.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { look } from "../projection/transactions.ts";
import { accessing, openDeployment } from "./run-load.ts";
import { differentItems } from "./spread-keys.ts";

export type ReadOnlyCase = {
  readonly shards: number;
  readonly writeShares: readonly number[];
  readonly keys: number;
  readonly itemsPerTransaction: number;
  readonly perSecond: number;
  readonly seconds: number;
};

export type ReadOnlyRow = {
  readonly commit: CommitPreference;
  readonly shards: number;
  readonly writeShare: number;
  readonly transactions: number;
  /** Share of the read-only ones for which nothing was put into stream or log. */
  readonly withoutOracle: number;
  /** Of their bodies' runs, those that ended in a conflict and were run again. */
  readonly runAgain: number;
  readonly latency: Percentiles;
  /** Of the transactions that write. */
  readonly writesPerSecond: number;
  readonly writersConflictShare: number;
};

/** So many that none is busy with its own calls: then its parts would stay open. */
const writerProcesses = 8;
/** About what one read-only transaction after the other comes to in a process. */
const readsPerSecondOfProcess = 28;
/** Functions are warm by then, and nothing is open any more of what waited for them. */
const warmUpSeconds = 6;

export async function readOnlyRow(
  task: Omit<ReadOnlyCase, "writeShares"> & { readonly seed: number },
  { commit, writeShare }: Pick<ReadOnlyRow, "commit" | "writeShare">,
): Promise<ReadOnlyRow> {
  const { seed, shards, keys, itemsPerTransaction, perSecond, seconds } = task;
  const putting = new Set<string>();
  const adapt = notingPuts(putting);
  const deployment = await openDeployment({ seed, shards, deployment: { adapt } });
  const around = { commit, seconds, warmUpSeconds } as const;
  const some = (random: SeededRandom): readonly number[] =>
    differentItems(random, itemsPerTransaction, keys);
  const counts = { transactions: 0, withoutOracle: 0 };
  const { time } = deployment.world;
  const beginMs = time.nowMs + warmUpSeconds * 1_000;
  const readers: LoadOptions = {
    ...around,
    processes: Math.max(1, Math.round((perSecond * (1 - writeShare)) / readsPerSecondOfProcess)),
    // One at a time in each process: what that puts meanwhile is put for this one.
    arrival: { kind: "closed", clientsPerProcess: 1 },
    body: () => Promise.reject(new Error("tasks take its place")),
    tasks: (random, { process }) => {
      const reads = some(random);
      // The readers' processes are the first.
      const name = `app#${(process + 1).toString()}`;
      putting.delete(name);
      return {
        readOnly: false,
        body: (snapshot) => look(snapshot, reads),
        committed: () => {
          if (time.nowMs < beginMs) return;
          counts.transactions += 1;
          if (!putting.has(name)) counts.withoutOracle += 1;
        },
      };
    },
  };
  const writers: LoadOptions = {
    ...{ ...around, processes: writerProcesses },
    arrival: { kind: "open", perSecond: perSecond * writeShare },
    body: accessing((random) => ({ reads: [], writes: some(random) })),
  };
  const [read, written] = await deployment.run(() =>
    Promise.all([
      new Load(deployment, readers).measure(),
      writeShare === 0 ? undefined : new Load(deployment, writers).measure(),
    ]),
  );
  const { early, oracle } = read.conflicts;
  return {
    ...{ commit, shards, writeShare, transactions: counts.transactions },
    withoutOracle: counts.withoutOracle / Math.max(1, counts.transactions),
    runAgain: (early + oracle) / Math.max(1, early + oracle + read.committed),
    latency: read.latency.percentiles,
    writesPerSecond: written?.committedPerSecond ?? 0,
    writersConflictShare: written?.conflictShare ?? 0,
  };
}

/** Notes which process puts records into the stream, or blocks into the log. */
function notingPuts(putting: Set<string>): Adapt {
  return (ports, { role, process }) => {
    if (role !== "app") return ports;
    const { stream, log } = ports;
    const put: typeof stream.put = (...call) => {
      putting.add(process);
      return stream.put(...call);
    };
    const append: typeof log.append = (...call) => {
      putting.add(process);
      if (log.append === undefined) throw new Error("a client that may append has a way to");
      return log.append(...call);
    };
    return { ...ports, stream: { ...stream, put }, log: { ...log, append } };
  };
}
