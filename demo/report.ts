/** The demo's report: the shape of `--json`, and the same as text. */
import type { DoneKill } from "./chaos.ts";
import {
  phaseNames,
  type Measurements,
  type OperationCounts,
  type Percentiles,
  type PhaseName,
} from "./measurements.ts";
import type { Counters } from "./messages.ts";
import type { ShopReport } from "./native/demo-shop.ts";
import type { PursesReport } from "./base/demo-purses.ts";
import type { DemoOptions } from "./options.ts";
import type { ShardChanges } from "./shard-changes.ts";

/** What `--json` prints, on one line. Times are milliseconds. */
export type DemoReport = {
  /** False if there is any fault: then the exit code is 1. */
  readonly ok: boolean;
  readonly options: DemoOptions;
  readonly seconds: number;
  /**
   * Commits that a client saw acknowledged, refusals included: they are committed under their key.
   */
  readonly commits: number;
  readonly commitsPerSecond: number;
  readonly operations: Readonly<Record<string, OperationCounts>>;
  readonly conflicts: number;
  readonly retries: number;
  readonly counters: Counters;
  /**
   * Of commits, from the call to its answer; the phases are those of the attempt that committed.
   */
  readonly latencyMs: Readonly<Record<PhaseName, Percentiles>>;
  /** Of the read-only sales reports. */
  readonly reportLatencyMs: Percentiles;
  readonly kills: readonly DoneKill[];
  /** How many kills of each planned kind struck; empty without --chaos. */
  readonly killed: Readonly<Record<string, number>>;
  /**
   * Planned kinds that never struck, a line each: no fault, but nothing was proved about them.
   */
  readonly missed: readonly string[];
  /** Splits and joins of shards in the middle, with --shards and --chaos. */
  readonly shardChanges: ShardChanges | undefined;
  /** If there was a fault: the last that each process has said, those that were silent left out. */
  readonly lastLines: Readonly<Record<string, readonly string[]>> | undefined;
  /** Of the shop, with --native. */
  readonly native: ShopReport | undefined;
  /** Of the purses, with --base. */
  readonly base: PursesReport | undefined;
  readonly audit: {
    readonly faults: readonly string[];
    /** Operations journaled, and those acknowledged as done that were looked up in the tables. */
    readonly operations: number;
    readonly acknowledged: number;
    /** Operations left open by kills and unknown outcomes, by what they turned out to be. */
    readonly settled: { readonly committed: number; readonly aborted: number };
    /** Commits whose client died before their first install: each stands, or is a fault. */
    readonly orphaned: number;
    readonly outcomesSampled: number;
    /** Snapshots taken while transfers were running, whose sum was right; and those given up. */
    readonly liveSnapshots: { readonly balanced: number; readonly givenUp: number };
    /** Where the journals were left, if there was a fault. */
    readonly journals: string | undefined;
  };
};

export function measured(
  measurements: Measurements,
  seconds: number,
): Omit<
  DemoReport,
  | "ok"
  | "options"
  | "kills"
  | "killed"
  | "missed"
  | "shardChanges"
  | "lastLines"
  | "native"
  | "base"
  | "audit"
> {
  const { commits, operations, conflicts, retries, counters } = measurements;
  return {
    seconds: round(seconds),
    commits,
    commitsPerSecond: round(commits / seconds),
    operations,
    conflicts,
    retries,
    counters,
    latencyMs: measurements.latencyMs(),
    reportLatencyMs: measurements.reportLatencyMs(),
  };
}

export function killText({ atMs, kind, target, pid, afterSendingMs }: DoneKill): string {
  const sent =
    afterSendingMs === undefined ? "" : `, ${afterSendingMs} ms after a commit request left`;
  const moment = kind === "client-at-decision" ? ", between decision and install" : sent;
  return `${(atMs / 1_000).toFixed(2).padStart(7)} s  kill -9 ${target} (process ${pid})${moment}`;
}

export function reportText(report: DemoReport): string {
  const { operations, counters, audit, kills } = report;
  const counted = Object.entries(operations).map(([kind, { done, refused }]) => {
    return `${plural(done, kind)}${refused === 0 ? "" : ` (${refused} refused)`}`;
  });
  const lines = [
    "",
    `  ${report.commits} commits in ${report.seconds} s: ${report.commitsPerSecond} per second`,
    `  ${counted.join(", ")}`,
    `  ${plural(report.conflicts, "conflict")} (${counters.earlyConflicts} found by the client ` +
      "itself), " +
      `${plural(report.retries, "retry")}, ${plural(counters.resends, "resend")}`,
    `  ${plural(counters.unknowns, "unknown outcome")}, ` +
      `${plural(counters.abortedOperations, "operation")} given up, ` +
      `${plural(counters.helped, "commit")} installed for others`,
    "",
    "  milliseconds       p50      p90      p99    p99.9      max",
    ...phaseNames.map((phase) => latencyLine(phase, report.latencyMs[phase])),
    latencyLine("report", report.reportLatencyMs),
    "",
    ...(kills.length === 0 ? [] : [killedLine(report), ""]),
    ...report.missed.map((line) => `  Chaos: ${line}`),
    ...nativeLines(report.native),
    ...baseLines(report.base),
    ...auditLines(audit),
    "",
  ];
  return lines.join("\n");
}

const kindNames: Readonly<Record<string, string>> = {
  client: "client before an answer",
  "client-at-decision": "client between decision and install",
};

function killedLine({ kills, killed }: DemoReport): string {
  const counts = Object.entries(killed).map(
    ([kind, count]) => `${kindNames[kind] ?? kind} ${count}`,
  );
  return `  ${plural(kills.length, "process")} killed: ${counts.join(", ")}`;
}

function nativeLines(native: DemoReport["native"]): string[] {
  if (native === undefined) return [];
  const { sold, unheard, refused, restocks, kills } = native;
  return [
    `  Beside them, on a mixed table: ${sold} units sold by plain updates (${unheard} more whose ` +
      `answer nobody heard, ${plural(refused, "refusal")}),`,
    `  ${plural(restocks, "restock")} by transactions` +
      (kills === 0 ? "" : `, ${plural(kills, "native program")} killed`),
  ];
}

function baseLines(base: DemoReport["base"]): string[] {
  if (base === undefined) return [];
  const { given, givenBack, takenOver, atOnce, refused, audits, kills } = base;
  const killed = Object.entries(kills).filter(([, count]) => count > 0);
  const sum = killed.reduce((all, [, count]) => all + count, 0);
  return [
    `  BASE transactions: ${plural(given + givenBack, "payment")} in steps, ${givenBack} of them ` +
      `given back, ${takenOver} gone on with by a runner;`,
    `  beside them ${plural(atOnce, "payment")} at once, ${plural(refused, "refusal")}; ` +
      `${plural(audits.acid, "ACID audit")} and ${plural(audits.snapshot, "snapshot")} in order` +
      (audits.givenUp === 0 ? "" : `, ${audits.givenUp} given up`),
    ...(sum === 0
      ? []
      : [
          `  ${plural(sum, "process")} of theirs killed, at or behind: ` +
            killed.map(([name, count]) => `${name} ${count}`).join(", "),
        ]),
  ];
}

function auditLines(audit: DemoReport["audit"]): string[] {
  const { settled, liveSnapshots } = audit;
  const lines = [
    `  Audit of ${plural(audit.operations, "operation")}, ${audit.acknowledged} of them ` +
      "acknowledged as done",
    `  ${settled.committed + settled.aborted} left open by their clients: ${settled.committed} ` +
      "had committed, " +
      `${settled.aborted} had not; ${audit.outcomesSampled} known outcomes asked for again`,
    ...(audit.orphaned === 0
      ? []
      : [`  ${plural(audit.orphaned, "commit")} left by a client that died before its installs`]),
    `  ${plural(liveSnapshots.balanced, "snapshot")} balanced while money was moving` +
      (liveSnapshots.givenUp === 0 ? "" : `, ${liveSnapshots.givenUp} given up`),
  ];
  if (audit.faults.length === 0) {
    return [
      ...lines,
      "  All is well: money conserved, nobody overdrawn, ledger and balances agree, no seat " +
        "sold twice,",
      "  every order with its payment and its seats, nothing acknowledged missing.",
    ];
  }
  const shown = audit.faults.slice(0, faultsShownMax).map((fault) => `    ${fault}`);
  const more = audit.faults.length - shown.length;
  return [
    ...lines,
    `  ${plural(audit.faults.length, "FAULT")}:`,
    ...shown,
    ...(more === 0 ? [] : [`    and ${more} more (--json lists all)`]),
    `  The clients' journals are in ${audit.journals ?? "no folder"}`,
  ];
}

const faultsShownMax = 40;

function latencyLine(name: string, { p50, p90, p99, p999, max }: Percentiles): string {
  const figures = [p50, p90, p99, p999, max].map((ms) => ms.toFixed(1).padStart(9));
  return `  ${name.padEnd(13)}${figures.join("")}`;
}

function plural(count: number, noun: string): string {
  if (count === 1) return `1 ${noun}`;
  if (noun.endsWith("y")) return `${count} ${noun.slice(0, -1)}ies`;
  return `${count} ${noun}${noun.endsWith("s") ? "es" : "s"}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
