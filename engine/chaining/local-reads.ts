/**
 * One attempt's side of its process's undecided commits: what it reads from them, the turns that it
 * takes at contended items, and what that asks of its end (chained-reads.ts, local-commits.ts,
 * local-turns.ts).
 */
import { assert } from "../../core/assert.ts";
import * as limits from "../../core/limits.ts";
import type { Tail } from "../../core/tail.ts";
import type { Item } from "../../core/types.ts";
import type { CommitServices } from "../committing/commit-services.ts";
import type { SentCommit } from "../committing/commit-under-way.ts";
import { asError, orAborted } from "../concurrency.ts";
import { refuseBelowTail, conflictError } from "../conflict-error.ts";
import type { OwnCommits, OwnReads, Sealed } from "../committing/own-commits.ts";
import type { ReadKey } from "../reading/read-key.ts";
import { ChainedReads } from "./chained-reads.ts";
import type { ForeignTurns } from "./foreign-turns.ts";
import type { LocalCommits, LocalConflict } from "./local-commits.ts";
import { type LocalTurns, TurnTaker } from "./local-turns.ts";

export type LocalReadsOptions = Parameters<OwnCommits["reads"]>[0] & {
  readonly commits: LocalCommits;
  readonly turns: LocalTurns;
  readonly foreignTurns: ForeignTurns;
  readonly tail: () => Tail;
  readonly commit: (services: CommitServices, sealed: Sealed, chained: ChainedReads) => SentCommit;
};

export class LocalReads implements OwnReads {
  readonly chained = new ChainedReads();
  readonly #options: LocalReadsOptions;
  readonly #taker: TurnTaker;

  constructor(options: LocalReadsOptions) {
    this.#options = options;
    this.#taker = new TurnTaker(options.sinceMs);
  }

  get isChained(): boolean {
    return this.chained.size > 0;
  }

  get #tail(): Tail {
    return this.#options.tail();
  }

  /**
   * Whether a transaction of this process is about to write there, or some of them have met
   * conflicts there.
   */
  isContended(key: ReadKey): boolean {
    const { hashes, identity } = key;
    const { commits, turns, foreignTurns } = this.#options;
    if (identity === undefined) return false;
    return (
      commits.has(hashes.key, identity) ||
      turns.isContended(hashes.key) ||
      foreignTurns.isTaken(hashes.key)
    );
  }

  /** Waits for this process's turn among the processes, then for the turn within this one. */
  async takeTurn({ hashes: { key }, identity }: ReadKey): Promise<void> {
    const { commits, turns, foreignTurns, call } = this.#options;
    // What joins a commit of this process waits with it.
    const joins = (): boolean =>
      identity !== undefined && commits.undecided(key, identity, this.#tail) !== undefined;
    await foreignTurns.awaitOurTurn(() => [key], { signal: call.signal, isOver: joins });
    await turns.take(this.#taker, key, call.signal);
  }

  commit(services: CommitServices, sealed: Sealed): SentCommit {
    try {
      return this.#options.commit(services, sealed, this.chained);
    } finally {
      this.close();
    }
  }

  /** Lets others have their turns: what this transaction writes is known now, or never will be. */
  close(): void {
    this.#options.turns.end(this.#taker);
  }

  /**
   * The item as an undecided commit of this process is about to leave it, at the read timestamp
   * with the undecided commits on top (I8): so nothing read so far may be overtaken by any of them.
   * Undefined when there is none. One that too many others have to precede is not waited for:
   * whoever has read nothing undecided comes before it; others cannot tell what is below it.
   * @throws ConflictError
   */
  chain(key: ReadKey): { readonly item: Item | undefined } | undefined {
    const { hashes, identity } = key;
    if (identity === undefined) return undefined;
    const write = this.#options.commits.undecided(hashes.key, identity, this.#tail);
    if (write === undefined) return undefined;
    const read = { table: key.table.name, key: key.key };
    if (write.commit.depth >= limits.chainDepthMax) {
      if (this.isChained) throw this.#conflictError({ read, timestamp: undefined });
      return undefined;
    }
    // probe: read-from-an-undecided-commit
    this.#extendAll();
    // mutant: overtaken-reads-chained
    this.#assertNotOvertaken();
    this.chained.add(write, read);
    // Where the other one has seen a version, the item has one for whoever reads from it, too
    // (docs/protocol.md §7, Plain writes).
    if (write.sawVersion && write.item !== undefined) this.#options.noteVersioned(identity);
    return { item: write.item };
  }

  /**
   * Resolves once no transaction of this process is about to write there, as far as it could be
   * known at the call.
   */
  async localDecided({ hashes, identity }: ReadKey): Promise<void> {
    if (identity === undefined) return;
    const { commits, call } = this.#options;
    await orAborted(commits.decided(hashes.key, identity), call.signal);
  }

  /**
   * Moves the read timestamp to the tail's end: whatever was read is still the newest there, from
   * the tables and from undecided commits.
   * @throws ConflictError
   */
  #extendAll(): void {
    const { reads, doom } = this.#options;
    try {
      refuseBelowTail(reads, this.#tail);
    } catch (error) {
      throw doom(asError(error));
    }
    const conflict = reads.extend(this.#tail);
    if (conflict !== undefined) throw doom(conflictError(conflict, conflict));
    this.assertChained();
  }

  /**
   * @throws ConflictError when what was read from an undecided commit cannot be relied on any more.
   */
  assertChained(): void {
    if (!this.isChained) return;
    const conflict = this.chained.conflict(this.#tail, this.#options.commits);
    if (conflict !== undefined) throw this.#conflictError(conflict);
  }

  /**
   * As far as this process can tell, what was read comes after all its undecided commits.
   * @throws ConflictError
   */
  #assertNotOvertaken(): void {
    const { commits, reads } = this.#options;
    const overtaken = commits.overtakes(reads, this.#tail);
    if (overtaken === undefined) return;
    // probe: overtaken-by-an-undecided-commit
    throw this.#conflictError(overtaken);
  }

  #conflictError({ read, timestamp }: LocalConflict): Error {
    const by = timestamp === undefined ? "process" : "tail";
    return this.#options.doom(conflictError({ read }, { timestamp, by }));
  }

  /**
   * Makes sure of all that was read, up to the tail's end; the caller goes on in the same turn.
   * @throws ConflictError
   */
  seal(): void {
    this.#settleDecided();
    this.#assertNotOvertaken();
  }

  /**
   * Waits until all that was read from undecided commits is committed, with what other reads of the
   * body read from such commits meanwhile:
   *
   *   query(p)   page is there, A's value is chained ─── waits for A ─────┤ and for B
   *   get(y)                                      B's value is chained ─┘
   *
   * Ends: each time around more items have been read.
   * @throws ConflictError when one of them is not committed.
   */
  async settle(): Promise<void> {
    for (let rounds = 0; this.isChained; rounds += 1) {
      assert(rounds <= limits.transactionKeysMax, "I8: what is waited for is decided then");
      await orAborted(this.chained.decided(), this.#options.call.signal);
      this.#settleDecided();
    }
  }

  #settleDecided(): void {
    this.#extendAll();
    this.chained.settle(this.#tail, this.#options.reads);
  }
}
