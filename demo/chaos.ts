/**
 * Which process dies when: a plan that follows from the seed, and its execution. Every kind of kill
 * is planned at least once, also in a short run. Half of the kills wait for a commit request to
 * leave, so that they fall between request, decision and install rather than between transactions;
 * one kind is aimed: a client that dies when it knows its commit decided and has not begun to
 * install it.
 *
 * The clock only spreads the kills over a run. What makes one due is progress: operations finished
 * since the kill before. So a slow machine makes a run longer, not emptier.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EmbeddedStack } from "../localstack/embedded-stack.ts";
import type { ClientFleet, Killed } from "./client-fleet.ts";
import { SeededRandom } from "./seeded-random.ts";

/**
 * Kills of clients: at any moment, and exactly between decision and install. Others are named by
 * their process.
 */
export const clientKills = ["client", "client-at-decision"] as const;

export type PlannedKill = {
  /** From the beginning of the run. */
  readonly atMs: number;
  /** At least so many operations have finished since the kill before. */
  readonly afterOperations: number;
  /** One of `clientKills`, or a process of the stack. */
  readonly kind: string;
  /** Which client; of a process of the stack it has no meaning. */
  readonly client: number;
  /**
   * Wait for a commit request to leave, and then this long; undefined: do not wait. Of an aimed
   * kill no part.
   */
  readonly afterSendingMs: number | undefined;
};

export type DoneKill = Killed & {
  readonly atMs: number;
  /**
   * What it turned out to be: an aimed kill whose moment did not come counts as one at any moment.
   */
  readonly kind: string;
  /** The process, by its name. */
  readonly target: string;
};

/** No commit passes through these: once per run is enough. */
const dullKinds = new Set(["api", "reaper"]);
const killEveryMs = 1_500;
const afterSendingMsMax = 120;
/** With 0 a kill meets what the one before has left; with more, a recovery is seen in between. */
const afterOperationsMax = 8;
const lookEveryMs = 50;
/**
 * How long a run goes on beyond its time for kills that could not strike yet. Then it says which
 * they are: that is no fault of what was audited.
 */
export const chaosPatienceMs = 600_000;
/** Nothing is killed in the first and the last tenth of a run. */
const quietShare = 0.1;

export function planKills(run: {
  readonly seed: number;
  readonly seconds: number;
  readonly clients: number;
  /** `clientKills` and the names of the processes that may be killed. */
  readonly kinds: readonly string[];
}): PlannedKill[] {
  const random = new SeededRandom(run.seed, 0xdead);
  const count = Math.max(run.kinds.length, Math.round((run.seconds * 1_000) / killEveryMs));
  const first = random.shuffled(run.kinds);
  const later = run.kinds.filter((kind) => !dullKinds.has(kind));
  const beginMs = run.seconds * 1_000 * quietShare;
  const stepMs = (run.seconds * 1_000 * (1 - 2 * quietShare)) / count;
  return Array.from({ length: count }, (_unused, index) => ({
    atMs: Math.round(beginMs + stepMs * (index + random.fraction())),
    afterOperations: index === 0 ? 1 : random.below(afterOperationsMax + 1),
    kind: first[index] ?? random.pick(later),
    client: random.below(run.clients),
    afterSendingMs: random.below(2) === 0 ? undefined : random.below(afterSendingMsMax),
  }));
}

export type ChaosWorld = {
  readonly fleet: ClientFleet;
  readonly stack: EmbeddedStack | undefined;
  /** Operations that clients have finished so far. */
  readonly operationsDone: () => number;
  readonly onKill: (kill: DoneKill) => void;
  /** No kill is waited for any longer. */
  readonly signal: AbortSignal;
};

/**
 * Resolves when every kill is done and every kind of them has struck, or when the signal says that
 * it has taken too long. On a slow machine either may be long after the times planned.
 */
export async function carryOut(plan: readonly PlannedKill[], world: ChaosWorld): Promise<void> {
  const { operationsDone, signal } = world;
  const beganMs = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - beganMs);
  const missing = new Map(plan.map((planned) => [planned.kind, planned]));
  let lastAt = operationsDone();
  const strike = async (planned: PlannedKill): Promise<void> => {
    const { atMs, afterOperations } = planned;
    await until(() => elapsedMs() >= atMs && operationsDone() >= lastAt + afterOperations, signal);
    if (signal.aborted) return;
    const done = await kill(planned, world);
    lastAt = operationsDone();
    if (done === undefined) return;
    missing.delete(done.kind);
    world.onKill({ atMs: elapsedMs(), ...done });
  };
  for (const planned of plan) await strike(planned);
  while (missing.size > 0 && !signal.aborted) {
    for (const planned of [...missing.values()]) await strike(planned);
    await sleep(lookEveryMs);
  }
}

async function until(holds: () => boolean, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !holds()) await sleep(lookEveryMs);
}

async function kill(
  { kind, client, afterSendingMs }: PlannedKill,
  world: ChaosWorld,
): Promise<Omit<DoneKill, "atMs"> | undefined> {
  const { fleet, signal } = world;
  const target = `client ${client}`;
  switch (kind) {
    case "client": {
      const killed = await fleet.kill(client, afterSendingMs);
      return killed && { kind, target, ...killed };
    }
    case "client-at-decision": {
      const killed = await fleet.killAtDecision(client, signal);
      if (killed === undefined) return undefined;
      const { certified, ...rest } = killed;
      return { kind: certified ? kind : "client", target, ...rest };
    }
    default: {
      const killed = await killProcess(kind, { world, afterSendingMs });
      return killed && { kind, target: kind, ...killed };
    }
  }
}

async function killProcess(
  name: string,
  { world, afterSendingMs }: { world: ChaosWorld; afterSendingMs: number | undefined },
): Promise<Killed | undefined> {
  const { fleet, stack, signal } = world;
  if (stack === undefined) throw new Error(`a plan without a stack names ${name}`);
  // It may still be on its way back from an earlier kill.
  let isReady = false;
  void stack.waitReady(name).then(() => (isReady = true));
  await until(() => isReady, signal);
  const seen = afterSendingMs !== undefined && (await fleet.seenSending());
  if (seen) await sleep(afterSendingMs);
  const pid = stack.processes[name];
  if (pid === undefined) return undefined;
  await stack.kill(name);
  return { pid, afterSendingMs: seen ? afterSendingMs : undefined };
}

/** How many kills of each kind struck, in the plan's order of kinds. */
export function countKills(
  kinds: readonly string[],
  kills: readonly DoneKill[],
): Readonly<Record<string, number>> {
  const count = (kind: string): number => kills.filter((done) => done.kind === kind).length;
  return Object.fromEntries(kinds.map((kind) => [kind, count(kind)]));
}

/** Kinds that never struck, one line each: about these a run with kills proves nothing. */
export function missedKills(struck: Readonly<Record<string, number>>): string[] {
  const missed = Object.keys(struck).filter((kind) => struck[kind] === 0);
  return missed.map(
    (kind) => `no kill of the kind "${kind}" could strike: this run says nothing about it`,
  );
}
