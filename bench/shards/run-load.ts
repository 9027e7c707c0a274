/** One load on a deployment of several shards, as most figures of this suite want it. */
import { Load, type LoadOptions, type LoadResult } from "../projection/load.ts";
import {
  type DeploymentSettings,
  ProjectedDeployment,
} from "../projection/projected-deployment.ts";
import type { Body } from "../projection/load.ts";
import { access, type Accesses } from "../projection/transactions.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";

export type ShardedLoad = {
  readonly seed: number;
  readonly shards: number;
  readonly limitsShare?: number;
  readonly deployment?: Partial<DeploymentSettings>;
  readonly load: (deployment: ProjectedDeployment) => Promise<LoadOptions> | LoadOptions;
};

export async function openDeployment({
  seed,
  shards,
  limitsShare,
  deployment,
}: Omit<ShardedLoad, "load">): Promise<ProjectedDeployment> {
  return ProjectedDeployment.create({
    ...{ seed, shards, limitsShare, consumer: "fan-out" },
    ...deployment,
  });
}

export async function runLoad(options: ShardedLoad): Promise<LoadResult> {
  const deployment = await openDeployment(options);
  return new Load(deployment, await options.load(deployment)).run();
}

/** Draws anew whenever it runs again. */
export function accessing(draw: (random: SeededRandom, process: number) => Accesses): Body {
  return (transaction, random, process) => access(transaction, draw(random, process));
}

/** What is written was read. */
export function updating(numbers: readonly number[]): Accesses {
  return { reads: numbers, writes: numbers };
}

/** So many of each, all different. */
export function apart(numbers: readonly number[], reads: number): Accesses {
  return { reads: numbers.slice(0, reads), writes: numbers.slice(reads) };
}
