/**
 * Outliers: every twenty seconds the store takes five or ten seconds for one item's install,
 * whoever tries. The watermark waits for it; nobody else should notice.
 */
import type { InstallRequest } from "../../core/ports.ts";
import { Load } from "../projection/load.ts";
import type { Adapt } from "../projection/projected-deployment.ts";
import { accessing, apart, openDeployment } from "./run-load.ts";
import { differentItems } from "./spread-keys.ts";

export type OutlierCase = {
  readonly shards: number;
  readonly keys: number;
  readonly perSecond: number;
  readonly seconds: number;
  readonly everySeconds: number;
  readonly stallSeconds: readonly number[];
};

export type OutlierPoint = {
  readonly second: number;
  readonly committed: number;
  readonly conflicts: number;
  readonly watermarkLagSeconds: number;
};

export type OutlierRow = {
  readonly stallSeconds: number;
  readonly stalls: number;
  readonly committed: number;
  /** Runs of a body that a conflict ended, of all runs. */
  readonly conflictShare: number;
  readonly p99Ms: number;
  readonly watermarkLagSecondsMax: number;
  readonly over: readonly OutlierPoint[];
};

export async function outlierRow(
  task: Omit<OutlierCase, "stallSeconds"> & { readonly seed: number },
  stallSeconds: number,
): Promise<OutlierRow> {
  const { seed, shards, keys, perSecond, seconds, everySeconds } = task;
  const stall = new Stall(stallSeconds * 1_000);
  const deployment = await openDeployment({
    ...{ seed, shards, deployment: { adapt: stall.adapt } },
  });
  const warmUpSeconds = 4;
  const points: { committed: number; conflicts: number; watermarkLagSeconds: number }[] = [];
  const { time } = deployment.world;
  const beginMs = time.nowMs + warmUpSeconds * 1_000;
  const pointAt = (): (typeof points)[number] | undefined =>
    points[Math.floor((time.nowMs - beginMs) / 1_000)];
  for (let n = 0; n < seconds; n += 1) {
    points.push({ committed: 0, conflicts: 0, watermarkLagSeconds: 0 });
  }
  const load = new Load(deployment, {
    ...{ commit: "stream", processes: 2, seconds, warmUpSeconds },
    arrival: { kind: "open", perSecond },
    body: accessing((random) => apart(differentItems(random, 8, keys), 4)),
    onEvent: (event) => {
      const point = pointAt();
      if (point === undefined) return;
      if (event.kind === "committed") point.committed += 1;
      if (event.kind === "attempt-aborted" && event.reason === "conflict") point.conflicts += 1;
    },
  });
  const watch = async (): Promise<void> => {
    await time.sleep(warmUpSeconds * 1_000);
    for (let n = 0; n < seconds; n += 1) {
      // The first one comes a quarter of the period in.
      if (stallSeconds > 0 && n % everySeconds === Math.floor(everySeconds / 4)) stall.next();
      await time.sleep(1_000);
      const point = points[n];
      if (point !== undefined) {
        point.watermarkLagSeconds = (await deployment.watermarkLagMs()) / 1_000;
      }
    }
  };
  const [result] = await deployment.run(() => Promise.all([load.measure(), watch()]));
  return {
    ...{ stallSeconds, stalls: stall.count, committed: result.committed },
    conflictShare: result.conflictShare,
    p99Ms: result.latency.percentiles.p99,
    watermarkLagSecondsMax: Math.max(...points.map((point) => point.watermarkLagSeconds)),
    over: points.map((point, second) => ({ second, ...point })),
  };
}

/** Once it is asked for, the next item that is installed takes so long. */
class Stall {
  readonly #ms: number;
  #isDue = false;
  #key: string | undefined;
  #untilMs = 0;
  count = 0;

  constructor(ms: number) {
    this.#ms = ms;
  }

  next(): void {
    this.#isDue = true;
  }

  readonly adapt: Adapt = (ports, { world }) => {
    const { items, clock } = ports;
    const install: typeof items.install = async (request, options) => {
      const leftMs = this.#meets(request, world.time.nowMs);
      if (leftMs > 0) await clock.sleep(leftMs);
      return items.install(request, options);
    };
    return { ...ports, items: { ...items, install } };
  };

  #meets({ table, key }: InstallRequest, nowMs: number): number {
    const name = `${table} ${JSON.stringify(key)}`;
    if (this.#isDue) {
      this.#isDue = false;
      this.#key = name;
      this.#untilMs = nowMs + this.#ms;
      this.count += 1;
    }
    return name === this.#key ? this.#untilMs - nowMs : 0;
  }
}
