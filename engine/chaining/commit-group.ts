/**
 * One or more transactions of this process that are certified as one: the later ones have read what
 * the earlier ones are about to write, so all of them commit, in this order, or none does.
 *
 * A transaction that has read nothing undecided is a group of its own and is sent at once. One that
 * has read from undecided commits waits for their verdicts; meanwhile others that read from it join
 * it. So many increments of one item cost one round trip, one record and one install each time
 * around, instead of one each. So by the stream; a block of this process's own may take it together
 * with what it has read from, in their order, and it waits only where one does not:
 *
 *   log      ──────── A ───────────── B C D ─────────── E F …
 *   A        send ────┤ install
 *   B        reads A's write ┤ send ──┤ install
 *   C, D     read B's, C's writes; join
 *   E                          reads D's write ┤ send …
 *
 * To the oracle a group is one transaction: the union of what its members read from the tables, and
 * the last write of each item. That it commits at one timestamp is serializable, since its members
 * come directly after one another in the order in which they were sealed; and strict, since they
 * all were under way at the same time. Not in the papers.
 */
import * as limits from "../../core/limits.ts";
import type { Clock, Consumption } from "../../core/ports.ts";
import type { Tail } from "../../core/tail.ts";
import type { TransactionReads } from "../../core/transaction-reads.ts";
import type { Isolation, KeyHash, Timestamp, TransactionId } from "../../core/types.ts";
import {
  CommitUnderWay,
  type GroupCourse,
  type LocalVerdict,
  type SentCommit,
} from "../committing/commit-under-way.ts";
import type { CommitServices } from "../committing/commit-services.ts";
import { probedError } from "../committing/commit-request.ts";
import { ignore, noLongerNeeded, orAborted } from "../concurrency.ts";
import { refuseBelowTail, conflictError } from "../conflict-error.ts";
import type { UndecidedRead } from "../express-way.ts";
import type { Sealed } from "../committing/own-commits.ts";
import type { ShardSession } from "../shard-session.ts";
import type { WriteBuffer } from "../attempts/write-buffer.ts";
import type { ChainedReads } from "./chained-reads.ts";
import type { ForeignTurns } from "./foreign-turns.ts";
import type { LocalCommits, LocalConflict, LocalWrite, UndecidedCommit } from "./local-commits.ts";
import type { LocalTurns } from "./local-turns.ts";

/** A sealed transaction, and what it has read from undecided commits. */
export type GroupMember = Sealed & { readonly chained: ChainedReads };

/** The process's other commits, and whose turn it is. */
type Neighbours = {
  readonly commits: LocalCommits;
  readonly turns: LocalTurns;
  readonly foreignTurns: ForeignTurns;
};

export class CommitGroup implements UndecidedCommit, GroupCourse {
  readonly id: TransactionId;
  readonly isolation: Isolation;
  readonly reads: TransactionReads;
  readonly writes: WriteBuffer;
  readonly depth: number;
  readonly #commit: CommitUnderWay;
  /** Whether others may still join, as far as it goes by the group. */
  #isOpen = true;
  /** Whether it is on its way, in a block or to the oracle. */
  #hasBoarded = false;
  #members = 1;
  readonly #session: ShardSession;
  readonly #chains: Neighbours;
  readonly #clock: Clock;
  readonly #chained: ChainedReads;
  readonly #waitsFor: ReadonlySet<UndecidedCommit>;
  /** By the item's identity. */
  readonly #lastWrites = new Map<string, LocalWrite>();
  /** Decisions on its id lie above it. */
  readonly #madeAbove: Timestamp;
  /** Resolves when others that have read from it may follow it into a block. */
  #gathered: Promise<void> = Promise.resolve();
  /** Where no conflict was found: the tail's end, and how many of this process were decided. */
  #checked: { readonly to: Timestamp; readonly decisions: number } | undefined;

  constructor(services: CommitServices, chains: Neighbours, first: GroupMember) {
    const { session } = services;
    this.#session = session;
    this.#chains = chains;
    this.#clock = services.ports.clock;
    this.id = first.id;
    this.isolation = first.isolation;
    this.reads = first.reads;
    this.#madeAbove = first.reads.readTimestamp;
    this.writes = first.writes;
    this.#chained = first.chained;
    this.#waitsFor = first.chained.undecided(session.follower.tail);
    this.depth = Math.max(0, ...Array.from(this.#waitsFor, ({ depth }) => depth + 1));
    this.#commit = new CommitUnderWay(services, first, this);
  }

  /** Sends it on its way, in the caller's turn. What it waits for does not change any more. */
  start(): void {
    for (const each of this.#waitsFor) if (each instanceof CommitGroup) each.#isOpen = false;
    this.#enterWrites(this.writes);
    this.#commit.start();
  }

  get #tail(): Tail {
    return this.#session.follower.tail;
  }

  get decided(): Promise<void> {
    return this.#commit.decided;
  }

  /** Whether others may still join. */
  get isOpen(): boolean {
    return this.#isOpen && !this.#commit.isOver;
  }

  /** Whether one more transaction may be certified with these. */
  #hasRoomFor(member: GroupMember): boolean {
    return (
      this.isOpen &&
      this.isolation === "serializable" &&
      this.#members < limits.chainedTransactionsMax &&
      this.writes.bytes + member.writes.bytes <= limits.chainedBytesMax &&
      this.reads.size + this.writes.size + member.reads.size + member.writes.size <=
        limits.transactionKeysMax
    );
  }

  /**
   * The open group among those that the member has read from, if it may join that one: nothing else
   * is undecided that the group does not wait for itself.
   */
  static joinable(member: GroupMember, tail: Tail): CommitGroup | undefined {
    const undecided = member.chained.undecided(tail);
    const groups = Array.from(undecided).filter((commit) => commit instanceof CommitGroup);
    const open = groups.filter((group) => group.isOpen);
    const [group] = open;
    if (group === undefined || open.length > 1 || !group.#hasRoomFor(member)) return undefined;
    for (const commit of undecided) {
      if (commit !== group && !group.#waitsFor.has(commit)) return undefined;
    }
    return group;
  }

  /**
   * Adds a transaction behind the others, and returns its place among them. The caller has found no
   * conflict in what it has read, up to the tail's end, in this very turn.
   * @throws ConflictError when one of the others has been overtaken.
   */
  join(member: GroupMember): number {
    const tail = this.#tail;
    refuseBelowTail(this.reads, tail);
    const conflict = this.reads.extend(tail);
    if (conflict !== undefined) throw conflictError(conflict, conflict);
    const place = this.#members;
    member.joins({ transactionId: this.id, place });
    // mutant: members-reads-not-checked
    this.reads.absorb(member.reads);
    this.#chained.absorb(member.chained, this);
    // mutant: members-writes-forgotten
    this.writes.absorb(member.writes);
    this.#enterWrites(member.writes);
    this.#members += 1;
    return place;
  }

  /** The commit as the member at that place sees it. */
  sentTo(place: number): SentCommit {
    return { commit: this.#commit, place, consumed: () => this.#shareOf(place) };
  }

  /** Calls stay whole: the first member takes what is left over. */
  #shareOf(place: number): Consumption {
    const { readUnits, writeUnits, calls } = this.#commit.consumption;
    const members = this.#members;
    const callsEach = Math.floor(calls / members);
    return {
      readUnits: readUnits / members,
      writeUnits: writeUnits / members,
      calls: place === 0 ? calls - callsEach * (members - 1) : callsEach,
    };
  }

  #enterWrites(writes: WriteBuffer): void {
    for (const [identity, { item, hashes, sawVersion }] of writes.entries()) {
      const write: LocalWrite = { commit: this, identity, item, hashes, sawVersion };
      this.#lastWrites.set(identity, write);
      this.#chains.commits.add(write);
    }
  }

  isLast(write: LocalWrite): boolean {
    return this.#lastWrites.get(write.identity) === write;
  }

  verdict(tail: Tail): LocalVerdict | undefined {
    if (this.#commit.verdict !== undefined) return this.#commit.verdict;
    // The tail may know before the callers that wait have had their turn; and it may know of a
    // group that is still open, if another process has asked for its outcome. A tail that has begun
    // anew may hold a later decision on the id than the one that stands.
    if (this.#madeAbove < tail.floor) return undefined;
    const decision = tail.decision(this.id);
    if (decision === undefined) return undefined;
    return decision.kind === "committed" ? decision : { kind: "not-committed" };
  }

  conflict(tail: Tail): LocalConflict | undefined {
    if (this.isolation === "snapshot") return undefined;
    const { decisions } = this.#chains.commits;
    // What it rests on may have been given up, of which the log knows nothing.
    if (this.#checked?.to === tail.newest && this.#checked.decisions === decisions)
      return undefined;
    // Whoever has read from it must not wait for it: no copy of it is decided behind a fork.
    if (this.reads.isMoved(tail)) {
      return { read: { table: undefined, key: undefined }, timestamp: tail.rangeSince };
    }
    refuseBelowTail(this.reads, tail);
    const conflict = this.reads.conflict(tail) ?? this.#chained.conflict(tail);
    if (conflict === undefined) this.#checked = { to: tail.newest, decisions };
    return conflict;
  }

  gathered(signal: AbortSignal): Promise<void> {
    this.#gathered = this.#gather(signal);
    return this.#gathered;
  }

  async #gather(signal: AbortSignal): Promise<void> {
    const waits = this.#waitsFor.size > 0;
    if (waits && this.isReady) await this.#predecessorsGathered(signal);
    // One block may take those that it has not taken yet.
    if (waits && (!this.isReady || this.#undecidedGroups().every((each) => each.#hasBoarded))) {
      await this.predecessorsDecided(signal);
    }
    await this.#foreignTurn(signal);
    if (!waits) await this.#joined(signal);
  }

  /** Whether it may be in a block, or needs no other to be there before it. */
  get isReady(): boolean {
    return this.#session.express?.isReady === true || this.undecidedReads().length === 0;
  }

  get areSettled(): boolean {
    return this.#chained.size === 0;
  }

  undecidedReads(): readonly UndecidedRead[] {
    return this.#chained.undecidedReads(this.#tail);
  }

  sent(id: TransactionId): void {
    this.#chains.foreignTurns.noteSent(id);
  }

  settled(roundTripMs: number | undefined): void {
    if (roundTripMs !== undefined) this.#chains.foreignTurns.noteRoundTrip(roundTripMs);
    this.#chains.commits.decide(this, this.#tail);
  }

  left(): void {
    this.#chains.commits.remove(this, this.writes.values());
  }

  #undecidedGroups(): readonly CommitGroup[] {
    return Array.from(this.#chained.undecided(this.#tail)).filter(
      (each) => each instanceof CommitGroup,
    );
  }

  /** Each of them is on its way into the next block, or past that, or is given up. */
  async #predecessorsGathered(signal: AbortSignal): Promise<void> {
    const gathered = Promise.all(this.#undecidedGroups().map((each) => each.#gathered));
    await orAborted(gathered.then(ignore, ignore), signal);
  }

  /**
   * While the group waits, its id is known to those who have joined it. One of them may give up and
   * ask for the outcome, and then the others run again: nothing is sent for an id that is decided.
   */
  async predecessorsDecided(signal: AbortSignal): Promise<void> {
    const unwatch = this.#session.follower.watch(this.id, () => {
      this.#commit.giveUp(probedError());
    });
    const decided = Promise.all(Array.from(this.#waitsFor, (commit) => commit.decided));
    try {
      await orAborted(decided.then(ignore), signal);
    } finally {
      unwatch();
    }
  }

  /**
   * Others whom this process has beaten go first; meanwhile members gather. Once one of them has
   * committed what the group has read, it is of no use to wait on.
   */
  async #foreignTurn(signal: AbortSignal): Promise<void> {
    await this.#chains.foreignTurns.awaitOurTurn(() => this.#contendedKeys(), {
      signal,
      isOver: () => this.conflict(this.#tail) !== undefined,
    });
  }

  /**
   * Others of this process who are at the items that it writes join it: the next turn there may be
   * long in coming.
   */
  async #joined(signal: AbortSignal): Promise<void> {
    const { turns } = this.#chains;
    const keys = Array.from(this.writes.values(), ({ hashes }) => hashes.key);
    if (!keys.some((key) => turns.isHeld(key))) return;
    const over = new AbortController();
    const free = Promise.all(keys.map((key) => turns.free(key))).then(ignore);
    const patience = this.#clock.sleep(limits.gatherMsMax, over.signal).catch(ignore);
    try {
      await orAborted(Promise.race([free, patience]), signal);
    } finally {
      over.abort(noLongerNeeded);
    }
  }

  *#contendedKeys(): Generator<KeyHash> {
    if (this.isolation === "serializable") yield* this.reads.keys.keys();
    for (const { hashes } of this.writes.values()) yield hashes.key;
  }

  /**
   * Ends joining, and makes what was read from predecessors an ordinary part of the read set, where
   * they are decided.
   */
  close(): void {
    this.#isOpen = false;
    this.#hasBoarded = true;
    const tail = this.#tail;
    if (this.#chained.size === 0) return;
    refuseBelowTail(this.reads, tail);
    const conflict = this.reads.extend(tail) ?? this.#chained.conflict(tail);
    if (conflict !== undefined) throw conflictError(conflict, conflict);
    this.#chained.settle(tail, this.reads);
  }
}
