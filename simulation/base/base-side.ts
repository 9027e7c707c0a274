/** What a run has besides where its clients begin BASE transactions: runners, an end, judges. */
import { deploymentNames } from "../../aws/names.ts";
import { baseRecordsKeys, baseRecordsTable } from "../../core/base-tables.ts";
import type { LogBlock } from "../../core/types.ts";
import type { Client } from "../../sdk/index.ts";
import type { LoggedVersions } from "../../testing/history/chained-versions.ts";
import { historyKey } from "../../testing/history/key-text.ts";
import type { HistoryTransaction } from "../../testing/history/types.ts";
import type { TestTable } from "../../testing/deployment-options.ts";
import type { LoggedWrite } from "../judges/logged-writes.ts";
import type { HiddenSpan } from "../judges/past-reads.ts";
import * as bounds from "../run-bounds.ts";
import { basesOf, unfinishedBases, withBaseTimes, type LoggedBases } from "./base-log.ts";
import { ReservationJudge } from "./reservation-judge.ts";
import { RunnerFleet, type RunnerParts } from "./runner-fleet.ts";

const findingsMax = 10;

export class BaseSide {
  readonly findings: string[] = [];
  /** In which the deployment records BASE transactions: transactions alone write it. */
  readonly tables: readonly TestTable[];
  /** By key: when readers are shown what stood there before. */
  readonly hidden = new Map<string, HiddenSpan[]>();
  readonly #reservations = new ReservationJudge();
  readonly #runners: RunnerFleet;
  readonly #until: (isDone: () => boolean, limitMs: number) => Promise<boolean>;
  readonly #recordsTable: string;
  #logged: LoggedBases = new Map();

  constructor({
    until,
    ...parts
  }: RunnerParts & {
    /** Waits, in virtual time; whether it is done then. */
    readonly until: (isDone: () => boolean, limitMs: number) => Promise<boolean>;
  }) {
    const { deployment } = parts.cloud.deployment.options;
    this.#recordsTable = baseRecordsTable(deploymentNames(deployment).controlTable);
    this.tables = [{ name: this.#recordsTable, ...baseRecordsKeys, history: true }];
    this.#until = until;
    this.#runners = new RunnerFleet(parts);
  }

  start(): void {
    this.#runners.start();
  }

  /** Told of every block that is put. */
  stands(block: LogBlock, nowMs: number): void {
    this.#reservations.stands(block, nowMs);
  }

  /** When clients are through and all is calm: what was accepted ends, and runners stop. */
  async end(watcher: Client): Promise<void> {
    const left = await this.#runners.untilReleased(watcher, bounds.workLimitMs);
    for (const each of left.slice(0, findingsMax)) {
      this.findings.push(`liveness: BASE transaction ${each}`);
    }
    this.#runners.stop();
    if (!(await this.#until(() => this.#runners.isIdle, bounds.workLimitMs))) {
      this.findings.push("liveness: a runner has not come to an end");
    }
    this.findings.push(...this.#runners.findings);
  }

  /** When all is over: what the log says of them. */
  read(writes: readonly LoggedWrite[]): void {
    this.#logged = basesOf(writes, this.#recordsTable);
    this.findings.push(...unfinishedBases(this.#logged).slice(0, findingsMax));
    this.#reservations.read(writes.filter(({ table }) => table.name === this.#recordsTable));
    this.findings.push(...this.#reservations.findings.slice(0, findingsMax));
    const spans = new Map<number, HiddenSpan>();
    for (const { steps, releasedAt } of this.#logged.values()) {
      const until = releasedAt[0] ?? Number.POSITIVE_INFINITY;
      for (const from of [...steps.values()].flat()) spans.set(from, { from, until });
    }
    for (const { table, key, timestamp } of writes) {
      const span = spans.get(timestamp);
      if (span === undefined || table.name === this.#recordsTable) continue;
      const name = historyKey(table, key);
      this.hidden.set(name, [...(this.hidden.get(name) ?? []), span]);
    }
  }

  /** What it says; nothing before it was read. */
  get logged(): LoggedBases {
    return this.#logged;
  }

  /** With the timestamps that only the log tells. */
  timed(
    transactions: readonly HistoryTransaction[],
    versions: readonly LoggedVersions[],
  ): readonly HistoryTransaction[] {
    return withBaseTimes(transactions, this.#logged, versions);
  }
}
