/** The figures as tables: in the report, and on a terminal as they stand in the documentation. */
import type { TableSpec } from "../report/chart-spec.ts";
import type { ShardsFigures } from "./figures.ts";
import { percent, targetsOf } from "./targets.ts";
import type { WindowFigures } from "./windows.ts";

/** Without those of figures that are not there. */
export function tablesOf(figures: Partial<ShardsFigures>): readonly TableSpec[] {
  return [
    targetsTable(figures),
    workTable(figures),
    throughputTable(figures),
    spuriousTable(figures),
    readOnlyTable(figures),
    outlierTable(figures),
    crossShardTable(figures),
    oneOfManyTable(figures),
    tatpTable(figures),
    contentionTable(figures),
    elasticTable(figures),
    deadOracleTable(figures),
    orphansTable(figures),
  ].filter(({ rows }) => rows.length > 0);
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function targetsTable(figures: Partial<ShardsFigures>): TableSpec {
  return {
    title: "Targets",
    head: ["figure", "paper", "target", "found", ""],
    rows: targetsOf(figures).map((row) => [
      ...[row.figure, row.paper, row.target, row.found, row.verdict],
    ]),
  };
}

function workTable({ work = [] }: Partial<ShardsFigures>): TableSpec {
  return {
    title: "What a transaction costs the oracles",
    head: [
      ...["accesses", "shards", "shards touched", "requests", "processor, µs"],
      ...["rate left of that at 2", "low – high", "committed"],
    ],
    rows: work.map((row) => [
      ...[row.workload, row.shards.toString(), row.parts.toFixed(2), row.requests.toFixed(2)],
      ...[row.micros.toFixed(1), percent(row.rateLeft)],
      `${percent(row.rateLeftLow)} – ${percent(row.rateLeftHigh)}`,
      percent(row.committedShare),
    ]),
  };
}

function throughputTable({ throughput = [] }: Partial<ShardsFigures>): TableSpec {
  return {
    title: "Projected throughput",
    head: [
      ...["transactions", "shards", "tx/s", "tx/s and shard × at one", "p50, ms", "p99, ms"],
      ...["runs in conflict", "KiB/s in of a shard", "records/s", "log RCU/s", "bytes allow, tx/s"],
    ],
    rows: throughput.map((row) => {
      const lone = throughput.find((one) => one.spread === row.spread && one.shards === 1);
      const each = row.committedPerSecond / row.shards;
      return [
        ...[row.spread, row.shards.toString(), whole(row.committedPerSecond)],
        lone === undefined ? "" : (each / lone.committedPerSecond).toFixed(2),
        ...[whole(row.latency.p50), whole(row.latency.p99), percent(row.conflictShare)],
        ...[whole(row.recordBytesPerShard / 1_024), whole(row.recordsPerShard)],
        ...[whole(row.logReadUnitsPerShard), whole(row.ceilingPerSecond)],
      ];
    }),
  };
}

function spuriousTable({ spurious = [] }: Partial<ShardsFigures>): TableSpec {
  return {
    title: "Aborts, and those for nothing",
    head: ["variant", "shards", "watermark every", "runs", "aborted", "for nothing", "share"],
    rows: spurious.map((row) => [
      ...[row.variant, row.shards.toString()],
      row.watermarkEvery === null ? "" : `${whole(row.watermarkEvery)} tx`,
      ...[whole(row.runs), percent(row.aborted / Math.max(1, row.runs), 2)],
      ...[whole(row.spurious), percent(row.spuriousShare, 3)],
    ]),
  };
}

function readOnlyTable({ readOnly = [] }: Partial<ShardsFigures>): TableSpec {
  return {
    title: "Read-only transactions that need no oracle",
    head: [
      ...["share of writes", "transactions", "without an oracle", "runs that ran again"],
      ...["p50, ms", "p99, ms", "writing tx/s"],
    ],
    rows: readOnly.map((row) => [
      ...[percent(row.writeShare, 0), whole(row.transactions), percent(row.withoutOracle, 2)],
      ...[percent(row.runAgain, 2), whole(row.latency.p50), whole(row.latency.p99)],
      whole(row.writesPerSecond),
    ]),
  };
}

function outlierTable({ outlier = [] }: Partial<ShardsFigures>): TableSpec {
  return {
    title: "An install that is stalled every 20 s",
    head: ["stalled, s", "stalls", "commits", "runs in conflict", "p99, ms", "most lag, s"],
    rows: outlier.map((row) => [
      ...[row.stallSeconds.toString(), row.stalls.toString(), whole(row.committed)],
      ...[percent(row.conflictShare, 2), whole(row.p99Ms), row.watermarkLagSecondsMax.toFixed(1)],
    ]),
  };
}

function crossShardTable({ crossShard = [] }: Partial<ShardsFigures>): TableSpec {
  return {
    title: "A commit over two shards, ms",
    head: [
      ...["tables", "commit", "shards touched", "certain: p50", "p99", "installed: p50", "p99"],
      ...["p50: body", "certify", "install", "commits"],
    ],
    rows: crossShard.map(({ access, commit, touched, certain, installed, phases, samples }) => [
      ...[access, commit, touched.toString()],
      ...[certain.p50, certain.p99, installed.p50, installed.p99].map(whole),
      ...[phases.body, phases.certify, phases.install].map(whole),
      whole(samples),
    ]),
  };
}

function oneOfManyTable({ oneOfMany = [] }: Partial<ShardsFigures>): TableSpec {
  return {
    title: "A process that uses one shard, per commit",
    head: ["commit", "shards of the deployment", "log read units", "read units", "calls"],
    rows: oneOfMany.map((row) => [
      ...[row.commit, row.shards.toString(), row.logReadUnits.toFixed(3)],
      ...[row.readUnits.toFixed(2), row.calls.toFixed(2)],
    ]),
  };
}

function tatpTable({ tatp = [] }: Partial<ShardsFigures>): TableSpec {
  return {
    title: "TATP",
    head: [
      ...["local check", "shards", "tx/s", "tx/s and shard × at one", "p50, ms", "p99, ms"],
      ...["runs in conflict", "stream bytes a tx"],
    ],
    rows: tatp.map((row) => {
      const lone = tatp.find((one) => one.localCheck === row.localCheck && one.shards === 1);
      const each = row.endedPerSecond / row.shards;
      return [
        ...[row.localCheck ? "yes" : "no", row.shards.toString(), whole(row.endedPerSecond)],
        lone === undefined ? "" : (each / lone.endedPerSecond).toFixed(2),
        ...[whole(row.latency.p50), whole(row.latency.p99), percent(row.conflictShare, 2)],
        whole(row.recordBytes),
      ];
    }),
  };
}

function contentionTable({ contention = [] }: Partial<ShardsFigures>): TableSpec {
  return {
    title: "Transactions that meet, at one load",
    head: [
      ...["shards", "keys", "tx/s", "p50, ms", "p99, ms"],
      ...["conflicts a commit", "voted down a commit"],
    ],
    rows: contention.map((row) => [
      ...[row.shards.toString(), whole(row.keys), row.committedPerSecond.toFixed(1)],
      ...[whole(row.latency.p50), whole(row.latency.p99)],
      ...[row.conflictsPerCommit.toFixed(2), row.votedDownPerCommit.toFixed(2)],
    ]),
  };
}

function elasticTable({ elastic = [] }: Partial<ShardsFigures>): TableSpec {
  return {
    title: "A shard is split under load: before, from the split on, after",
    head: [
      ...["transactions", "commit", "shards", "split, ms", "p50, ms", "p99, ms", "longest, ms"],
      "runs in vain",
    ],
    rows: elastic.map(({ spread, commit, shards, splitMs, ...row }) => {
      const three = [row.before, row.around, row.after];
      const each = (of: (window: WindowFigures) => string): string => three.map(of).join(" / ");
      return [
        ...[spread, commit, `${shards.toString()} → ${(shards + 1).toString()}`, whole(splitMs)],
        each(({ latency }) => whole(latency.p50)),
        each(({ latency }) => whole(latency.p99)),
        each(({ longestMs }) => whole(longestMs)),
        each(({ runAgainShare }) => percent(runAgainShare, 2)),
      ];
    }),
  };
}

function deadOracleTable({ deadOracle = [] }: Partial<ShardsFigures>): TableSpec {
  return {
    title: "The oracle of one shard is down: before, meanwhile, after",
    head: ["touches", "commit", "commits/s", "p50, ms", "p99, ms", "longest, ms"],
    rows: deadOracle.map(({ touches, commit, before, down, after }) => {
      const three = [before, down, after];
      const each = (of: (window: WindowFigures) => string): string => three.map(of).join(" / ");
      const ms = (of: (window: WindowFigures) => number): string =>
        each((window) => (window.committedPerSecond === 0 ? "–" : whole(of(window))));
      return [
        ...[touches, commit, each(({ committedPerSecond }) => committedPerSecond.toFixed(1))],
        ms(({ latency }) => latency.p50),
        ms(({ latency }) => latency.p99),
        ms(({ longestMs }) => longestMs),
      ];
    }),
  };
}

function orphansTable({ orphans = [] }: Partial<ShardsFigures>): TableSpec {
  return {
    title: "A client dies between the parts of a transaction over two shards, ms",
    head: [
      ...["commit", "who meets it: p50", "p99", "longest", "without one: p50", "p99"],
      ...["nobody meets it, watermark: p50", "p99"],
    ],
    rows: orphans.map(({ commit, met, longestMs, alone, watermarkMs }) => [
      ...[commit, whole(met.p50), whole(met.p99), whole(longestMs)],
      ...[whole(alone.p50), whole(alone.p99), whole(watermarkMs.p50), whole(watermarkMs.p99)],
    ]),
  };
}
