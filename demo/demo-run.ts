/** One run of the demo, from the stack to the report. */
import { type EmbeddedStack, startEmbeddedStack } from "../localstack/embedded-stack.ts";
import { type Client, TransactionError } from "../sdk/index.ts";
import { discover } from "../sdk/discovery.ts";
import { readBank } from "../examples/bank/audit.ts";
import { type Account, accounts, openAccounts } from "../examples/bank/bank.ts";
import { readSales } from "../examples/tickets/audit.ts";
import { openSale } from "../examples/tickets/tickets.ts";
import { auditRun } from "./audit.ts";
import { DemoPurses } from "./base/demo-purses.ts";
import {
  carryOut,
  chaosPatienceMs,
  clientKills,
  countKills,
  type DoneKill,
  missedKills,
  planKills,
} from "./chaos.ts";
import { ClientFleet } from "./client-fleet.ts";
import { type DemoHistory, finishHistory, openClient, startHistory } from "./history.ts";
import { type JournaledOperation, readJournals } from "./journal.ts";
import { Measurements } from "./measurements.ts";
import { DemoShop } from "./native/demo-shop.ts";
import type { DemoOptions } from "./options.ts";
import type { ProcessLogs } from "./process-logs.ts";
import { Progress } from "./progress.ts";
import { type DemoReport, killText, measured } from "./report.ts";
import { SeededRandom } from "./seeded-random.ts";
import { type DecidedOperation, decideOpen, repeatCommitted } from "./settle.ts";
import { changeShards, type ShardChanges } from "./shard-changes.ts";
import type { DemoScripts } from "./snapshot.ts";
import { awaitWatermark, readStoredRows } from "./stored-rows.ts";

const eventCount = 8;
const seatsPerEvent = 60;
const accountsPerTransaction = 250;
const liveSnapshotEveryMs = 1_000;

type World = DemoSurroundings & {
  readonly options: DemoOptions;
  readonly db: Client;
  readonly endpoint: string;
  /** Undefined when it is somebody else's. */
  readonly stack: EmbeddedStack | undefined;
  readonly runId: string;
  readonly history: DemoHistory | undefined;
};

export type DemoSurroundings = {
  /** An empty folder for the clients' journals. */
  readonly folder: string;
  /** Told what is going on, line by line. */
  readonly say: (line: string) => void;
  /** Gathers what the run's processes say. */
  readonly logs: ProcessLogs;
  /** The programs of the run's processes. */
  readonly scripts: DemoScripts;
};

/** @throws StackError, TransactionError when the stack cannot be started, reached or filled. */
export async function runDemo(
  options: DemoOptions,
  surroundings: DemoSurroundings,
): Promise<DemoReport> {
  const stack =
    options.endpoint === undefined
      ? await startEmbeddedStack({
          dataFolder: options.data,
          shards: options.shards,
          log: surroundings.logs.stackLog(),
          scripts: surroundings.scripts.stack,
        })
      : undefined;
  const endpoint = options.endpoint ?? stack?.endpoint ?? "";
  // A client would wait half a minute for it to come up: whoever names a stack has one.
  if (stack === undefined) await discover(endpoint);
  const runId = `demo-${Date.now().toString(36)}`;
  const history = options.history === undefined ? undefined : startHistory(options.history);
  const { db, finish } = openClient({ endpoint, name: "demo", history });
  try {
    return await runOn({ ...surroundings, options, db, endpoint, stack, runId, history });
  } finally {
    await db.close();
    finish();
    if (history !== undefined) {
      await finishHistory(history, { endpoint, say: surroundings.say });
    }
    await stack?.stop();
  }
}

async function runOn(world: World): Promise<DemoReport> {
  const { options, db, endpoint, folder, runId, say, logs } = world;
  const opened = await fill(world);
  const depositedCents = opened.accounts.reduce((sum, { balanceCents }) => sum + balanceCents, 0);
  say(
    `Stack at ${endpoint}: ${opened.accounts.length} accounts, ` +
      `${opened.eventIds.length} events of ${opened.seatIds.length} seats; seed ${options.seed}`,
  );
  const shop = await DemoShop.open(world);
  const purses = await DemoPurses.open(world);
  const measurements = new Measurements();
  const { clients, concurrency } = options;
  const fleet = await startClients(world, opened, measurements);
  say(`${clients} clients with ${concurrency} transactions at a time, for ${options.seconds} s`);
  const { kills, killed, live, seconds, shardChanges } = await underLoad(world, {
    fleet,
    measurements,
    depositedCents,
  });

  const ofShop = await shop.close();
  const ofPurses = await purses.close();
  const missed = [...missedKills(killed), ...ofPurses.missed];
  const found = [...live.faults, ...fleet.deaths, ...ofShop, ...ofPurses.found];
  sayFirst(say, { missed, found });
  say("Settling what was left open, and waiting for the watermark");
  const journaled = readJournals(folder);
  const { known, decided, ...settling } = await decideOpen(world, journaled);
  const description = await discover(endpoint);
  await awaitWatermark(description, await db.snapshot(async (s) => s.readTimestamp));
  const native = await shop.audit(description);
  const base = await purses.audit(description);
  // Before the SDK reads anything: its reads would install what replay has overlooked.
  const stored = await readStoredRows(description, runId);
  const repeated = await repeatCommitted(db, decided);
  const seen = await db.snapshot(async (snapshot) => ({
    bank: await readBank(snapshot, runId),
    sales: await readSales(snapshot, runId),
  }));
  const operations = [...known, ...repeated.operations];
  const faults = [
    ...found,
    ...settling.faults,
    ...repeated.faults,
    ...native.faults,
    ...base.faults,
    ...auditRun({ depositedCents, operations, seen, stored }),
  ];
  return {
    ok: faults.length === 0,
    options,
    ...measured(measurements, seconds),
    kills,
    killed,
    missed,
    shardChanges,
    native: native.report,
    base: base.report,
    lastLines: faults.length === 0 ? undefined : logs.last(),
    audit: {
      faults,
      operations: journaled.length,
      acknowledged: acknowledgedAsDone(journaled),
      settled: countSettled(decided),
      ...settling.counts,
      liveSnapshots: { balanced: live.balanced, givenUp: live.givenUp },
      journals: faults.length === 0 ? undefined : folder,
    },
  };
}

function startClients(
  { options, endpoint, folder, runId, history, logs, scripts }: World,
  opened: Opened,
  measurements: Measurements,
): Promise<ClientFleet> {
  const { clients, concurrency, commit, seed } = options;
  return ClientFleet.start(
    {
      ...{ endpoint, folder, runId, clients, concurrency, commit, seed, history },
      ...{ eventIds: opened.eventIds, seatIds: opened.seatIds, impatience: options.chaos },
      accountIds: opened.accounts.map(({ id }) => id),
    },
    {
      script: scripts.client,
      logs,
      onProgress: ({ samples, counters }) => {
        measurements.add(samples, counters);
      },
    },
  );
}

/** At once: with faults like these the audit itself may not come to its end. */
function sayFirst(
  say: World["say"],
  { missed, found }: { readonly missed: readonly string[]; readonly found: readonly string[] },
): void {
  for (const kind of missed) say(`chaos: ${kind}`);
  for (const fault of found) say(`FAULT: ${fault}`);
}

function countSettled(decided: readonly DecidedOperation[]): DemoReport["audit"]["settled"] {
  const committed = decided.filter(({ committedId }) => committedId !== undefined).length;
  return { committed, aborted: decided.length - committed };
}

function acknowledgedAsDone(journaled: readonly JournaledOperation[]): number {
  return journaled.filter(({ acknowledged }) => acknowledged?.done === true).length;
}

type Opened = {
  readonly accounts: readonly Account[];
  readonly eventIds: readonly string[];
  readonly seatIds: readonly string[];
};

async function fill({ db, options, runId }: World): Promise<Opened> {
  const random = new SeededRandom(options.seed, 0xacc);
  const opened = Array.from({ length: options.accounts }, (_unused, index) => ({
    id: `${runId}-account-${index}`,
    balanceCents: random.below(20_000),
    overdraftCents: random.pick([0, 5_000]),
  }));
  for (let start = 0; start < opened.length; start += accountsPerTransaction) {
    await openAccounts(db, opened.slice(start, start + accountsPerTransaction));
  }
  const eventIds = Array.from(
    { length: eventCount },
    (_unused, index) => `${runId}-event-${index}`,
  );
  const seatIds = Array.from({ length: seatsPerEvent }, (_unused, index) => {
    return `seat-${index.toString().padStart(3, "0")}`;
  });
  for (const eventId of eventIds) {
    await openSale(db, { eventId, name: `Event ${eventId}`, priceCents: 2_500 }, seatIds);
  }
  return { accounts: opened, eventIds, seatIds };
}

/** Runs for the time wanted, with kills and live audits beside, until every client has finished. */
async function underLoad(
  world: World,
  load: {
    readonly fleet: ClientFleet;
    readonly measurements: Measurements;
    readonly depositedCents: number;
  },
): Promise<{
  readonly kills: readonly DoneKill[];
  readonly killed: Readonly<Record<string, number>>;
  readonly live: LiveAudit;
  readonly seconds: number;
  readonly shardChanges: ShardChanges | undefined;
}> {
  const { options, stack, say } = world;
  const { fleet, measurements } = load;
  const kinds = options.chaos ? killKinds(world) : [];
  const kills: DoneKill[] = [];
  const over = new AbortController();
  const progress = new Progress(measurements, options);
  const beganMs = performance.now();
  const signal = AbortSignal.timeout(options.seconds * 1_000 + chaosPatienceMs);
  const changing = changesShards(world)
    ? discover(world.endpoint).then((description) =>
        changeShards(description, { atMs: options.seconds * 400, signal, say }),
      )
    : Promise.resolve(undefined);
  const chaos = carryOut(kinds.length === 0 ? [] : planKills({ ...options, kinds }), {
    ...{ fleet, stack },
    operationsDone: () => measurements.operationsDone,
    signal,
    onKill: (kill) => {
      kills.push(kill);
      progress.kills = kills.length;
      if (!process.stderr.isTTY) say(killText(kill));
    },
  });
  const live = auditLive(world, { depositedCents: load.depositedCents, signal: over.signal });
  await new Promise((resolve) => setTimeout(resolve, options.seconds * 1_000));
  // Before the clients stop: a join under load, and a split among kills.
  const [, shardChanges] = await Promise.all([chaos, changing]);
  over.abort();
  progress.stop();
  if (process.stderr.isTTY) for (const kill of kills) say(killText(kill));
  await fleet.stop();
  const seconds = (performance.now() - beganMs) / 1_000;
  return { kills, killed: countKills(kinds, kills), live: await live, seconds, shardChanges };
}

function changesShards({ stack, options }: World): boolean {
  return stack !== undefined && options.chaos && (options.shards ?? 1) > 1;
}

function killKinds({ stack, options }: World): readonly string[] {
  if (stack === undefined) return clientKills;
  const mortal = Object.keys(stack.processes).filter(
    (name) => name !== "stores" || options.data !== undefined,
  );
  return [...clientKills, ...mortal];
}

type LiveAudit = { balanced: number; givenUp: number; faults: string[] };

/** While money moves: the sum of a snapshot is that of the deposits, at every moment. */
async function auditLive(
  { db, runId }: World,
  run: { readonly depositedCents: number; readonly signal: AbortSignal },
): Promise<LiveAudit> {
  const audit: LiveAudit = { balanced: 0, givenUp: 0, faults: [] };
  const ours = { filter: ({ id }: Account) => id.startsWith(runId) };
  while (!run.signal.aborted) {
    try {
      const { held, at } = await db.snapshot(async (snapshot) => {
        let held = 0;
        for await (const row of snapshot.scan(accounts, ours)) held += row.balanceCents;
        return { held, at: snapshot.readTimestamp };
      });
      if (held === run.depositedCents) audit.balanced += 1;
      else
        audit.faults.push(`snapshot at ${at}: ${held} cents held, ${run.depositedCents} paid in`);
    } catch (error) {
      if (error instanceof TransactionError && error.retryable) audit.givenUp += 1;
      else audit.faults.push(`snapshot: ${String(error)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, liveSnapshotEveryMs));
  }
  return audit;
}
