/**
 * The oracle of one shard is down for some seconds: what those notice who do not touch that shard,
 * who touch it alone, and who touch it among others.
 */
import type { CommitPreference, Receipt } from "../../engine/types.ts";
import { Load } from "../projection/load.ts";
import { access } from "../projection/transactions.ts";
import { openDeployment, updating } from "./run-load.ts";
import { SpreadKeys } from "./spread-keys.ts";
import { ThreeWindows, type WindowFigures } from "./windows.ts";

export type DeadOracleCase = {
  readonly shards: number;
  readonly keys: number;
  readonly perSecond: number;
  /** Before, while it is down, and after. */
  readonly phaseSeconds: number;
};

/** By what a transaction of two items touches. */
const deadOracleKinds = ["elsewhere", "elsewhere, two", "there", "there and more"] as const;
export type DeadOracleKind = (typeof deadOracleKinds)[number];

export type DeadOracleRow = {
  readonly commit: CommitPreference;
  readonly touches: DeadOracleKind;
  readonly before: WindowFigures;
  /** Of commits in that time. */
  readonly down: WindowFigures;
  readonly after: WindowFigures;
};

const dead = 0;
const acrossShare = 0.2;
const warmUpSeconds = 4;

export async function deadOracleRows(
  { seed, shards, keys, perSecond, phaseSeconds }: DeadOracleCase & { readonly seed: number },
  commit: CommitPreference,
): Promise<readonly DeadOracleRow[]> {
  const deployment = await openDeployment({ seed, shards });
  const { time } = deployment.world;
  const spread = await SpreadKeys.of(deployment, keys);
  const seconds = 3 * phaseSeconds;
  const beginMs = time.nowMs + warmUpSeconds * 1_000;
  const tallies = new Map(deadOracleKinds.map((kind) => [kind, new ThreeWindows(phaseSeconds)]));
  const load = new Load(deployment, {
    ...{ commit, processes: 2, seconds, warmUpSeconds },
    arrival: { kind: "open", perSecond },
    body: () => Promise.reject(new Error("its tasks are its load")),
    tasks: (random) => {
      const touched = spread.someShards(random, random.chance(acrossShare) ? 2 : 1);
      const numbers = spread.inEach(random, touched, touched.length === 1 ? 2 : 1);
      const kind = kindOf(touched);
      return {
        readOnly: false,
        body: async (_, transaction) => {
          if (transaction !== undefined) await access(transaction, updating(numbers));
        },
        committed: (receipt: Receipt) => {
          const second = (time.nowMs - beginMs) / 1_000;
          tallies.get(kind)?.at(second)?.commit(receipt);
        },
      };
    },
  });
  const breakDown = async (): Promise<void> => {
    await time.sleep((warmUpSeconds + phaseSeconds) * 1_000);
    deployment.pauseOracle(dead);
    await time.sleep(phaseSeconds * 1_000);
    deployment.resumeOracle(dead);
  };
  await deployment.run(() => Promise.all([load.measure(), breakDown()]));
  return Array.from(tallies, ([touches, windows]) => {
    const [before, down, after] = windows.figures();
    return { commit, touches, before, down, after };
  });
}

function kindOf(touched: readonly number[]): DeadOracleKind {
  const isThere = touched.includes(dead);
  if (touched.length === 1) return isThere ? "there" : "elsewhere";
  return isThere ? "there and more" : "elsewhere, two";
}
