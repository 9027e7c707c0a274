/**
 * Lets all go on that are parked, as after an outage by which many are. What is wrong with one of
 * them keeps back none of the others; where several fail the store is at fault, and it ends early.
 */
import * as limits from "../../core/limits.ts";
import { Semaphore } from "../concurrency.ts";
import type { NamedBase } from "./base-name.ts";
import type { LooksAtBases } from "./types.ts";

export type ResumedBases = {
  /** The oldest first. */
  readonly resumed: readonly NamedBase[];
  readonly failed: readonly (NamedBase & { readonly error: unknown })[];
  /** More are parked, which this has not come to. */
  readonly isMore: boolean;
};

export async function resumeAll(
  bases: Pick<LooksAtBases, "list" | "resume">,
  { name, basesMax }: { readonly name: string | undefined; readonly basesMax: number },
): Promise<ResumedBases> {
  const listed = await bases.list({ name, lookedAtMax: basesMax + 1 });
  const parked = listed.bases.filter(({ phase }) => phase === "parked");
  const wanted = parked.slice(0, basesMax).map((each) => ({ name: each.name, id: each.id }));
  const resumed = new Set<NamedBase>();
  const failed: (NamedBase & { readonly error: unknown })[] = [];
  const atOnce = new Semaphore(limits.baseResumesAtOnce);
  let isMore = parked.length > wanted.length;
  const resume = async (base: NamedBase): Promise<void> => {
    if (failed.length >= limits.baseLookErrorsMax) {
      isMore = true;
      return;
    }
    try {
      // Somebody else may have done so meanwhile, or taken it back.
      if (await bases.resume(base)) resumed.add(base);
    } catch (error) {
      failed.push({ ...base, error });
    }
  };
  await Promise.all(wanted.map((base) => atOnce.run(() => resume(base))));
  return { resumed: wanted.filter((base) => resumed.has(base)), failed, isMore };
}
