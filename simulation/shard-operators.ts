/**
 * Operators who split shards, and join them, while clients are at work (docs/operations.md,
 * Shards). Which one, and where, is drawn: hot ranges and empty ones, shards that were split off a
 * moment ago, the same one or two of them by two at once, one that somebody else splits or joins.
 */
import { splitShard, type SplitParts } from "../aws/split-shard.ts";
import { InvalidRequestError } from "../core/errors.ts";
import type { ShardMap } from "../core/shard-map.ts";
import type { ShardNumber } from "../core/types.ts";
import { joinShard } from "../functions/replay/join-shard.ts";
import { silentObservability } from "../functions/shared/silent-observability.ts";
import type { SeededRandom } from "../testing/kernel/seeded-random.ts";
import type { SimulatedProcess } from "../testing/kernel/simulated-process.ts";
import type { TestCloud } from "../testing/test-cloud.ts";
import { Operators, type OperatorStep } from "./operators.ts";

const restMs = { min: 20, max: 8_000 };
/** Of splits: in the middle of a range; the others anywhere in it. */
const middleShare = 0.5;

/** Two of them, each step after step: what one splits the other may be about to join. */
export function shardOperators(
  cloud: TestCloud,
  { splits, joins }: { readonly splits: number; readonly joins: number },
): readonly Operators[] {
  const crew = (
    name: string,
    times: number,
    step: (random: SeededRandom) => OperatorStep,
  ): Operators => {
    const random = cloud.world.random.fork(name);
    const steps = Array.from({ length: times }, () => [
      resting(random.logarithmic(restMs.min, restMs.max)),
      step(random),
    ]).flat();
    return new Operators(cloud, { ...{ name, random, steps }, isNotYet: isBusyElsewhere });
  };
  return [
    crew("shard operators", splits, (random) => splitting(cloud, random)),
    crew("joining operators", joins, (random) => joining(cloud, random)),
  ];
}

function resting(durationMs: number): OperatorStep {
  return { name: "rest", act: ({ clock }) => clock.sleep(durationMs) };
}

/** By its end there has been one shard more, whoever has done it. */
function splitting(cloud: TestCloud, random: SeededRandom): OperatorStep {
  // Of two that are at it at once each has its own.
  const draws = [random.next(), random.next()];
  let begun = 0;
  const where = random.chance(middleShare) ? undefined : random.next();
  let before: number | undefined;
  const act: OperatorStep["act"] = async (operator) => {
    const which = draws[begun % draws.length] ?? 0;
    begun += 1;
    const { parts, map } = await mapOf(cloud, operator);
    before ??= map.all.length;
    if (map.all.length > before) return;
    const { number } = map.entries[Math.floor(which * map.entries.length)] ?? {};
    if (number === undefined) throw new Error("a deployment has shards");
    const { from, to } = map.rangeOf(number);
    const at = where === undefined ? undefined : Math.floor(from + 1 + where * (to - from - 2));
    await splitShard(parts, { shard: number, at }).catch((error: unknown) => {
      if (!isBegunElsewhere(error)) throw error;
      // As the refusal says.
      return splitShard(parts, { shard: number });
    });
  };
  return { name: "split", act, byTwo: true };
}

/** By its end the shard that was drawn has ended; of one alone nothing has changed. */
function joining(cloud: TestCloud, random: SeededRandom): OperatorStep {
  const which = random.next();
  let drawn: ShardNumber | undefined;
  const act: OperatorStep["act"] = async (operator) => {
    const { map } = await mapOf(cloud, operator);
    const others = map.entries.slice(1);
    drawn ??= others[Math.floor(which * others.length)]?.number;
    if (drawn === undefined || map.live(drawn) === undefined) return;
    const shard = drawn;
    const ports = cloud.deployment.portsOf(operator);
    await joinShard({ ports, observability: silentObservability }, { shard });
  };
  return { name: "join", act, byTwo: true };
}

async function mapOf(
  { deployment, world }: TestCloud,
  operator: SimulatedProcess,
): Promise<{ readonly parts: SplitParts; readonly map: ShardMap }> {
  const ports = deployment.portsOf(operator);
  const map = await ports.control.shardMap();
  if (map === undefined) throw new Error("a deployment has shards");
  const { kinesis } = world.handles(operator, { calm: false });
  const carrier = deployment.hasStream ? { kinesis, stream: deployment.stream } : undefined;
  return { parts: { ...ports, carrier }, map };
}

/** A split was begun at another place, and is to be ended first. */
function isBegunElsewhere(error: unknown): boolean {
  return error instanceof InvalidRequestError && error.field === "at";
}

/** Somebody else splits the shard, or joins it, or has. */
function isBusyElsewhere(error: unknown): boolean {
  return (
    isBegunElsewhere(error) || (error instanceof InvalidRequestError && error.field === "shard")
  );
}
