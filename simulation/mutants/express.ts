/**
 * Breaks of express commit (docs/adr/0013-express-commit.md).
 *
 * A block that is certified on a tail that lags is no such break: the conditional put finds its
 * position taken, for as long as the log keeps its blocks. What is longer than any run is in
 * test/simulation/asleep-before-append.long.test.ts; and of an old registry,
 * asleep-registry.test.ts. What has to be fresh all the time is where reads begin and where bodies
 * end (`no-refresh-at-begin`, `no-refresh-at-end`), and what tells the tail's end
 * (`tail-of-a-lagging-copy`).
 */
import { instead, never, omitted, when, type Mutant } from "./mutant.ts";

export const express: readonly Mutant[] = [
  {
    name: "express-without-check",
    breaks: "a block is made of what was not checked up to its position: lost updates",
    edit: omitted,
    changes: { commit: "express", isolation: "serializable" },
  },
  {
    name: "express-block-conflicts-with-itself",
    breaks: "transactions of one block are not held against each other",
    edit: never,
    // Serializable ones of one process are chained, or take turns.
    changes: { commit: "express", isolation: "snapshot", lanes: 4 },
  },
  {
    name: "express-without-predecessors",
    breaks: "a block commits what has read from a transaction that is in no block: dirty reads",
    edit: never,
    changes: { commit: "express", workload: "convoys", isolation: "serializable" },
  },
  {
    name: "express-moves-cursor",
    breaks: "a client's block claims to decide of the stream: the shard stands",
    edit: instead("undefined"),
    changes: { commit: "mixed" },
  },
  {
    name: "express-beaten-not-checked",
    breaks: "what has lost its position is put again as it was checked before: lost updates",
    edit: instead("this.#waiting.unshift(...beaten.map((bid) => ({ ...bid, recheck: ignore })))"),
    changes: { commit: "express", isolation: "serializable" },
  },
  {
    name: "unasked-errors-let-out",
    breaks: "a body that fails on what others have overwritten before it began is believed",
    edit: omitted,
    changes: {
      ...{ commit: "express", visits: true, hotLog: false, workload: "register" },
      isolation: "serializable",
    },
  },
  {
    name: "express-position-guessed",
    breaks: "a block stands where none has been read before it: a hole in the log",
    edit: instead("(log.position + 2) as LogPosition"),
    changes: { commit: "mixed" },
  },
  {
    name: "express-time-runs-back",
    breaks: "a block is dated by the clock alone, and not above the log's end",
    edit: instead("nowMicros as Timestamp"),
    changes: { commit: "mixed", faults: { "clock-skew": 1 } },
  },
  {
    name: "express-refers-to-nothing",
    breaks: "a block commits what nobody can read: no oracle looks whether it was spilled",
    edit: omitted,
    changes: { commit: "express", workload: "large-payload" },
  },
  {
    name: "no-refresh-at-end",
    breaks: "a body that runs again, and then writes nothing, misses what was acknowledged",
    edit: omitted,
    changes: { commit: "express" },
  },
  {
    name: "older-value-from-a-block",
    breaks: "what an earlier block has left of an item is taken for what the newest one has",
    edit: instead(
      (own) =>
        "[...this.#payloads.values()].filter((payload) => " +
        "payload?.writes[write] !== undefined && " +
        `writtenItem(payload, write) === identity)[0] ?? ${own}`,
    ),
    changes: { commit: "express", isolation: "serializable" },
  },
  {
    name: "outcome-without-block",
    breaks: "an id that the log does not decide is said to be aborted: its late block commits",
    edit: instead(
      (own) =>
        "session.withoutStream && !follower.tail.decision(asked.id) " +
        `? { kind: "aborted" } : ${own}`,
    ),
    changes: { commit: "express", tablesOnly: true, hurried: 0.3 },
  },
  {
    name: "express-clock-ahead",
    breaks: "a block is dated as late as the store's clock may be, and not as it is at least",
    edit: instead("monotonicMs + bounds.highMs"),
    changes: { commit: "express" },
  },
  {
    name: "express-taken-not-folded",
    breaks: "what stands at a lost position is passed without a look: lost updates",
    edit: instead(
      "completeTo === undefined ? this.tail.fold({ ...decodeBlock(stored, this.#hashes), " +
        "verdicts: [] }) : this.#fold(stored)",
    ),
    changes: { commit: "express" },
  },
  {
    name: "express-silence-is-refusal",
    breaks: "a block of whose put nothing is known counts as refused: its body runs again",
    edit: instead('throw new ConflictError("its position is taken", {})'),
    changes: { commit: "express", faults: { "answer-lost": 0.05, "log-throttled": 0.1 } },
  },
  {
    name: "express-lost-answer-is-refusal",
    breaks: "a put whose answer is lost counts as refused: what is committed is called given up",
    edit: when("true"),
    // Whom the stream then throttles until its time is up, has no other copy on its way.
    changes: {
      commit: "express",
      hurried: 0.9,
      faults: { "answer-lost": 0.1, "request-late": 0.1, "throttling-storm": 0.1 },
    },
  },
  {
    name: "express-never-yields",
    breaks: "whoever is beaten puts again at once, and never leaves the log to the oracle",
    edit: { "express-never-yields": never, "express-never-waits": instead("0") },
    changes: { commit: "mixed", clients: 8, lanes: 2, pauseMs: 1, transactions: 800, faults: {} },
  },
  {
    name: "tail-of-a-lagging-copy",
    breaks: "the tail's end comes from a read that may lag: what was acknowledged is not there yet",
    edit: instead("false"),
    changes: { commit: "express", faults: { "stale-read": 0.3 } },
  },
];
