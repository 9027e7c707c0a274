/** On which others a BASE transaction depends: it is released after them (release.ts). */
import { UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { LockReader } from "./lock-reader.ts";

/**
 * Those of before, and those that a step has met. Who depends on many lets go of those that are
 * released by now: a long one meets any number, one after the other.
 * @throws UnavailableError for more open ones than that. It bars first steps sooner: who goes on
 *   later may be what the others wait for, and they what it waits for.
 */
export async function allDependencies(
  base: string,
  { before, met }: { readonly before: readonly string[]; readonly met: ReadonlySet<string> },
  { locks, isFirst }: { readonly locks: LockReader; readonly isFirst: boolean },
): Promise<readonly string[]> {
  const all = new Set([...before, ...met]);
  all.delete(base);
  if (all.size <= limits.baseDependenciesMax) return [...all];
  const released = await Promise.all(Array.from(all, (each) => locks.isReleased(each)));
  const open = [...all].filter((_, i) => released[i] !== true);
  const [max, name] = isFirst
    ? [limits.baseDependenciesMax, "baseDependenciesMax"]
    : [limits.baseLaterDependenciesMax, "baseLaterDependenciesMax"];
  if (open.length <= max) return open;
  throw new UnavailableError(
    `BASE transaction ${base} has read from ${open.length} open ones, above the limit ` +
      `${name} of ${max}`,
  );
}
