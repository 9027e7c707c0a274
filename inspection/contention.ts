/**
 * Which keys are fought over, as far as the logs can tell. Pure. A verdict of a conflict names the
 * commit that won, by its timestamp, and not the key: whoever has written one key has won there for
 * certain, who has written several somewhere among them. The same holds of who was told to wait.
 *
 * Most conflicts never reach a log: a client finds them in its own tail, or in the block that came
 * before its own. Of those the payload of the commit tells that came of it in the end: how often it
 * was run in vain before.
 */
import { placeOf } from "../core/decision.ts";
import { FrameError } from "../core/errors.ts";
import type {
  CommittedVerdict,
  KeyHash,
  PreparedVerdict,
  Timestamp,
  TransactionId,
  WriteHashes,
} from "../core/types.ts";
import { earlierAttemptsOf } from "../schemas/payload-reading.ts";
import * as limits from "./limits.ts";
import type { ShardLog } from "./deployment.ts";
import type { ReadBlock } from "./log-reading.ts";

export type HotKey = {
  readonly log: ShardLog;
  readonly table: KeyHash;
  readonly key: KeyHash;
  /** Commits that have written it. */
  commits: number;
  /** Transactions that its writes aborted: for certain, and by it or others of the winner. */
  lost: number;
  lostPerhaps: number;
  /** Answers that an open transaction that writes it, perhaps among others, is in the way. */
  waited: number;
  /** How often the commits that have written it were run in vain before, as far as is told. */
  retries: Retries;
  /** A verdict that writes it, whose payload names it; one that carries it, if there is one. */
  told: CommittedVerdict | PreparedVerdict;
  /** Who has lost to whom, for certain or perhaps here: the newest ones. */
  readonly duels: Duel[];
};

/** Of commits whose payloads are at hand. */
export type Retries = {
  /** Of so many of them it is known. */
  readonly known: number;
  /** Runs in vain, of all of them, and of the one with the most. */
  readonly runs: number;
  readonly most: number;
};

export type Duel = { readonly winner: TransactionId; readonly loser: TransactionId };

export type Contention = {
  readonly commits: number;
  readonly conflicts: number;
  readonly waits: number;
  /** Conflicts and waits whose cause lies before what was looked through. */
  readonly untold: number;
  /** The hottest first. */
  readonly keys: readonly HotKey[];
};

type Log = { readonly log: ShardLog; readonly blocks: readonly ReadBlock[] };

/** @param logs each with its newest block first. */
export function contentionIn(logs: readonly Log[]): Contention {
  const counts = { commits: 0, conflicts: 0, waits: 0, untold: 0 };
  const keys: HotKey[] = [];
  for (const log of logs) {
    const found = new LogContention(log);
    keys.push(...found.keys.values());
    counts.commits += found.commits;
    counts.conflicts += found.conflicts;
    counts.waits += found.waits;
    counts.untold += found.untold;
  }
  return { ...counts, keys: keys.sort(hotter) };
}

/** The order of what is shown. */
export function hotter(a: HotKey, b: HotKey): number {
  return (
    b.lost - a.lost ||
    b.lostPerhaps + b.retries.runs - (a.lostPerhaps + a.retries.runs) ||
    b.waited - a.waited ||
    b.commits - a.commits ||
    (a.key < b.key ? -1 : 1)
  );
}

export function withRetries({ known, runs, most }: Retries, earlier: number): Retries {
  return { known: known + 1, runs: runs + earlier, most: Math.max(most, earlier) };
}

class LogContention {
  readonly keys = new Map<KeyHash, HotKey>();
  commits = 0;
  conflicts = 0;
  waits = 0;
  untold = 0;
  readonly #log: ShardLog;
  /** By their places, which is what conflicts name. */
  readonly #byPlace = new Map<Timestamp, CommittedVerdict>();
  readonly #prepared = new Map<TransactionId, PreparedVerdict>();

  constructor({ log, blocks }: Log) {
    this.#log = log;
    const verdicts = blocks.flatMap(({ block }) => block?.verdicts ?? []);
    for (const verdict of verdicts) {
      if (verdict.kind === "prepared") this.#prepared.set(verdict.id, verdict);
    }
    for (const verdict of verdicts) {
      if (verdict.kind !== "committed") continue;
      this.commits += 1;
      this.#byPlace.set(placeOf(verdict), verdict);
      const earlier = this.#earlierAttempts(verdict);
      for (const write of verdict.writes) {
        const key = this.#keyOf(write, verdict);
        key.commits += 1;
        if (earlier !== undefined) key.retries = withRetries(key.retries, earlier);
      }
    }
    for (const verdict of verdicts) {
      if (verdict.kind === "busy") this.#noteWait(verdict.inTheWay);
      if (verdict.kind === "aborted" && verdict.reason.kind === "conflict") {
        this.#noteConflict(verdict.id, verdict.reason.conflictTimestamp);
      }
    }
  }

  /** Undefined: its payload lies elsewhere, or does not decode. */
  #earlierAttempts(verdict: CommittedVerdict): number | undefined {
    const { payload } = this.#told(verdict);
    if (payload.kind !== "inline") return undefined;
    try {
      return earlierAttemptsOf(payload.bytes);
    } catch (error) {
      if (error instanceof FrameError) return undefined;
      throw error;
    }
  }

  /** The payload of a commit by vote lies where it was prepared. */
  #told(by: HotKey["told"]): HotKey["told"] {
    return by.payload.kind === "prepared" ? (this.#prepared.get(by.id) ?? by) : by;
  }

  #noteConflict(loser: TransactionId, at: Timestamp): void {
    this.conflicts += 1;
    const winner = this.#byPlace.get(at);
    if (winner === undefined) {
      this.untold += 1;
      return;
    }
    const isCertain = winner.writes.length === 1;
    for (const write of winner.writes) {
      const key = this.#keyOf(write, winner);
      if (isCertain) key.lost += 1;
      else key.lostPerhaps += 1;
      if (key.duels.length < limits.duelsMax) key.duels.push({ winner: winner.id, loser });
    }
  }

  #noteWait(inTheWay: TransactionId): void {
    this.waits += 1;
    const open = this.#prepared.get(inTheWay);
    if (open === undefined) {
      this.untold += 1;
      return;
    }
    for (const write of open.writes) this.#keyOf(write, open).waited += 1;
  }

  #keyOf({ table, key }: WriteHashes, by: HotKey["told"]): HotKey {
    const told = this.#told(by);
    const known = this.keys.get(key);
    if (known !== undefined) {
      if (known.told.payload.kind !== "inline") known.told = told;
      return known;
    }
    const none = { commits: 0, lost: 0, lostPerhaps: 0, waited: 0 };
    const retries = { known: 0, runs: 0, most: 0 };
    const made: HotKey = { log: this.#log, table, key, ...none, retries, told, duels: [] };
    this.keys.set(key, made);
    return made;
  }
}
