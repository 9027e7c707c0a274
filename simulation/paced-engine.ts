/**
 * Stretches and squeezes transactions, whatever their workload does: some get so little time that
 * they end while their outcome is open, or before they are sent; and where conflicts are rare,
 * bodies linger before they commit. Where commits are, nothing of it happens. Of what ends open,
 * some is settled at once.
 */
import { CommitUnknownError } from "../core/errors.ts";
import type { ClientEngine } from "../engine/types.ts";
import type { SeededRandom } from "../testing/kernel/seeded-random.ts";
import type { Mood } from "./balance.ts";

export type Pace = {
  readonly random: SeededRandom;
  /** Share of transactions that get little time. */
  readonly hurried: number;
  /** The run's, just now. */
  readonly mood: () => Mood;
  readonly sleep: (durationMs: number) => Promise<void>;
  /**
   * Share of transactions of unknown outcome that are settled at once, while their requests may
   * still be on their way.
   */
  readonly asksAtOnce: number;
};

const deadlineMsMin = 20;
const deadlineMsMax = 5_000;
const lingerMsMax = 600;

export function pacedEngine(engine: ClientEngine, pace: Pace): ClientEngine {
  const { random } = pace;
  return {
    ...engine,
    transact: async (options, body, codec) => {
      const mayHurry = options.deadlineMs === undefined && pace.mood() !== "spread";
      const hurry = random.chance(pace.hurried) && mayHurry;
      const deadlineMs = Math.ceil(random.logarithmic(deadlineMsMin, deadlineMsMax));
      const lingering: typeof body = async (transaction) => {
        const result = await body(transaction);
        if (pace.mood() === "crowded") await pace.sleep(random.between(0, lingerMsMax));
        return result;
      };
      try {
        return await engine.transact(
          hurry ? { ...options, deadlineMs } : options,
          lingering,
          codec,
        );
      } catch (error) {
        if (error instanceof CommitUnknownError && random.chance(pace.asksAtOnce)) {
          // Whatever the answer: the step ends as one of unknown outcome, and the end of the run
          // asks again.
          await engine.outcome(error.transactionId).catch(() => undefined);
        }
        throw error;
      }
    },
  };
}
