/**
 * What a native write needs of an engine that meets a fence on its item
 * (docs/adr/0014-native-operations.md, Aware native writes): the outcome of the fence's transaction
 * brought about, and the item as that outcome leaves it. The writer calls again then.
 */
import { toRemove } from "../../core/clean-up.ts";
import { bars } from "../../core/fence.ts";
import { fenceOf, identityOf } from "../../core/item-identity.ts";
import * as limits from "../../core/limits.ts";
import type { ItemAddress, MixedItemStore } from "../../core/mixed-items-port.ts";
import type { CallOptions } from "../../core/ports.ts";
import type { FenceJudge } from "./mixed-items.ts";

type Parts = {
  readonly mixed: Pick<MixedItemStore, "read" | "cleanUp">;
  readonly judge: FenceJudge;
};

/**
 * Resolves once no fence stands there, or others were faster again and again: who calls finds out.
 * @returns whether one stood there.
 * @throws StoreError, CorruptDataError.
 */
export async function clearFence(
  { mixed, judge }: Parts,
  at: ItemAddress,
  options?: CallOptions,
): Promise<boolean> {
  for (let fences = 0; fences <= limits.mixedSettlesMax; fences += 1) {
    const stored = await mixed.read(at, options);
    const id = stored && fenceOf(stored);
    if (id === undefined) return fences > 0;
    const met = { fence: id, under: identityOf(stored) };
    if (bars(met, await judge.fateOf(met, at, options))) {
      // probe: native-settles-a-fence
      await judge.settle(met, at, options);
    } else {
      // probe: native-meets-fence-of-nobody
      const removes = toRemove(stored, { id, keys: at.table });
      if (removes !== undefined) await mixed.cleanUp({ ...at, id, removes }, options);
    }
  }
  return true;
}
