/**
 * Operators who split shards while clients are at work (docs/operations.md, Shards). Which one, and
 * where, is drawn: hot ranges and empty ones, shards that were split off a moment ago, the same one
 * or two of them by two at once.
 */
import { splitShard } from "../aws/split-shard.ts";
import { InvalidRequestError } from "../core/errors.ts";
import type { SeededRandom } from "../testing/kernel/seeded-random.ts";
import type { TestCloud } from "../testing/test-cloud.ts";
import { Operators, type OperatorStep } from "./operators.ts";

const restMs = { min: 20, max: 8_000 };
/** Of splits: in the middle of a range; the others anywhere in it. */
const middleShare = 0.5;

export function shardOperators(cloud: TestCloud, splits: number): Operators {
  const random = cloud.world.random.fork("shard operators");
  const steps = Array.from({ length: splits }, () => [
    resting(random.logarithmic(restMs.min, restMs.max)),
    splitting(cloud, random),
  ]).flat();
  return new Operators(cloud, {
    ...{ name: "shard operator", random, steps },
    isNotYet: isBegunElsewhere,
  });
}

function resting(durationMs: number): OperatorStep {
  return { name: "rest", act: ({ clock }) => clock.sleep(durationMs) };
}

/** By its end there is one shard more, whoever has done it. */
function splitting(cloud: TestCloud, random: SeededRandom): OperatorStep {
  // Of two that are at it at once each has its own.
  const draws = [random.next(), random.next()];
  let begun = 0;
  const where = random.chance(middleShare) ? undefined : random.next();
  let before: number | undefined;
  const act: OperatorStep["act"] = async (operator) => {
    const which = draws[begun % draws.length] ?? 0;
    begun += 1;
    const { deployment, world } = cloud;
    const ports = deployment.portsOf(operator);
    const map = await ports.control.shardMap();
    if (map === undefined) throw new Error("a deployment has shards");
    before ??= map.entries.length;
    if (map.entries.length > before) return;
    const { number } = map.entries[Math.floor(which * map.entries.length)] ?? {};
    if (number === undefined) throw new Error("a deployment has shards");
    const { from, to } = map.rangeOf(number);
    const at = where === undefined ? undefined : Math.floor(from + 1 + where * (to - from - 2));
    const { kinesis } = world.handles(operator, { calm: false });
    const carrier = deployment.hasStream ? { kinesis, stream: deployment.stream } : undefined;
    const parts = { ...ports, carrier };
    await splitShard(parts, { shard: number, at }).catch((error: unknown) => {
      if (!isBegunElsewhere(error)) throw error;
      // As the refusal says.
      return splitShard(parts, { shard: number });
    });
  };
  return { name: "split", act, byTwo: true };
}

/** A split was begun at another place, and is to be ended first. */
function isBegunElsewhere(error: unknown): boolean {
  return error instanceof InvalidRequestError && error.field === "at";
}
