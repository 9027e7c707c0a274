/**
 * What one seed runs: a workload, how many clients, which isolation, and which faults at what
 * strength. Drawn from the seed alone. Each fault is on or off by chance ("swarm testing", Groce et
 * al., ISSTA 2012): runs with few faults reach places that runs with all of them never reach,
 * because something else always goes wrong first.
 */
import * as limits from "../core/limits.ts";
import type { Isolation } from "../core/types.ts";
import type { CommitPreference } from "../engine/types.ts";
import type { Change } from "../functions/shared/settings.ts";
import {
  appendFaultNames,
  faultNames,
  type FaultName,
  type FaultPlan,
} from "../testing/kernel/faults.ts";
import { SeededRandom } from "../testing/kernel/seeded-random.ts";
import {
  baseWorkloads,
  mixableWorkloads,
  nativeWorkloads,
  transactionalWorkloads,
  type WorkloadName,
} from "./workloads/catalogue.ts";

export type SeedPlan = {
  readonly seed: number;
  readonly workload: WorkloadName;
  readonly isolation: Isolation | "mixed";
  readonly clients: number;
  /** Transactions that each of them runs at a time. */
  readonly lanes: number;
  /** Transactions that the clients begin, all together. */
  readonly transactions: number;
  /** Mean pause of a client between two transactions. */
  readonly pauseMs: number;
  /** How many clients work at the same items: fewer items, more conflicts. */
  readonly keys: number;
  readonly history: boolean;
  readonly oracleConsumer: "fan-out" | "standard";
  readonly functionTimeLimitMs: number;
  readonly oracleTimeLimitMs: number;
  /** What a cold oracle folds at most, and reads at once. */
  readonly rebuildBlocksMax: number;
  readonly rebuildPageBlocksMax: number;
  /** Share of transactions that are given little time. */
  readonly hurried: number;
  /** Of every hash: 64, or so few that most items collide with others. */
  readonly hashBits: number;
  /** A deployment without a stream, in which every commit is its client's own block. */
  readonly tablesOnly: boolean;
  /** Of the deployment: each with a log and an oracle of its own. */
  readonly shards: number;
  /** How often operators split one of them while clients work (shard-operators.ts). */
  readonly splits: number;
  /** and how often one is joined to its neighbour. */
  readonly joins: number;
  /** Who keeps house: its functions, or clients in turns, or both, each safe from the other. */
  readonly housekeeping: "functions" | "clients" | "both";
  /**
   * Many clients, and hardly two at one item: what they are in each other's way for is the log's
   * next position alone. Nothing is done for conflicts, and nobody judges whether there were any.
   */
  readonly hotLog: boolean;
  /**
   * One client works all the time and the others come by now and then, so that it is alone at the
   * log for long. What comes of that is as with a hot log.
   */
  readonly visits: boolean;
  /**
   * How often operators close the stream while clients work, and take it away or open it again
   * (stream-operators.ts); a deployment without one gets one first. 0: all stays as it is.
   */
  readonly closings: number;
  /** Which way the clients' commits go; `mixed`: each client its own (`clientCommitOf`). */
  readonly commit: CommitPreference | "mixed";
  /** A workload that transactions have to themselves runs on mixed tables all the same. */
  readonly mixed: boolean;
  /** Programs that know mixed tables by plain calls; 0 where the workload has nothing for them. */
  readonly natives: number;
  /** Whether somebody reads the change feed. */
  readonly feeds: boolean;
  /** and whether named consumers are at it, too. */
  readonly consumers: boolean;
  /** Steps of theirs for each step of the clients. */
  readonly nativeShare: number;
  readonly faults: FaultPlan;
  readonly strikesMax?: number;
};

const timeLimits = {
  value: { min: 10_000, max: 60_000 },
  because: "a limit must be met now and then, to show what is left half done",
} as const satisfies Change<unknown>;

/**
 * Probability per opportunity when the fault is on: drawn between these, uniformly in the
 * logarithm.
 */
const strengths: Readonly<Record<FaultName, readonly [min: number, max: number]>> = {
  "request-lost": [0.001, 0.03],
  "request-late": [0.0005, 0.01],
  "answer-lost": [0.001, 0.03],
  "service-error": [0.001, 0.03],
  "service-error-after-effect": [0.001, 0.02],
  throttled: [0.001, 0.05],
  "throttling-storm": [0.005, 0.05],
  "slow-service": [0.005, 0.03],
  "part-unprocessed": [0.01, 0.3],
  "put-records-in-part": [0.01, 0.2],
  "stale-read": [0.05, 0.5],
  "torn-page": [0.05, 0.5],
  "iterator-expired": [0.01, 0.2],
  "empty-page": [0.01, 0.3],
  "arrival-backwards": [0.01, 0.3],
  "crash-before-call": [0.0002, 0.003],
  "crash-after-call": [0.0002, 0.003],
  "freeze-at-call": [0.0002, 0.002],
  "suspend-at-call": [0.0004, 0.004],
  "clock-skew": [0.3, 1],
  "cold-start": [0.02, 0.3],
  "frozen-invocation": [0.005, 0.05],
  "batch-redelivered": [0.02, 0.3],
  "batch-cut": [0.05, 0.5],
  "consumer-restart": [0.01, 0.1],
  "consumer-overlap": [0.02, 0.3],
  "consumer-pause": [0.002, 0.02],
  "schedule-skipped": [0.1, 0.5],
  "ttl-late": [0.5, 1],
  "hostile-record": [0.02, 0.5],
  "record-duplicated": [0.02, 0.3],
  "answer-slow": [0.001, 0.03],
  "arrival-ahead": [0.0005, 0.02],
  "freeze-before-call": [0.0002, 0.003],
  "log-throttled": [0.005, 0.05],
  "append-denied": [0.01, 0.05],
};

/** Of every seed; those about appends are drawn where clients append. */
const generalFaultNames = faultNames.filter((name) =>
  appendFaultNames.every((other) => other !== name),
);

const clientsMin = 4;
const clientsMax = 8;
/**
 * Most clients run one transaction at a time: then nothing but its own reads refreshes what it
 * knows of the log.
 */
const lanesChance = 0.35;
const lanesMax = 4;
/** Of the workload that is about transactions of one process side by side. */
const convoyLanesMin = 3;
const convoyLanesMax = 8;
const transactionsMin = 60;
const transactionsMax = 400;
/**
 * A collision may abort needlessly and must never commit wrongly: some seeds have them all the
 * time. With 6 bits nearly every transaction meets one, with 12 a few do.
 */
const narrowShare = 0.25;
const narrowBitsMin = 6;
const mixedBitsMin = 10;
const narrowBitsMax = 12;
export const hashBitsMax = 64;
/** Of the seeds in which clients may append blocks of their own; in a third of these, some do. */
const expressShare = 1 / 3;
const ways: readonly CommitPreference[] = ["stream", "auto", "express"];
/** Of all seeds, those without a stream: there, all commit express. */
const tablesOnlyShare = 0.1;
/**
 * Who keeps house there. With a stream the functions do in any case; clients that would like to
 * are in some of these seeds, too, and have to see that they need not.
 */
const houses = ["functions", "clients", "clients", "both"] as const;
const needlessKeepersShare = 0.03;
/** Long chains meet what becomes of blocks in ways that hardly anything else does. */
const convoyShare = 0.08;
const convoyExpressShare = 0.8;
/** Turns come every ten seconds: the run has to last for some of them. */
const keepersSlowness = 10;
/** Of the seeds without a stream, those in which many clients meet at the log alone. */
const hotLogShare = 0.25;
const crowdClientsMin = 8;
const crowdClientsMax = 12;
const crowdKeys = 200;
/** Of the seeds in which every commit is its client's own block, those with one busy client. */
const visitsShare = 0.2;
/** Of the other seeds in which clients may append, those whose stream comes and goes; */
const closingsShare = 0.35;
/** and of those in which all would rather use the stream. */
const closingsShareOfStream = 0.05;
const closingsMax = 3;
/** Replay's schedule comes once a minute: the run has to last for some of them. */
const closingsPauseMs = { min: 100, max: 1_000 };
/** Where there never is a stream, a client that is denied is refused whatever it does. */
const needsStream: readonly FaultName[] = ["append-denied"];
/** Of all seeds, those whose clients begin BASE transactions, too. */
const baseWorkloadShare = 0.09;
/** Of these: each has several commits, and what it leaves is gone on with. */
const baseTransactions = { min: 8, max: 20 };
const baseClientsMax = 4;
/** Of all seeds, those with native writers beside the transactions; */
const nativeWorkloadShare = 0.12;
/** and of the others, where that can be, those on mixed tables all the same. */
const mixedShare = 0.2;
const nativesMax = 4;
const nativeShareMin = 0.3;
const nativeShareMax = 2;
const nativeShareInShardsMax = 0.3;
/** Of the seeds that may, those with several shards. */
const shardsShare = 0.25;
const shardsMin = 2;
const shardsMax = 4;
/** and those whose shards are split, few or many. */
const splitsShare = 0.25;
const splitsMax = 3;
/** Of those with several shards, or splits: where some are joined, too. */
const joinsShare = 0.6;
const joinsMax = 3;
/** Of the seeds that may, those with a reader of the change feed; and of those with BASE ones. */
const feedsShare = 0.15;
const baseFeedsShare = 0.5;
/** Of those with a reader, the ones with named consumers. */
const consumersShare = 0.4;
/** One seed in ten runs without faults: what breaks there needs none. */
const calmShare = 0.1;

export function planOf(seed: number): SeedPlan {
  const random = new SeededRandom(`plan ${seed.toString()}`);
  const drawn = random.pick(transactionalWorkloads);
  const workload = workloadOf(drawn, random);
  const isBase = baseWorkloads.includes(workload);
  const begun = isBase ? baseTransactions : { min: transactionsMin, max: transactionsMax };
  const level = random.pick(["serializable", "serializable", "snapshot", "mixed"] as const);
  // Who writes beside BASE transactions has to be.
  const isolation = isBase ? "serializable" : level;
  const tablesOnly = random.fork("tables-only").chance(tablesOnlyShare);
  const hotLog = tablesOnly && random.fork("hot log").chance(hotLogShare);
  const commit = tablesOnly ? "express" : commitOf(workload, random.fork("commit"));
  const mayVisit = commit === "express" && workload !== "convoys" && !hotLog;
  const visits = mayVisit && random.fork("visits").chance(visitsShare);
  const closings = hotLog || visits ? 0 : closingsOf(commit, random.fork("closings"));
  const isCrowded = hotLog || visits;
  const shards = shardsOf(random.fork("shards"), { closings, isCrowded });
  const splits = splitsOf(random.fork("splits"), { closings, isCrowded });
  const joins = joinsOf(random.fork("joins"), { shards, splits });
  const mixed = mixableWorkloads.includes(workload) && random.fork("mixed").chance(mixedShare);
  const isNativeInShards = nativeWorkloads.includes(workload) && isSharded({ shards, splits });
  const isBusy = mixed || isBase || isNativeInShards;
  const isWithout = tablesOnly || closings > 0;
  const housekeeping = housekeepingOf(isWithout, random.fork("housekeeping"));
  const appendFaults = tablesOnly
    ? appendFaultNames.filter((name) => !needsStream.includes(name))
    : appendFaultNames;
  return {
    seed,
    workload,
    isolation,
    clients: random.integer(clientsMin, isBase ? baseClientsMax : clientsMax),
    lanes: isBase || isNativeInShards ? 1 : lanesOf(workload, random.fork("lanes")),
    transactions: random.integer(begun.min, begun.max),
    pauseMs: random.logarithmic(1, 100) * (housekeeping === "clients" ? keepersSlowness : 1),
    keys: random.integer(4, 12),
    history: random.chance(0.5),
    oracleConsumer: random.chance(0.8) ? "fan-out" : "standard",
    functionTimeLimitMs: timeLimitOf(random),
    ...oracleOf(random.fork("oracle")),
    hurried: hurriedOf(random, tablesOnly),
    hashBits: hashBitsOf(random.fork("hashes"), isBusy),
    commit,
    hotLog,
    visits,
    closings,
    tablesOnly,
    shards,
    splits,
    joins,
    housekeeping,
    mixed,
    ...nativesOf(random.fork("natives"), isNativeInShards),
    // A stream that is taken away takes payloads with it.
    feeds: closings === 0 && random.fork("feeds").chance(isBase ? baseFeedsShare : feedsShare),
    consumers: random.fork("feed consumers").chance(consumersShare),
    faults: random.chance(calmShare)
      ? {}
      : {
          ...faultsOf(random, generalFaultNames),
          ...(commit === "stream" ? {} : faultsOf(random.fork("append"), appendFaults)),
        },
    ...(hotLog ? crowdOf(random.fork("crowd")) : {}),
    ...(commit === "auto" ? manyOf(random.fork("many")) : {}),
    ...(closings > 0 ? lastingOf(random.fork("lasting")) : {}),
  };
}

/** Of which it depends whether there may be several shards. */
type Shardable = { readonly closings: number; readonly isCrowded: boolean };

/** Moves of the stream and judges of one crowded log are of one shard. */
function mayBeSeveral({ closings, isCrowded }: Shardable): boolean {
  return closings === 0 && !isCrowded;
}

function shardsOf(random: SeededRandom, of: Shardable): number {
  const hasSeveral = mayBeSeveral(of) && random.chance(shardsShare);
  return hasSeveral ? random.integer(shardsMin, shardsMax) : 1;
}

function splitsOf(random: SeededRandom, of: Shardable): number {
  const hasSome = mayBeSeveral(of) && random.chance(splitsShare);
  return hasSome ? random.integer(1, splitsMax) : 0;
}

function joinsOf(random: SeededRandom, of: Pick<SeedPlan, "shards" | "splits">): number {
  return isSharded(of) && random.chance(joinsShare) ? random.integer(1, joinsMax) : 0;
}

/** Whether there are several shards, or come to be. */
export function isSharded({ shards, splits }: Pick<SeedPlan, "shards" | "splits">): boolean {
  return shards > 1 || splits > 0;
}

function workloadOf(drawn: WorkloadName, random: SeededRandom): WorkloadName {
  const base = random.fork("BASE transactions");
  if (base.chance(baseWorkloadShare)) return base.pick(baseWorkloads);
  const native = random.fork("workload beside natives");
  if (native.chance(nativeWorkloadShare)) return native.pick(nativeWorkloads);
  return random.fork("convoy").chance(convoyShare) ? "convoys" : drawn;
}

/** Over several shards a transaction is under way for longer: fewer of them come between. */
function nativesOf(
  random: SeededRandom,
  isSharded: boolean,
): Pick<SeedPlan, "natives" | "nativeShare"> {
  const natives = random.integer(1, nativesMax);
  const share = random.logarithmic(nativeShareMin, nativeShareMax);
  return isSharded
    ? { natives: 1, nativeShare: Math.min(share, nativeShareInShardsMax) }
    : { natives, nativeShare: share };
}

function timeLimitOf(random: SeededRandom): number {
  return random.logarithmic(timeLimits.value.min, timeLimits.value.max);
}

/** One in two has a log that is long for its oracle, and little time to read it. */
function oracleOf(
  random: SeededRandom,
): Pick<SeedPlan, "oracleTimeLimitMs" | "rebuildBlocksMax" | "rebuildPageBlocksMax"> {
  if (random.chance(0.5)) {
    return {
      oracleTimeLimitMs: timeLimitOf(random),
      rebuildBlocksMax: limits.rebuildBlocksMax,
      rebuildPageBlocksMax: limits.rebuildPageBlocksMax,
    };
  }
  return {
    oracleTimeLimitMs: limits.oracleReserveMs + random.logarithmic(150, 5_000),
    rebuildBlocksMax: Math.round(random.logarithmic(2, 200)),
    rebuildPageBlocksMax: random.integer(1, 4),
  };
}

function commitOf(workload: WorkloadName, random: SeededRandom): SeedPlan["commit"] {
  const share = workload === "convoys" ? convoyExpressShare : expressShare;
  if (!random.chance(share)) return "stream";
  return random.pick(["express", "auto", "mixed"] as const);
}

/**
 * Which way the commits of the run's nth client go. Among any three that start one after another
 * there is one of each kind, and who is first differs from seed to seed.
 */
export function clientCommitOf(
  { seed, commit }: Pick<SeedPlan, "seed" | "commit">,
  nth: number,
): CommitPreference {
  if (commit !== "mixed") return commit;
  return ways[(seed + nth) % ways.length] ?? "stream";
}

function closingsOf(commit: SeedPlan["commit"], random: SeededRandom): number {
  const share = commit === "stream" ? closingsShareOfStream : closingsShare;
  return random.chance(share) ? random.integer(1, closingsMax) : 0;
}

/** For operators, who have to wait for others now and then. */
function lastingOf(random: SeededRandom): Pick<SeedPlan, "pauseMs"> {
  return { pauseMs: random.logarithmic(closingsPauseMs.min, closingsPauseMs.max) };
}

/** @param isWithout there is no stream, or none for a while. */
function housekeepingOf(isWithout: boolean, random: SeededRandom): SeedPlan["housekeeping"] {
  if (isWithout) return random.pick(houses);
  return random.chance(needlessKeepersShare) ? "both" : "functions";
}

/** Without a stream all hurry: open outcomes are settled by blocks there, which is rare. */
function hurriedOf(random: SeededRandom, tablesOnly: boolean): number {
  const hurried = random.chance(0.3) ? random.between(0.05, 0.3) : 0;
  return tablesOnly ? random.fork("hurried").between(0.2, 0.4) : hurried;
}

/** Many accounts: the next position of the log is all that the clients want at once. */
function crowdOf(
  random: SeededRandom,
): Pick<SeedPlan, "workload" | "clients" | "keys" | "pauseMs" | "hurried"> {
  const clients = random.integer(crowdClientsMin, crowdClientsMax);
  return { workload: "bank", clients, keys: crowdKeys, pauseMs: 1, hurried: 0 };
}

/** Of those that choose their way, in one seed of two more than the log serves express. */
function manyOf(random: SeededRandom): Partial<Pick<SeedPlan, "clients" | "pauseMs">> {
  if (random.chance(0.5)) return {};
  return {
    clients: limits.expressMakersMax + random.integer(1, 3),
    pauseMs: random.logarithmic(1, 10),
  };
}

function lanesOf(workload: WorkloadName, random: SeededRandom): number {
  if (workload === "convoys") return random.integer(convoyLanesMin, convoyLanesMax);
  return random.chance(lanesChance) ? random.integer(2, lanesMax) : 1;
}

function hashBitsOf(random: SeededRandom, isBusy: boolean): number {
  if (!random.chance(narrowShare)) return hashBitsMax;
  // What is prepared bars whoever shares a hash with it, and a step writes its locks besides:
  // narrower, too little commits.
  return random.integer(isBusy ? mixedBitsMin : narrowBitsMin, narrowBitsMax);
}

function faultsOf(random: SeededRandom, names: readonly FaultName[]): FaultPlan {
  // How many are on at once differs from seed to seed, from a few to nearly all.
  const share = random.between(0.1, 0.8);
  const plan: { [Name in FaultName]?: number } = {};
  for (const name of names) {
    const [min, max] = strengths[name];
    const strength = random.logarithmic(min, max);
    if (random.chance(share)) plan[name] = strength;
  }
  return plan;
}
