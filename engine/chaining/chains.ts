/**
 * What chains one process's transactions of one shard: which of them are under way, and whose turn
 * it is. A part of its own: with `chaining: false` it is never loaded.
 */
import { assert } from "../../core/assert.ts";
import type { CallOptions, Clock, StoredItem } from "../../core/ports.ts";
import type { TransactionReads } from "../../core/transaction-reads.ts";
import type { Isolation, Verdict } from "../../core/types.ts";
import type { CommitId, CommitServices, CommitUnderWay } from "../commit-under-way.ts";
import type { OwnCommits } from "../shard-session.ts";
import type { TailFollower } from "../tail-follower.ts";
import { ChainedReads } from "./chained-reads.ts";
import { CommitGroup, type GroupMember } from "./commit-group.ts";
import { ForeignTurns } from "./foreign-turns.ts";
import { LocalCommits } from "./local-commits.ts";
import { LocalReads, type LocalKey } from "./local-reads.ts";
import { LocalTurns } from "./local-turns.ts";

/** A transaction at its end, by itself so far. */
export type Sealed = Omit<GroupMember, "chained"> &
  CommitId & { readonly isolation: Isolation; readonly local: LocalReads | undefined };

export class Chains implements OwnCommits {
  /** What transactions of this process are about to write. */
  readonly commits = new LocalCommits();
  readonly turns: LocalTurns;
  /** Turns of other processes. */
  readonly foreignTurns: ForeignTurns;
  readonly #follower: () => TailFollower;

  constructor(clock: Clock, follower: () => TailFollower) {
    this.#follower = follower;
    this.turns = new LocalTurns(clock);
    this.foreignTurns = new ForeignTurns(clock, () => follower().refresh());
  }

  fold(verdict: Verdict): void {
    this.foreignTurns.fold(verdict);
  }

  /** One attempt's side of it. */
  reads(options: {
    readonly reads: TransactionReads;
    readonly call: CallOptions;
    readonly sinceMs: number;
    readonly doom: (error: Error) => Error;
  }): LocalReads {
    const { commits, turns, foreignTurns } = this;
    const tail = () => this.#follower().tail;
    return new LocalReads({ commits, turns, foreignTurns, tail, ...options });
  }

  /** Sends it on its way, in one turn: by itself, or with those from which it has read. */
  commit(services: CommitServices, sealed: Sealed): { commit: CommitUnderWay; place: number } {
    const chained = sealed.local?.chained ?? new ChainedReads();
    const member = { ...sealed, chained };
    const group = CommitGroup.joinable(member, this.#follower().tail);
    if (group === undefined) {
      return { commit: new CommitGroup(services, this, member).commit, place: 0 };
    }
    // probe: joined-an-undecided-commit
    return { commit: group.commit, place: group.join(member) };
  }

  committed({ hashes, identity }: LocalKey): StoredItem | undefined {
    if (identity === undefined) return undefined;
    return this.commits.committed(hashes.key, identity, this.#follower().tail);
  }

  /** Every call has ended, and what they left running. */
  close(): void {
    assert(this.turns.isIdle, "every attempt gives its turns back");
    assert(this.commits.isEmpty, "I8: every commit of the process ends with a verdict");
  }
}
