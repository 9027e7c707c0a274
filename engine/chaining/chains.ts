/**
 * What chains one process's transactions of one shard: which of them are under way, and whose turn
 * it is. A part of its own: with `chaining: false` it is never loaded.
 */
import { assert } from "../../core/assert.ts";
import type { Clock, StoredItem } from "../../core/ports.ts";
import type { KeyHash, Verdict } from "../../core/types.ts";
import type { CommitServices } from "../committing/commit-services.ts";
import type { SentCommit } from "../committing/commit-under-way.ts";
import type { OwnCommits, OwnReads, Sealed } from "../committing/own-commits.ts";
import type { ReadKey } from "../reading/read-key.ts";
import type { TailFollower } from "../log/tail-follower.ts";
import { ChainedReads } from "./chained-reads.ts";
import { CommitGroup } from "./commit-group.ts";
import { ForeignTurns } from "./foreign-turns.ts";
import { LocalCommits } from "./local-commits.ts";
import { LocalReads } from "./local-reads.ts";
import { LocalTurns } from "./local-turns.ts";

export class Chains implements OwnCommits {
  /** What transactions of this process are about to write. */
  readonly commits = new LocalCommits();
  readonly turns: LocalTurns;
  /** Turns of other processes. */
  readonly foreignTurns: ForeignTurns;
  readonly #follower: TailFollower;

  constructor(clock: Clock, follower: TailFollower) {
    this.#follower = follower;
    this.turns = new LocalTurns(clock);
    this.foreignTurns = new ForeignTurns(clock, () => follower.refresh());
  }

  fold(verdict: Verdict): void {
    this.foreignTurns.fold(verdict);
  }

  reads(options: Parameters<OwnCommits["reads"]>[0]): OwnReads {
    const { commits, turns, foreignTurns } = this;
    const tail = () => this.#follower.tail;
    return new LocalReads({
      ...options,
      ...{ commits, turns, foreignTurns, tail },
      commit: (services, sealed, chained) => this.#commit(services, sealed, chained),
    });
  }

  commit(services: CommitServices, sealed: Sealed): SentCommit {
    return this.#commit(services, sealed, new ChainedReads());
  }

  #commit(services: CommitServices, sealed: Sealed, chained: ChainedReads): SentCommit {
    const member = { ...sealed, chained };
    const group = CommitGroup.joinable(member, this.#follower.tail);
    if (group !== undefined) {
      // probe: joined-an-undecided-commit
      return group.sentTo(group.join(member));
    }
    const alone = new CommitGroup(services, this, member);
    alone.start();
    return alone.sentTo(0);
  }

  committed({ hashes, identity }: ReadKey): StoredItem | undefined {
    if (identity === undefined) return undefined;
    return this.commits.committed(hashes.key, identity, this.#follower.tail);
  }

  noteConflict(key: KeyHash): void {
    this.turns.mark(key);
  }

  close(): void {
    assert(this.turns.isIdle, "every attempt gives its turns back");
    assert(this.commits.isEmpty, "I8: every commit of the process ends with a verdict");
  }
}
