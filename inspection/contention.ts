/**
 * Which keys are fought over, as far as the logs can tell. Pure. A verdict of a conflict names the
 * commit that won, by its timestamp, and not the key: whoever has written one key has won there for
 * certain, who has written several somewhere among them. The same holds of who was told to wait.
 */
import { placeOf } from "../core/decision.ts";
import type {
  CommittedVerdict,
  KeyHash,
  PreparedVerdict,
  Timestamp,
  TransactionId,
  WriteHashes,
} from "../core/types.ts";
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
  /** A verdict that writes it, whose payload names it; one that carries it, if there is one. */
  told: CommittedVerdict | PreparedVerdict;
  /** Who has lost to whom, for certain or perhaps here: the newest ones. */
  readonly duels: Duel[];
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

function hotter(a: HotKey, b: HotKey): number {
  return (
    b.lost - a.lost ||
    b.lostPerhaps - a.lostPerhaps ||
    b.waited - a.waited ||
    b.commits - a.commits ||
    (a.key < b.key ? -1 : 1)
  );
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
      for (const write of verdict.writes) this.#keyOf(write, verdict).commits += 1;
    }
    for (const verdict of verdicts) {
      if (verdict.kind === "busy") this.#noteWait(verdict.inTheWay);
      if (verdict.kind === "aborted" && verdict.reason.kind === "conflict") {
        this.#noteConflict(verdict.id, verdict.reason.conflictTimestamp);
      }
    }
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
    // The payload of a commit by vote lies where it was prepared.
    const told = by.payload.kind === "prepared" ? (this.#prepared.get(by.id) ?? by) : by;
    const known = this.keys.get(key);
    if (known !== undefined) {
      if (known.told.payload.kind !== "inline") known.told = told;
      return known;
    }
    const none = { commits: 0, lost: 0, lostPerhaps: 0, waited: 0 };
    const made: HotKey = { log: this.#log, table, key, ...none, told, duels: [] };
    this.keys.set(key, made);
    return made;
  }
}
