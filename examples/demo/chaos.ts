/**
 * Which process dies when: a plan that follows from the seed, and its execution. Every kind of process is killed
 * at least once, also in a short run; half of the kills wait for a commit request to leave, so that they
 * fall between request, decision and install rather than between transactions.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EmbeddedStack } from "../../localstack/embedded-stack.ts";
import type { ClientFleet } from "./client-fleet.ts";
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

export type DoneKill = {
  readonly atMs: number;
  readonly target: string;
  readonly pid: number;
  readonly afterSendingMs: number | undefined;
};

/** No commit passes through these: once per run is enough. */
const dullTargets = new Set(["api", "reaper"]);
const killEveryMs = 1_500;
const afterSendingMsMax = 120;
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

/** Resolves when the last kill is done, or the signal says that the run is over. */
export async function carryOut(
  plan: readonly PlannedKill[],
  world: {
    readonly fleet: ClientFleet;
    readonly stack: EmbeddedStack | undefined;
    readonly signal: AbortSignal;
    readonly onKill: (kill: DoneKill) => void;
  },
): Promise<void> {
  const { fleet, stack, signal } = world;
  const beganMs = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - beganMs);
  for (const { atMs, target, client, afterSendingMs } of plan) {
    await sleep(Math.max(0, atMs - elapsedMs()), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    if (target === "client") {
      const moment =
        afterSendingMs === undefined
          ? ({ kind: "any" } as const)
          : ({ kind: "sending", delayMs: afterSendingMs } as const);
      const pid = await fleet.kill(client, moment);
      if (pid === undefined) continue;
      world.onKill({ atMs: elapsedMs(), target: `client ${client}`, pid, afterSendingMs });
      continue;
    }
    if (afterSendingMs !== undefined) {
      await fleet.seenSending();
      await sleep(afterSendingMs);
    }
    const pid = stack?.processes[target];
    if (stack === undefined || pid === undefined) continue; // Down already, from an earlier kill.
    await stack.kill(target);
    world.onKill({ atMs: elapsedMs(), target, pid, afterSendingMs });
  }
}
