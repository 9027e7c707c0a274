/**
 * What an interleaving of Hermitage's is, and what all of them begin with: a table that holds 1 →
 * 10 and 2 → 20.
 */
import { actor, type Step } from "./script.ts";

export const anomalies = [
  ["G0", "write cycles"],
  ["G1a", "aborted reads"],
  ["G1b", "intermediate reads"],
  ["G1c", "circular information flow"],
  ["OTV", "observed transaction vanishes"],
  ["PMP", "predicate-many-preceders"],
  ["P4", "lost update"],
  ["G-single", "read skew"],
  ["G2-item", "write skew on items read"],
  ["G2", "anti-dependency cycles, predicates included"],
] as const;
export type Anomaly = (typeof anomalies)[number][0];

/** What a step gave, by its text; a text that comes again is followed by " (2)". */
export type Gave = (step: string) => string | undefined;

export type Interleaving = {
  readonly anomaly: Anomaly;
  readonly title: string;
  /**
   * What Hermitage reports, of PostgreSQL unless another is named; its "repeatable read" is
   * snapshot isolation.
   */
  readonly elsewhere: string;
  /** What Tidemark does instead of blocking, and by which rule. */
  readonly here: string;
  readonly steps: readonly Step[];
  /** Whether the results are those of the anomaly. */
  readonly occurs: (gave: Gave) => boolean;
  /** Results with which it would have occurred: so `occurs` is seen being true. */
  readonly witness: Readonly<Record<string, string>>;
};

export const [T1, T2, T3] = [actor("T1"), actor("T2"), actor("T3")] as const;
export const bothBegin: readonly Step[] = [T1.begin(), T2.begin()];
export const asAtFirst = "1 → 10, 2 → 20";
export const tooOld = "snapshot too old";
export const bothCommit = { "T1 commit": "committed", "T2 commit": "committed" } as const;

export function committed(gave: Gave, ...who: readonly string[]): boolean {
  return who.every((by) => gave(`${by} commit`) === "committed");
}
