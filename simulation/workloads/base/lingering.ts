/**
 * How those beside BASE transactions take their time, so that what is open meets them halfway; and
 * how some do not.
 */
import { TransactionError } from "../../../core/errors.ts";
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

/** A look at locks takes some milliseconds, and more where calls are slow. */
const unawaitedMsMax = 30;

/**
 * A body's last put, for which some do not wait: it comes while the locks of the others are looked
 * at, or when all is over. Then it is refused, and else it is as good as the others.
 */
export function putUnawaited(
  { random, pause }: Pick<StepContext, "random" | "pause">,
  put: () => void,
): void {
  if (!random.chance(0.2)) {
    put();
    return;
  }
  const late = pause(random.between(0, unawaitedMsMax)).then(put);
  late.catch((error: unknown) => {
    if (!(error instanceof TransactionError)) throw error;
  });
}
