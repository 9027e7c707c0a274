/**
 * Dollars a month from counts per transaction. Every line is one multiplication that
 * docs/performance.md shows, so that a reader can put in other prices. Not in it: storage, data
 * transfer, the application's own machines, HTTP.
 */
import type { CommitPreference } from "../../engine/types.ts";
import { hoursPerMonth, pricesDollars as prices, type Consumer } from "./published-figures.ts";
import type { PartUsage } from "./usage-ledger.ts";

/** Per committed transaction. */
export type CostCounts = {
  readonly writeUnits: {
    readonly install: number;
    /** By clients. */
    readonly blocks: number;
    readonly oracle: number;
    readonly replay: number;
  };
  readonly readUnits: { readonly reads: number; readonly tail: number; readonly replay: number };
  readonly putUnits: number;
  readonly recordBytes: number;
  readonly oracle: { readonly invocations: number; readonly gigabyteSeconds: number };
  readonly replay: { readonly invocations: number; readonly gigabyteSeconds: number };
};

export type CostLines = {
  readonly writes: number;
  readonly reads: number;
  readonly putUnits: number;
  readonly shards: number;
  readonly retention: number;
  readonly fanOut: number;
  readonly functions: number;
};

export type CostRow = {
  readonly commit: CommitPreference;
  readonly consumer: Consumer;
  readonly itemsPerTransaction: number;
  readonly perSecond: number;
  readonly shards: number;
  /** At each shard. */
  readonly processes: number;
  readonly counts: CostCounts;
  readonly monthly: CostLines;
  readonly monthlyTotal: number;
  /**
   * The same items read consistently, and written without conditions; and by TransactWriteItems.
   */
  readonly plainMonthly: number;
  readonly transactWriteItemsMonthly: number;
  readonly timesTransactWriteItems: number;
  /** Without what is paid by the hour and Lambda's time: what the transactions themselves cost. */
  readonly timesOfUnits: number;
  readonly expressShare: number;
};

const secondsPerMonth = hoursPerMonth * 3_600;
const million = 1_000_000;
const gigabyte = 1_000_000_000;

export function countsOf(
  usage: PartUsage,
  commits: number,
  memoryMb: { readonly oracle: number; readonly replay: number },
): CostCounts {
  const { client, oracle, replay } = usage;
  const gigabyteSeconds = (ms: number, mb: number): number =>
    (ms / 1_000) * (mb / 1_024) * (1 / commits);
  return {
    writeUnits: {
      install: (client.writeUnits - client.blockWriteUnits) / commits,
      blocks: client.blockWriteUnits / commits,
      oracle: oracle.writeUnits / commits,
      replay: replay.writeUnits / commits,
    },
    readUnits: {
      reads: (client.readUnits - client.queryReadUnits) / commits,
      tail: client.queryReadUnits / commits,
      replay: (replay.readUnits + oracle.readUnits) / commits,
    },
    putUnits: client.putUnits / commits,
    recordBytes: client.recordBytes / commits,
    oracle: {
      invocations: oracle.invocations / commits,
      gigabyteSeconds: gigabyteSeconds(oracle.invocationMs, memoryMb.oracle),
    },
    replay: {
      invocations: replay.invocations / commits,
      gigabyteSeconds: gigabyteSeconds(replay.invocationMs, memoryMb.replay),
    },
  };
}

export function monthlyCost(
  counts: CostCounts,
  load: { readonly perSecond: number; readonly shards: number; readonly consumer: Consumer },
): CostLines {
  const { perSecond, shards, consumer } = load;
  const transactions = perSecond * secondsPerMonth;
  const { writeUnits, readUnits, oracle, replay } = counts;
  const fanOut = consumer === "fan-out";
  return {
    writes:
      ((writeUnits.install + writeUnits.blocks + writeUnits.oracle + writeUnits.replay) *
        transactions *
        prices.writeUnitsMillion) /
      million,
    reads:
      ((readUnits.reads + readUnits.tail + readUnits.replay) *
        transactions *
        prices.readUnitsMillion) /
      million,
    putUnits: (counts.putUnits * transactions * prices.putUnitsMillion) / million,
    shards: shards * hoursPerMonth * prices.shardHour,
    retention: shards * hoursPerMonth * prices.extendedRetentionShardHour,
    fanOut: fanOut
      ? shards * hoursPerMonth * prices.fanOutConsumerShardHour +
        ((counts.recordBytes * transactions) / gigabyte) * prices.fanOutGigabyte
      : 0,
    functions:
      ((oracle.invocations + replay.invocations) * transactions * prices.invocationsMillion) /
        million +
      (oracle.gigabyteSeconds + replay.gigabyteSeconds) * transactions * prices.gigabyteSecond,
  };
}

/**
 * A consistent read of each item below 4 KB; a write of each below 1 KB, which counts twice in a
 * transaction.
 */
export function nativeMonthly(load: { readonly perSecond: number; readonly items: number }): {
  readonly plain: number;
  readonly transactWriteItems: number;
} {
  const transactions = load.perSecond * secondsPerMonth;
  const dollars = (writeUnits: number): number =>
    ((load.items * prices.readUnitsMillion + writeUnits * prices.writeUnitsMillion) *
      transactions) /
    million;
  return { plain: dollars(load.items), transactWriteItems: dollars(2 * load.items) };
}

export function costRow(
  parts: Pick<
    CostRow,
    | "commit"
    | "consumer"
    | "itemsPerTransaction"
    | "perSecond"
    | "shards"
    | "processes"
    | "expressShare"
  > & {
    readonly counts: CostCounts;
  },
): CostRow {
  const monthly = monthlyCost(parts.counts, parts);
  const monthlyTotal = Object.values(monthly).reduce((sum, dollars) => sum + dollars, 0);
  const native = nativeMonthly({ perSecond: parts.perSecond, items: parts.itemsPerTransaction });
  return {
    ...parts,
    monthly,
    monthlyTotal,
    plainMonthly: native.plain,
    transactWriteItemsMonthly: native.transactWriteItems,
    timesTransactWriteItems: monthlyTotal / native.transactWriteItems,
    timesOfUnits: (monthly.writes + monthly.reads + monthly.putUnits) / native.transactWriteItems,
  };
}
