/** How those beside BASE transactions take their time: so that what is open meets them halfway. */
import type { StepContext } from "../workload.ts";

const share = 0.3;
export const lingerMsMax = 200;
/** Of those who wait for a result. */
export const resultDeadlineMs = 20_000;

export type Pause = () => Promise<void>;

export const atOnce: Pause = () => Promise.resolve();

/** Of one reader, between any two of its reads. */
export function lingering({ random, pause }: Pick<StepContext, "random" | "pause">): Pause {
  return random.chance(share) ? () => pause(random.between(0, lingerMsMax)) : atOnce;
}
