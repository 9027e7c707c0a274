/**
 * From k shards to k + 1 under load: what those who commit meanwhile notice of a split. Paper:
 * Centiman §5.4, where validators are added through a transitional period.
 */
import type { CommitPreference } from "../../engine/types.ts";
import { Load } from "../projection/load.ts";
import { accessing, apart, openDeployment, updating } from "./run-load.ts";
import { differentItems } from "./spread-keys.ts";
import { ThreeWindows, type WindowFigures, WindowTally } from "./windows.ts";

/** One item each, so that none lies in two shards; or eight, wherever they lie. */
export const elasticSpreads = ["one item", "4 + 4 keys"] as const;
export type ElasticSpread = (typeof elasticSpreads)[number];

export type ElasticCase = {
  readonly shards: number;
  readonly keys: number;
  readonly perSecond: number;
  /** Of each of the windows before, around and after; the split begins with the second one. */
  readonly phaseSeconds: number;
};

export type ElasticPoint = {
  readonly second: number;
  readonly runAgainShare: number;
  readonly p99Ms: number;
};

export type ElasticRow = {
  readonly commit: CommitPreference;
  readonly spread: ElasticSpread;
  readonly shards: number;
  readonly splitMs: number;
  readonly before: WindowFigures;
  readonly around: WindowFigures;
  readonly after: WindowFigures;
  readonly over: readonly ElasticPoint[];
};

const warmUpSeconds = 4;

export async function elasticRow(
  { seed, shards, keys, perSecond, phaseSeconds }: ElasticCase & { readonly seed: number },
  { commit, spread }: Pick<ElasticRow, "commit" | "spread">,
): Promise<ElasticRow> {
  const deployment = await openDeployment({ seed, shards });
  const { time } = deployment.world;
  const seconds = 3 * phaseSeconds;
  const beginMs = time.nowMs + warmUpSeconds * 1_000;
  const windows = new ThreeWindows(phaseSeconds);
  const points = Array.from({ length: seconds }, () => new WindowTally());
  const load = new Load(deployment, {
    ...{ commit, processes: 2, seconds, warmUpSeconds },
    arrival: { kind: "open", perSecond },
    body: accessing((random) =>
      spread === "one item"
        ? updating(differentItems(random, 1, keys))
        : apart(differentItems(random, 8, keys), 4),
    ),
    onEvent: (event) => {
      const second = Math.floor((time.nowMs - beginMs) / 1_000);
      points[second]?.note(event);
      windows.at(second)?.note(event);
    },
  });
  let splitMs = 0;
  const split = async (): Promise<void> => {
    await time.sleep((warmUpSeconds + phaseSeconds) * 1_000);
    const beganMs = time.nowMs;
    await deployment.splitShard(0);
    splitMs = time.nowMs - beganMs;
  };
  await deployment.run(() => Promise.all([load.measure(), split()]));
  const [before, around, after] = windows.figures();
  return {
    ...{ commit, spread, shards, splitMs, before, around, after },
    over: points.map((tally, second) => {
      const { runAgainShare, latency } = tally.figures(1);
      return { second, runAgainShare, p99Ms: latency.p99 };
    }),
  };
}
