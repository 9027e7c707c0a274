/**
 * Which process dies when: a plan that follows from the seed, and its execution. Every kind of kill
 * is planned at least once, also in a short run. Half of the kills wait for a commit request to
 * leave, so that they fall between request, decision and install rather than between transactions;
 * one kind is aimed: a client that dies when it knows its commit decided and has not begun to
 * install it.
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
const comeBackMsMax = 30_000;
/** Nothing is killed in the first and the last tenth of a run. */
const quietShare = 0.1;
/** In a shorter run a kind of kill may find no opportunity. */
const sureSecondsMin = 5;

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
    kind: first[index] ?? random.pick(later),
    client: random.below(run.clients),
    afterSendingMs: random.below(2) === 0 ? undefined : random.below(afterSendingMsMax),
  }));
}

/** Resolves when the last kill is done: on a slow machine that may be after the time planned. */
export async function carryOut(
  plan: readonly PlannedKill[],
  world: {
    readonly fleet: ClientFleet;
    readonly stack: EmbeddedStack | undefined;
    readonly onKill: (kill: DoneKill) => void;
  },
): Promise<void> {
  const beganMs = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - beganMs);
  for (const planned of plan) {
    await sleep(Math.max(0, planned.atMs - elapsedMs()));
    const done = await kill(planned, world);
    if (done !== undefined) world.onKill({ atMs: elapsedMs(), ...done });
  }
}

async function kill(
  { kind, client, afterSendingMs }: PlannedKill,
  world: { readonly fleet: ClientFleet; readonly stack: EmbeddedStack | undefined },
): Promise<Omit<DoneKill, "atMs"> | undefined> {
  const { fleet } = world;
  const target = `client ${client}`;
  switch (kind) {
    case "client": {
      const killed = await fleet.kill(client, afterSendingMs);
      return killed && { kind, target, ...killed };
    }
    case "client-at-decision": {
      const killed = await fleet.killAtDecision(client);
      if (killed === undefined) return undefined;
      const { certified, ...rest } = killed;
      return { kind: certified ? kind : "client", target, ...rest };
    }
    default: {
      const killed = await killProcess(kind, { ...world, afterSendingMs });
      return killed && { kind, target: kind, ...killed };
    }
  }
}

async function killProcess(
  name: string,
  wish: {
    readonly fleet: ClientFleet;
    readonly stack: EmbeddedStack | undefined;
    readonly afterSendingMs: number | undefined;
  },
): Promise<Killed | undefined> {
  const { fleet, stack, afterSendingMs } = wish;
  if (stack === undefined) throw new Error(`a plan without a stack names ${name}`);
  // It may still be on its way back from an earlier kill.
  await Promise.race([stack.waitReady(name), sleep(comeBackMsMax, undefined, { ref: false })]);
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

/** A run with kills proves nothing about a kind that never struck, one line each. */
export function missedKills(
  struck: Readonly<Record<string, number>>,
  { seconds }: { readonly seconds: number },
): string[] {
  if (seconds < sureSecondsMin) return [];
  const missed = Object.keys(struck).filter((kind) => struck[kind] === 0);
  return missed.map((kind) => `chaos: no kill of the kind "${kind}" has struck`);
}
