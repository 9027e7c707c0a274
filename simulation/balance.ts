/**
 * Keeps a run worth judging: at least 30 % of its attempts commit, and at least 5 % of its attempts
 * to write meet a conflict. What faults and workload make of these shares nobody knows beforehand,
 * so the run looks at itself as it goes: clients hurry to the same items and bodies linger while
 * conflicts are rare; they rest, and linger less, while commits are. It counts what has happened
 * and draws nothing: same seed, same run.
 */
import type { EngineEvent } from "../engine/types.ts";
import type { HistoryTransaction } from "../testing/history/types.ts";

/** `crowded`: conflicts are wanted. `spread`: commits are. */
export type Mood = "even" | "crowded" | "spread";

const commitShareMin = 0.3;
const conflictShareMin = 0.05;
/** Where a run begins to do something about it, well before it is too late. */
const commitShareWanted = 0.36;
const conflictShareWanted = 0.08;
/** The first few say nothing yet. */
const triedMin = 20;

export class Balance {
  /**
   * Runs of bodies, those of readers included; one whose outcome was open for a while counts twice.
   */
  #tried = 0;
  #committed = 0;
  /** Attempts to write. */
  #attempts = 0;
  #conflicts = 0;

  get conflicts(): number {
    return this.#conflicts;
  }

  /** A transaction of the history has ended. */
  ended({ kind, status }: HistoryTransaction): void {
    if (kind !== "txn") return;
    this.#tried += 1;
    if (status === "commit") this.#committed += 1;
  }

  /** An attempt to write counts when it is sent, or when its client finds a conflict before. */
  observe(event: EngineEvent): void {
    if (event.kind === "unknown") this.#tried += 1;
    if (event.kind === "sent" && !event.resend) this.#attempts += 1;
    if (event.kind !== "attempt-aborted" || event.reason !== "conflict") return;
    this.#conflicts += 1;
    if (event.early) this.#attempts += 1;
  }

  /** Commits come first: without them conflicts prove nothing. */
  get mood(): Mood {
    if (this.#tried >= triedMin && this.#committed / this.#tried < commitShareWanted) {
      return "spread";
    }
    return this.#conflictShare < conflictShareWanted ? "crowded" : "even";
  }

  /** What is wrong with the run that was; empty for one that proves something. */
  complaints(transactions: readonly HistoryTransaction[]): readonly string[] {
    const tried = transactions.filter(({ kind }) => kind === "txn");
    const commits = tried.filter(({ status }) => status === "commit").length;
    const commitShare = commits / Math.max(1, tried.length);
    const complaints: string[] = [];
    if (commitShare < commitShareMin) {
      complaints.push(`vacuous: ${(commitShare * 100).toFixed(1)} % of the attempts committed`);
    }
    if (this.#conflictShare < conflictShareMin) {
      const percent = (this.#conflictShare * 100).toFixed(1);
      complaints.push(`vacuous: ${percent} % of the attempts to write met a conflict`);
    }
    return complaints;
  }

  get #conflictShare(): number {
    return this.#conflicts / Math.max(1, this.#attempts);
  }
}
