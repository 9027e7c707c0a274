/** The projection as tables: on the console, and as they stand in docs/performance.md. */
import type { Percentiles } from "./latency-samples.ts";
import type { ProjectionResult } from "./result.ts";

function line(cells: readonly (string | number)[]): string {
  return `| ${cells.join(" | ")} |`;
}

function table(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): readonly string[] {
  return [line(head), line(head.map(() => "---")), ...rows.map(line)];
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function ms({ p50, p90, p99, p999 }: Percentiles): readonly string[] {
  return [p50, p90, p99, p999].map(whole);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

const percentileHeads = ["p50", "p90", "p99", "p99.9"];

/** Markdown. */
export function projectionTables(result: ProjectionResult): string {
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ["Commit latency, ms", latencyTable(result)],
    ["Clients of the stream beside others", besideTable(result)],
    ["One shard", throughputTable(result.shardThroughput)],
    ["Processes", throughputTable(result.processes)],
    ["Contention", contentionTable(result)],
    ["Mixed tables", mixedTable(result)],
    ["Hot row", hotRowTable(result)],
    ["Cost", costTable(result)],
    ["Counts per transaction", countsTable(result)],
  ];
  return sections.map(([title, lines]) => `### ${title}\n\n${lines.join("\n")}\n`).join("\n");
}

function latencyTable({ commitLatency, transactWriteItems }: ProjectionResult): readonly string[] {
  return table(
    [
      ...["commit", "consumer", "tx/s", "processes", ...percentileHeads],
      ...["p50: body", "certify", "install", "commits", "express"],
    ],
    [
      ...commitLatency.map((row) => [
        ...[row.commit, row.consumer],
        ...[whole(row.perSecond), whole(row.processes)],
        ...ms(row.latency),
        ...[row.phases.body, row.phases.certify, row.phases.install].map(({ p50 }) => whole(p50)),
        ...[whole(row.samples), percent(row.expressShare)],
      ]),
      ["TransactWriteItems", "", "", "", ...ms(transactWriteItems), ...["", "", "", "", ""]],
    ],
  );
}

function mixedTable({ mixed }: ProjectionResult): readonly string[] {
  return table(
    [
      "commit",
      "table",
      "only read",
      ...percentileHeads,
      "p50: body",
      "certify",
      "install",
      "commits",
    ],
    mixed.map((row) => [
      ...[row.commit, row.access, whole(row.onlyRead), ...ms(row.latency)],
      ...[row.phases.body, row.phases.certify, row.phases.install].map(({ p50 }) => whole(p50)),
      whole(row.samples),
    ]),
  );
}

function besideTable({ beside }: ProjectionResult): readonly string[] {
  return table(
    [
      ...["consumer", "tx/s by the stream", "others commit", "processes", "tx/s of others"],
      ...["express", ...percentileHeads, "commits"],
    ],
    beside.map((row) => [
      ...[row.consumer, whole(row.perSecond), row.loud.commit, row.loud.processes],
      ...[whole(row.besidePerSecond), percent(row.besideExpressShare), ...ms(row.latency)],
      whole(row.samples),
    ]),
  );
}

function throughputTable(rows: ProjectionResult["shardThroughput"]): readonly string[] {
  return table(
    [
      ...["commit", "consumer", "item bytes", "processes", "clients", "tx/s", "p50", "p99"],
      ...[
        "express",
        "records/s",
        "KiB/s in",
        "log WCU/s",
        "log RCU/s",
        "refused/s",
        "watermark lag, s",
      ],
    ],
    rows.map((row) => [
      ...[row.commit, row.consumer],
      row.itemBytes,
      row.processes,
      row.clients === 0 ? "open" : whole(row.clients),
      whole(row.committedPerSecond),
      whole(row.latency.p50),
      whole(row.latency.p99),
      ...[percent(row.expressShare), whole(row.recordsPerSecond)],
      whole(row.recordBytesPerSecond / 1_024),
      whole(row.logWriteUnitsPerSecond),
      whole(row.logReadUnitsPerSecond),
      whole(row.throttledPerSecond),
      (row.watermarkLagMs / 1_000).toFixed(1),
    ]),
  );
}

function contentionTable({ contention }: ProjectionResult): readonly string[] {
  return table(
    [
      ...["commit", "consumer", "keys", "tx/s", "express", "attempts in conflict"],
      ...["found without the oracle", "p50", "p99"],
    ],
    contention.map((row) => [
      ...[row.commit, row.consumer],
      whole(row.keys),
      ...[whole(row.committedPerSecond), percent(row.expressShare)],
      percent(row.conflictShare),
      percent(row.earlyShare),
      whole(row.latency.p50),
      whole(row.latency.p99),
    ]),
  );
}

function hotRowTable({ hotRow }: ProjectionResult): readonly string[] {
  return table(
    [
      ...["commit", "consumer", "processes", "clients in each", "increments/s", "× Aurora DSQL"],
      ...["express", "puts per block", "attempts per commit", "p50", "p99"],
    ],
    hotRow.map((row) => [
      ...[row.commit, row.consumer],
      row.processes,
      row.clientsPerProcess,
      row.committedPerSecond.toFixed(1),
      row.timesAuroraDsql.toFixed(2),
      ...[percent(row.expressShare), row.putsPerBlock.toFixed(2)],
      row.attemptsPerCommit.toFixed(1),
      whole(row.latency.p50),
      whole(row.latency.p99),
    ]),
  );
}

function costTable({ cost }: ProjectionResult): readonly string[] {
  return table(
    [
      ...[
        "commit",
        "items",
        "tx/s",
        "consumer",
        "shards",
        "writes",
        "reads",
        "put units",
        "shard hours",
      ],
      ...["retention", "fan-out", "functions", "total", "plain calls", "TransactWriteItems", "×"],
      "× of units alone",
    ],
    cost.map(({ monthly, ...row }) => [
      row.commit,
      row.itemsPerTransaction,
      whole(row.perSecond),
      row.consumer,
      row.shards,
      ...[monthly.writes, monthly.reads, monthly.putUnits, monthly.shards].map(dollars),
      ...[monthly.retention, monthly.fanOut, monthly.functions, row.monthlyTotal].map(dollars),
      ...[row.plainMonthly, row.transactWriteItemsMonthly].map(dollars),
      ...[row.timesTransactWriteItems, row.timesOfUnits].map((times) => times.toFixed(2)),
    ]),
  );
}

function dollars(value: number): string {
  return value < 100 ? value.toFixed(2) : whole(value);
}

function countsTable({ cost }: ProjectionResult): readonly string[] {
  return table(
    [
      ...[
        "commit",
        "items",
        "tx/s",
        "consumer",
        "W install",
        "W blocks",
        "W oracle",
        "W replay",
        "R reads",
        "R tail",
      ],
      ...["R replay", "put units", "record bytes", "oracle calls", "oracle GB-s"],
      ...["replay calls", "replay GB-s"],
    ],
    cost.map(({ counts, ...row }) => [
      row.commit,
      row.itemsPerTransaction,
      whole(row.perSecond),
      row.consumer,
      ...[counts.writeUnits.install, counts.writeUnits.blocks].map(short),
      ...[counts.writeUnits.oracle, counts.writeUnits.replay].map(short),
      ...[counts.readUnits.reads, counts.readUnits.tail, counts.readUnits.replay].map(short),
      short(counts.putUnits),
      whole(counts.recordBytes),
      ...[counts.oracle.invocations, counts.oracle.gigabyteSeconds].map(short),
      ...[counts.replay.invocations, counts.replay.gigabyteSeconds].map(short),
    ]),
  );
}

function short(value: number): string {
  return value >= 1 ? value.toFixed(2) : value.toPrecision(3);
}
