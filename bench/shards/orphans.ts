/**
 * A client that dies between the parts of a transaction over two shards: how long whoever meets the
 * part that stands waits for its outcome, and how long it keeps the watermark down where nobody
 * meets it.
 */
import type { ClientPorts } from "../../core/ports.ts";
import type { CommitWay } from "../../engine/types.ts";
import type { Client } from "../../sdk/client.ts";
import { LatencySamples, type Percentiles } from "../projection/latency-samples.ts";
import type { Adapt, ProjectedDeployment } from "../projection/projected-deployment.ts";
import { access } from "../projection/transactions.ts";
import { openDeployment, updating } from "./run-load.ts";
import { SpreadKeys } from "./spread-keys.ts";

export type OrphansCase = {
  readonly rounds: number;
  /** How long after it stands somebody meets it, at most. */
  readonly metWithinMs: number;
  /** Orphans that nobody meets, beside a transaction a second elsewhere. */
  readonly unmet: number;
};

export type OrphansRow = {
  readonly commit: CommitWay;
  readonly rounds: number;
  /** From the call to its commit, of one who writes what the orphan would have. */
  readonly met: Percentiles;
  readonly longestMs: number;
  /** The same where there is no orphan. */
  readonly alone: Percentiles;
  /** Where nobody meets them: from the orphan until the watermarks of both shards pass it. */
  readonly unmet: number;
  readonly watermarkMs: Percentiles;
};

const shards = 2;
const keys = 2_000;
const warmUpMs = 4_000;

export async function orphansRow(
  { seed, rounds, metWithinMs, unmet }: OrphansCase & { readonly seed: number },
  commit: CommitWay,
): Promise<OrphansRow> {
  const mortals = new Mortals();
  const deployment = await openDeployment({ seed, shards, deployment: { adapt: mortals.adapt } });
  const { time, random: all } = deployment.world;
  const random = all.fork("orphans");
  const spread = await SpreadKeys.of(deployment, keys);
  const survivor = deployment.startClient(commit, () => undefined);
  const pair = (): readonly number[] => spread.inEach(random, [0, 1], 1);
  const write = async (client: Client, numbers: readonly number[]): Promise<number> => {
    const beganMs = time.nowMs;
    await client.transact({ attemptsMax: 1_000, deadlineMs: 60_000 }, (transaction) =>
      access(transaction, updating(numbers)),
    );
    return time.nowMs - beganMs;
  };
  const orphan = async (numbers: readonly number[]): Promise<void> => {
    const mortal = mortals.start(deployment, commit);
    void write(mortal.client, numbers).catch(() => undefined);
    await mortal.died;
  };
  const met = new LatencySamples();
  const alone = new LatencySamples();
  let longestMs = 0;
  const watermark = new LatencySamples();
  await deployment.run(async () => {
    await write(survivor, pair());
    await time.sleep(warmUpMs);
    for (let n = 0; n < rounds; n += 1) {
      alone.add(await write(survivor, pair()));
      const numbers = pair();
      await orphan(numbers);
      await time.sleep(random.between(0, metWithinMs));
      const ms = await write(survivor, numbers);
      met.add(ms);
      longestMs = Math.max(longestMs, ms);
    }
    for (let n = 0; n < unmet; n += 1) {
      const sentMs = time.nowMs;
      await orphan(pair());
      while (time.nowMs - (await deployment.watermarkLagMs()) < sentMs) {
        await time.sleep(1_000);
        await write(survivor, pair());
      }
      watermark.add(time.nowMs - sentMs);
    }
  });
  return {
    ...{ commit, rounds, longestMs, unmet },
    ...{ met: met.percentiles, alone: alone.percentiles },
    watermarkMs: watermark.percentiles,
  };
}

/** Processes that stand still for good once they have sent one part. */
class Mortals {
  #next: { readonly onDeath: () => void } | undefined;

  start(
    deployment: ProjectedDeployment,
    commit: CommitWay,
  ): { readonly client: Client; readonly died: Promise<void> } {
    let onDeath: () => void = () => undefined;
    const died = new Promise<void>((resolve) => (onDeath = resolve));
    this.#next = { onDeath };
    const client = deployment.startClient(commit, () => undefined);
    this.#next = undefined;
    return { client, died };
  }

  readonly adapt: Adapt = (ports, { role }) => {
    const mortal = this.#next;
    if (mortal === undefined || role !== "app") return ports;
    let hasSent = false;
    const once =
      <Parameters extends readonly unknown[], Answer>(
        send: (...parameters: Parameters) => Promise<Answer>,
      ) =>
      async (...parameters: Parameters): Promise<Answer> => {
        if (hasSent) return forever();
        hasSent = true;
        await send(...parameters);
        mortal.onDeath();
        return forever();
      };
    const { log, stream }: ClientPorts = ports;
    return {
      ...ports,
      log: { ...log, ...(log.append === undefined ? {} : { append: once(log.append) }) },
      stream: {
        ...stream,
        put: once((...sent: Parameters<typeof stream.put>) => stream.put(...sent)),
      },
    };
  };
}

function forever<Answer>(): Promise<Answer> {
  return new Promise(() => undefined);
}
