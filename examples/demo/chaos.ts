/**
 * Which process dies when: a plan that follows from the seed, and its execution. Every kind of process is killed
 * at least once, also in a short run; half of the kills wait for a commit request to leave, so that they
 * fall between request, decision and install rather than between transactions.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EmbeddedStack } from "../../localstack/embedded-stack.ts";
import type { ClientFleet, Killed } from "./client-fleet.ts";
import { SeededRandom } from "./seeded-random.ts";

export type PlannedKill = {
  /** From the beginning of the run. */
  readonly atMs: number;
  /** A process of the stack, or `"client"`. */
  readonly target: string;
  /** Which client; of a process of the stack it has no meaning. */
  readonly client: number;
  /** Wait for a commit request to leave, and then this long; undefined: do not wait. */
  readonly afterSendingMs: number | undefined;
};

export type DoneKill = Killed & { readonly atMs: number; readonly target: string };

/** No commit passes through these: once per run is enough. */
const dullTargets = new Set(["api", "reaper"]);
const killEveryMs = 1_500;
const afterSendingMsMax = 120;
const comeBackMsMax = 30_000;
/** Nothing is killed in the first and the last tenth of a run. */
const quietShare = 0.1;

export function planKills(run: {
  readonly seed: number;
  readonly seconds: number;
  readonly clients: number;
  /** Names of the processes that may be killed, `"client"` among them. */
  readonly targets: readonly string[];
}): PlannedKill[] {
  const random = new SeededRandom(run.seed, 0xdead);
  const count = Math.max(run.targets.length, Math.round((run.seconds * 1_000) / killEveryMs));
  const first = random.shuffled(run.targets);
  const later = run.targets.filter((target) => !dullTargets.has(target));
  const beginMs = run.seconds * 1_000 * quietShare;
  const stepMs = (run.seconds * 1_000 * (1 - 2 * quietShare)) / count;
  return Array.from({ length: count }, (_unused, index) => ({
    atMs: Math.round(beginMs + stepMs * (index + random.fraction())),
    target: first[index] ?? random.pick(later),
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
  const { fleet, stack } = world;
  const beganMs = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - beganMs);
  for (const { atMs, target, client, afterSendingMs } of plan) {
    await sleep(Math.max(0, atMs - elapsedMs()));
    const killed =
      target === "client"
        ? await fleet.kill(client, afterSendingMs)
        : await killProcess(target, { fleet, stack, afterSendingMs });
    if (killed === undefined) continue;
    const name = target === "client" ? `client ${client}` : target;
    world.onKill({ atMs: elapsedMs(), target: name, ...killed });
  }
}

async function killProcess(
  target: string,
  wish: {
    readonly fleet: ClientFleet;
    readonly stack: EmbeddedStack | undefined;
    readonly afterSendingMs: number | undefined;
  },
): Promise<Killed | undefined> {
  const { fleet, stack, afterSendingMs } = wish;
  if (stack === undefined) throw new Error(`a plan without a stack names ${target}`);
  // It may still be on its way back from an earlier kill.
  await Promise.race([stack.waitReady(target), sleep(comeBackMsMax, undefined, { ref: false })]);
  const seen = afterSendingMs !== undefined && (await fleet.seenSending());
  if (seen) await sleep(afterSendingMs);
  const pid = stack.processes[target];
  if (pid === undefined) return undefined;
  await stack.kill(target);
  return { pid, afterSendingMs: seen ? afterSendingMs : undefined };
}
