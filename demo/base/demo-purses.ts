/** The demo's purses from their filling to their audit; without `--base` there are none. */
import { setTimeout as sleep } from "node:timers/promises";
import { paginateScan } from "@aws-sdk/client-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import type { z } from "zod";
import { type BaseStatus, type Client, type Snapshot, TransactionError } from "../../sdk/index.ts";
import { discover, type StackDescription } from "../../sdk/discovery.ts";
import { registerTables } from "../../sdk/tables.ts";
import type { DemoHistory } from "../history.ts";
import type { DemoOptions } from "../options.ts";
import { makeTable, plainClient } from "../plain-dynamodb.ts";
import type { ProcessLogs } from "../process-logs.ts";
import { mapConcurrently } from "../settle.ts";
import { type BaseEntry, baseEntries, type JournaledPayment, paymentsIn } from "./base-journal.ts";
import { BaseFleet } from "./base-fleet.ts";
import { type KillCounts, missedPoints } from "./kill-points.ts";
import {
  entries,
  entrySchema,
  openingCents,
  paymentInSteps,
  purses,
  purseSchema,
  pursesOf,
} from "./payments.ts";
import { auditPurses, type PaymentState, type PurseRows } from "./purse-audit.ts";

export type PursesReport = {
  /** Payments in steps that were accepted: those given, and those given back. */
  readonly given: number;
  readonly givenBack: number;
  /** Of these the ones that a runner went on with. */
  readonly takenOver: number;
  /** Made at once, as ACID transactions. */
  readonly atOnce: number;
  /** Tries of either kind that found too little, or no room. */
  readonly refused: number;
  /** While all ran: those that found everything in order, and those given up. */
  readonly audits: { readonly acid: number; readonly snapshot: number; readonly givenUp: number };
  /** By role and point, where processes were killed. */
  readonly kills: KillCounts;
};

type Surroundings = {
  readonly options: DemoOptions;
  readonly db: Client;
  readonly endpoint: string;
  readonly folder: string;
  readonly runId: string;
  readonly history: DemoHistory | undefined;
  readonly logs: ProcessLogs;
  readonly scripts: { readonly base: string };
};

/** Longest that what is accepted may take to end when nothing disturbs it any more. */
const endMsMax = 120_000;
const lookEveryMs = 100;

export class DemoPurses {
  readonly #surroundings: Surroundings;
  readonly #fleet: BaseFleet | undefined;

  private constructor(surroundings: Surroundings, fleet: BaseFleet | undefined) {
    this.#surroundings = surroundings;
    this.#fleet = fleet;
  }

  static async open(surroundings: Surroundings): Promise<DemoPurses> {
    const { options, endpoint, folder, runId, history, logs, scripts } = surroundings;
    if (!options.base) return new DemoPurses(surroundings, undefined);
    await fillPurses(surroundings);
    const { seed, commit } = options;
    const settings = { endpoint, folder, runId, seed, commit, history };
    const fleet = new BaseFleet(settings, { script: scripts.base, logs });
    if (options.chaos) fleet.startKilling(options.seconds);
    return new DemoPurses(surroundings, fleet);
  }

  /**
   * Lets all kills strike, and all that is accepted end.
   * @returns what is wrong so far, and kills that could not strike, one line each.
   */
  async close(): Promise<{
    readonly found: readonly string[];
    readonly missed: readonly string[];
  }> {
    const fleet = this.#fleet;
    if (fleet === undefined) return { found: [], missed: [] };
    await fleet.endKilling();
    await fleet.stop("teller");
    const left = await this.#untilEnded();
    await fleet.stop("runner");
    const missed = this.#surroundings.options.chaos ? missedPoints(fleet.kills) : [];
    return { found: [...fleet.deaths, ...left], missed };
  }

  /** When all is installed. */
  async audit(stack: StackDescription): Promise<{
    readonly report: PursesReport | undefined;
    readonly faults: readonly string[];
  }> {
    if (this.#fleet === undefined) return { report: undefined, faults: [] };
    const { db, folder, runId } = this.#surroundings;
    const written = baseEntries(folder);
    const payments = paymentsIn(written);
    // Before the SDK reads anything: its reads would install what replay has overlooked.
    const stored = await storedRows(stack, runId);
    const begun = await statesOf(db, payments);
    const seen = await db.snapshot((snapshot) => seenRows(snapshot, runId));
    const told = written.flatMap((entry) => (entry.kind === "fault" ? [entry.text] : []));
    const faults = [...told, ...auditPurses({ payments, begun, stored, seen })];
    return { report: reportOf(written, { payments, begun, kills: this.#fleet.kills }), faults };
  }

  async #untilEnded(): Promise<readonly string[]> {
    const { db, runId } = this.#surroundings;
    const endMs = Date.now() + endMsMax;
    for (;;) {
      const open = await db.openBases().catch((error: unknown): readonly BaseStatus[] => {
        if (error instanceof TransactionError && error.retryable) return [];
        throw error;
      });
      const ours = open.filter(({ id }) => id.startsWith(runId));
      if (ours.length === 0) return [];
      if (Date.now() > endMs) {
        return ours.map(({ id, phase, steps }) => {
          return `payments: ${id} does not end; it is at "${phase}" after ${steps} steps`;
        });
      }
      await sleep(lookEveryMs);
    }
  }
}

async function fillPurses({ db, endpoint, runId }: Surroundings): Promise<void> {
  const stack = await discover(endpoint);
  for (const { name, keyNames = [] } of [purses, entries])
    await makeTable(stack, { name, keyNames });
  // With history: then who only reads waits for no payment that is under way.
  const tables = [purses, entries].map(({ name }) => ({ name, base: true, history: true }));
  await registerTables({ endpoint }, tables);
  await db.transact((tx) => {
    for (const id of pursesOf(runId)) tx.put(purses, { id, cents: openingCents });
    return Promise.resolve();
  });
}

async function statesOf(
  db: Client,
  payments: readonly JournaledPayment[],
): Promise<ReadonlyMap<string, PaymentState>> {
  const definition = paymentInSteps(() => undefined);
  const inSteps = payments.filter(({ way }) => way === "steps");
  const states = await mapConcurrently(inSteps, async ({ id }) => {
    const payment = db.baseOf(definition, id);
    const status = await payment.status();
    if (status === undefined) return [];
    const { phase, isReleased } = status;
    const end = phase === "ended" ? await payment.result() : undefined;
    return [[id, { phase, isReleased, end }] as const];
  });
  return new Map(states.flat());
}

async function seenRows(snapshot: Snapshot, runId: string): Promise<PurseRows> {
  return {
    purses: await snapshot.scan(purses, { filter: ({ id }) => id.startsWith(runId) }).all(),
    entries: await snapshot
      .scan(entries, { filter: ({ payment }) => payment.startsWith(runId) })
      .all(),
  };
}

async function storedRows(stack: StackDescription, runId: string): Promise<PurseRows> {
  const client = plainClient(stack);
  const rowsOf = async <Row>(TableName: string, schema: z.ZodType<Row>): Promise<Row[]> => {
    const rows: Row[] = [];
    for await (const { Items = [] } of paginateScan(
      { client },
      { TableName, ConsistentRead: true },
    ))
      for (const item of Items) {
        const row = unmarshall(item);
        if (row["_x"] !== true) rows.push(schema.parse(row));
      }
    return rows;
  };
  try {
    const allPurses = await rowsOf(purses.name, purseSchema);
    const allEntries = await rowsOf(entries.name, entrySchema);
    return {
      purses: allPurses.filter(({ id }) => id.startsWith(runId)),
      entries: allEntries.filter(({ payment }) => payment.startsWith(runId)),
    };
  } finally {
    client.destroy();
  }
}

function reportOf(
  written: readonly BaseEntry[],
  {
    payments,
    begun,
    kills,
  }: {
    readonly payments: readonly JournaledPayment[];
    readonly begun: ReadonlyMap<string, PaymentState>;
    readonly kills: KillCounts;
  },
): PursesReport {
  const ends = Array.from(begun.values(), ({ end }) => end);
  const takenOver = written.flatMap((entry) => (entry.kind === "taken-over" ? [entry.id] : []));
  const count = (holds: (entry: BaseEntry) => boolean): number => written.filter(holds).length;
  const audited = (by: "acid" | "snapshot"): number =>
    count((entry) => entry.kind === "audited" && entry.by === by);
  return {
    given: ends.filter((end) => end === "given").length,
    givenBack: ends.filter((end) => end === "given-back").length,
    takenOver: new Set(takenOver.filter((id) => begun.has(id))).size,
    atOnce: payments.filter(({ way, end }) => way === "once" && end !== undefined).length,
    refused: count(({ kind }) => kind === "refused"),
    audits: {
      acid: audited("acid"),
      snapshot: audited("snapshot"),
      givenUp: count(({ kind }) => kind === "audit-given-up"),
    },
    kills,
  };
}
