/**
 * The interleavings of Hermitage (Martin Kleppmann, github.com/ept/hermitage; definitions by Adya
 * and by Bailis et al.), and what each isolation level must prevent.
 */
import { dirtyReads } from "./dirty-reads.ts";
import type { Anomaly, Interleaving } from "./interleaving.ts";
import type { Level } from "./script.ts";
import { skews } from "./skews.ts";
import { visibility } from "./visibility.ts";

export const interleavings: readonly Interleaving[] = [...dirtyReads, ...visibility, ...skews];

/** What each level is to prevent, by the definitions: all of it, or all but write skew. */
export function mustPrevent(anomaly: Anomaly, level: Level): boolean {
  return level === "serializable" || (anomaly !== "G2-item" && anomaly !== "G2");
}
