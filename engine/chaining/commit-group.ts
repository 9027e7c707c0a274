/**
 * One or more transactions of this process that are certified as one: the later ones have read what
 * the earlier ones are about to write, so all of them commit, in this order, or none does.
 *
 * A transaction that has read nothing undecided is a group of its own and is sent at once. One that
 * has read from undecided commits waits for their verdicts; meanwhile others that read from it join
 * it. So many increments of one item cost one round trip, one record and one install each time
 * around, instead of one each:
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
import { assert } from "../../core/assert.ts";
import { CommitUnknownError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ClientPorts, Consumption } from "../../core/ports.ts";
import type { Tail } from "../../core/tail.ts";
import type { TransactionReads } from "../../core/transaction-reads.ts";
import type { Isolation, KeyHash, Timestamp, TransactionId } from "../../core/types.ts";
import { certify, probedError, type Certified, type Committable } from "../commit.ts";
import { asError, ignore, noLongerNeeded, orAborted } from "../concurrency.ts";
import { assertWithinTail, conflictError } from "../conflict-error.ts";
import type { ShardSession } from "../shard-session.ts";
import type { TailUser } from "../tail-follower.ts";
import type { EngineEvent } from "../types.ts";
import type { WriteBuffer } from "../write-buffer.ts";
import type { ChainedReads } from "./chained-reads.ts";
import type { LocalConflict, LocalVerdict, LocalWrite, UndecidedCommit } from "./local-commits.ts";

/**
 * What tells a commit from all others: members of one group share the id, and each has its place.
 */
export type CommitName = { readonly transactionId: TransactionId; readonly place: number };

/** A sealed transaction. */
export type GroupMember = {
  readonly reads: TransactionReads;
  readonly writes: WriteBuffer;
  readonly chained: ChainedReads;
  /** Called if it joins a group, right before the group takes its writes over. */
  readonly joins?: ((name: CommitName) => void) | undefined;
};

export type GroupServices = {
  readonly ports: ClientPorts;
  readonly session: ShardSession;
  readonly freshMs: number;
  readonly emit: ((event: EngineEvent) => void) | undefined;
  /** Work that outlives the call; `close` waits for it. */
  readonly background: Set<Promise<void>>;
};

export class CommitGroup implements UndecidedCommit, Committable {
  readonly id: TransactionId;
  readonly #proof: Uint8Array;
  readonly isolation: Isolation;
  readonly reads: TransactionReads;
  readonly writes: WriteBuffer;
  readonly depth: number;
  readonly decided: Promise<void>;
  /** Whether every write reached its table; resolves after the verdict, and never rejects. */
  readonly installed: Promise<boolean>;
  readonly #services: GroupServices;
  readonly #chained: ChainedReads;
  readonly #waitsFor: ReadonlySet<UndecidedCommit>;
  readonly #certified: Promise<Certified>;
  readonly #givenUp = new AbortController();
  readonly #consumption: Consumption = { readUnits: 0, writeUnits: 0, calls: 0 };
  /** By the item's identity. */
  readonly #lastWrites = new Map<string, LocalWrite>();
  /** Keeps the tail back to where the group was made. */
  readonly #pin: TailUser;
  #isOpen = true;
  #members = 1;
  /** Callers that still wait for the verdict. */
  #waiting = 0;
  #verdict: LocalVerdict | undefined;
  /** The tail's end up to which no conflict was found. */
  #checkedTo: Timestamp | undefined;

  constructor(
    services: GroupServices,
    first: GroupMember & {
      readonly id: TransactionId;
      /** The proof of the id: it is shown when the commit is installed. */
      readonly proof: Uint8Array;
      readonly isolation: Isolation;
    },
  ) {
    const { session } = services;
    this.#services = services;
    this.id = first.id;
    this.#proof = first.proof;
    this.isolation = first.isolation;
    this.reads = first.reads;
    this.writes = first.writes;
    this.#chained = first.chained;
    this.#waitsFor = first.chained.undecided(session.follower.tail);
    for (const commit of this.#waitsFor) if (commit instanceof CommitGroup) commit.#isOpen = false;
    this.depth = Math.max(0, ...Array.from(this.#waitsFor, ({ depth }) => depth + 1));
    this.#enterWrites(first.writes);
    // The tail remembers what the group has to check, also after those who began it have given up;
    // and every decision on its id, which nobody has known until now. So the pin stays where it is,
    // although the read timestamp moves when others join:
    //
    //   group   sealed at 100 ── caller gives up, asks ──────── join: r = 300 ── sent, c = 300
    //   log                                     aborted 105 … the oracle has forgotten the id
    this.#pin = { readTimestamp: first.reads.readTimestamp };
    session.follower.enter(this.#pin);
    this.#certified = this.#run();
    this.#certified.catch(ignore);
    this.decided = this.#certified.then(ignore, ignore);
    this.installed = this.#certified.then(
      (certified) => this.#install(certified),
      () => false,
    );
  }

  /**
   * Whether one more transaction may be certified with these. What waits for this group must not
   * see it change.
   */
  #hasRoomFor(member: GroupMember): boolean {
    return (
      this.#isOpen &&
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
    const open = groups.filter((group) => group.#isOpen);
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
    const { session } = this.#services;
    assertWithinTail(this.reads, session.follower.tail);
    const conflict = this.reads.extend(session.follower.tail);
    if (conflict !== undefined) throw conflictError(conflict, conflict);
    const place = this.#members;
    member.joins?.({ transactionId: this.id, place });
    // mutant: members-reads-not-checked
    this.reads.absorb(member.reads);
    this.#chained.absorb(member.chained, this);
    // mutant: members-writes-forgotten
    this.writes.absorb(member.writes);
    this.#enterWrites(member.writes);
    this.#members += 1;
    return place;
  }

  #enterWrites(writes: WriteBuffer): void {
    for (const [identity, { item, hashes }] of writes.entries()) {
      const write: LocalWrite = { commit: this, identity, item, hashes };
      this.#lastWrites.set(identity, write);
      this.#services.session.local.add(write);
    }
  }

  isLast(write: LocalWrite): boolean {
    return this.#lastWrites.get(write.identity) === write;
  }

  verdict(tail: Tail): LocalVerdict | undefined {
    if (this.#verdict !== undefined) return this.#verdict;
    // The tail may know before the callers that wait have had their turn; and it may know of a
    // group that is still open, if another process has asked for its outcome.
    const decision = tail.decision(this.id);
    if (decision === undefined || decision.kind === "stale") return undefined;
    return decision.kind === "committed" ? decision : { kind: "not-committed" };
  }

  conflict(tail: Tail): LocalConflict | undefined {
    if (this.isolation === "snapshot") return undefined;
    if (this.#checkedTo === tail.newest) return undefined;
    assertWithinTail(this.reads, tail);
    const conflict = this.reads.conflict(tail) ?? this.#chained.conflict(tail);
    if (conflict === undefined) this.#checkedTo = tail.newest;
    return conflict;
  }

  async #run(): Promise<Certified> {
    const { session, ports, emit, freshMs } = this.#services;
    let sentMs: number | undefined;
    try {
      await this.#predecessorsDecided();
      await this.#foreignTurn();
      if (this.#waitsFor.size === 0) await this.#gathered();
      const certified = await certify(ports, session, this, {
        id: this.id,
        undecidedTo: this.#pin.readTimestamp,
        signal: this.#givenUp.signal,
        call: { signal: this.#givenUp.signal, consumption: this.#consumption },
        freshMs,
        beforeCheck: () => {
          this.#close();
        },
        onSent: (transactionId, resend) => {
          sentMs ??= ports.clock.monotonicMs();
          session.foreignTurns.noteSent(transactionId);
          emit?.({ kind: "sent", transactionId, resend });
        },
      });
      this.#verdict = { kind: "committed", timestamp: certified.verdict.timestamp };
      return certified;
    } catch (error) {
      this.#verdict = { kind: "not-committed" };
      throw error;
    } finally {
      assert(this.#verdict !== undefined, "I3: a group ends with a verdict");
      if (sentMs !== undefined) {
        session.foreignTurns.noteRoundTrip(ports.clock.monotonicMs() - sentMs);
      }
      this.#isOpen = false;
      session.local.decide(this, session.follower.tail);
      if (this.#verdict.kind !== "committed") session.local.remove(this, this.writes.values());
      session.follower.leave(this.#pin);
    }
  }

  /**
   * While the group waits, its id is known to those who have joined it. One of them may give up and
   * ask for the outcome, and then the others run again: nothing is sent for an id that is decided.
   */
  async #predecessorsDecided(): Promise<void> {
    if (this.#waitsFor.size === 0) return;
    const unwatch = this.#services.session.follower.watch(this.id, () => {
      this.#isOpen = false;
      this.#givenUp.abort(probedError());
    });
    const decided = Promise.all(Array.from(this.#waitsFor, (commit) => commit.decided));
    try {
      await orAborted(decided.then(ignore), this.#givenUp.signal);
    } finally {
      unwatch();
    }
  }

  /**
   * Others whom this process has beaten go first; meanwhile members gather. Once one of them has
   * committed what the group has read, it is of no use to wait on.
   */
  async #foreignTurn(): Promise<void> {
    const { session } = this.#services;
    await session.foreignTurns.awaitOurTurn(() => this.#contendedKeys(), {
      signal: this.#givenUp.signal,
      isOver: () => this.conflict(session.follower.tail) !== undefined,
    });
  }

  /**
   * Others of this process who are at the items that it writes join it: the next turn there may be
   * long in coming.
   */
  async #gathered(): Promise<void> {
    const { session, ports } = this.#services;
    const keys = Array.from(this.writes.values(), ({ hashes }) => hashes.key);
    if (!keys.some((key) => session.turns.isHeld(key))) return;
    const over = new AbortController();
    const free = Promise.all(keys.map((key) => session.turns.free(key))).then(ignore);
    const patience = ports.clock.sleep(limits.gatherMsMax, over.signal).catch(ignore);
    try {
      await orAborted(Promise.race([free, patience]), this.#givenUp.signal);
    } finally {
      over.abort(noLongerNeeded);
    }
  }

  *#contendedKeys(): Generator<KeyHash> {
    if (this.isolation === "serializable") yield* this.reads.keys.keys();
    for (const { hashes } of this.writes.values()) yield hashes.key;
  }

  /** Ends joining, and makes what was read from predecessors an ordinary part of the read set. */
  #close(): void {
    const { session } = this.#services;
    const { tail } = session.follower;
    this.#isOpen = false;
    if (this.#chained.size === 0) return;
    assertWithinTail(this.reads, tail);
    const conflict = this.reads.extend(tail) ?? this.#chained.conflict(tail);
    if (conflict !== undefined) throw conflictError(conflict, conflict);
    this.#chained.settle(tail, this.reads);
    assert(this.#chained.size === 0, "I4: a group is sent after all that it has read from");
  }

  /**
   * The verdict, for the member at that place. The group goes on as long as a member waits for it.
   */
  async follow(place: number, signal: AbortSignal): Promise<Certified> {
    this.#waiting += 1;
    try {
      return await orAborted(this.#certified, signal);
    } catch (error) {
      this.#waiting -= 1;
      if (signal.aborted && this.#verdict === undefined) return await this.#giveUp(place, signal);
      throw error instanceof CommitUnknownError ? atPlace(error, place) : error;
    }
  }

  /**
   * The last one to give up learns how far it got; for the others it goes on, and they cannot know.
   */
  async #giveUp(place: number, signal: AbortSignal): Promise<Certified> {
    if (this.#waiting > 0) {
      throw new CommitUnknownError(
        `no decision on transaction ${this.id} was seen in time; outcome("${this.id}") settles it`,
        this.id,
        { cause: asError(signal.reason), place },
      );
    }
    this.#isOpen = false;
    this.#givenUp.abort(signal.reason);
    try {
      return await this.#certified;
    } catch (error) {
      throw error instanceof CommitUnknownError ? atPlace(error, place) : error;
    }
  }

  async #install(certified: Certified): Promise<boolean> {
    const { session, ports, emit, background } = this.#services;
    const { verdict, payload, sentMs } = certified;
    const { id: transactionId, timestamp: commitTimestamp } = verdict;
    emit?.({ kind: "certified", transactionId, commitTimestamp });
    const report = { timestamp: commitTimestamp, proof: this.#proof };
    // mutant: installed-said-too-early
    const nowMs = ports.clock.nowMs();
    const signBeforeMs = Math.min(nowMs + limits.installSignMsMax, sentMs + limits.ownInstallMsMax);
    let done = false;
    const install = session.installer
      .install({ verdict, payload, signBeforeMs, isOwn: true }, { consumption: this.#consumption })
      .then(
        () => {
          done = true;
          const { timestamp } = verdict;
          for (const write of payload.writes.keys()) session.installed.note({ timestamp, write });
          session.sender.reportInstalled(report);
        },
        (cause: unknown) => {
          emit?.({ kind: "install-left", transactionId: verdict.id, cause });
        },
      )
      .finally(() => {
        session.local.remove(this, this.writes.values());
        background.delete(install);
      });
    background.add(install);
    await install;
    return done;
  }

  /**
   * One member's part of what the group has consumed so far. Calls stay whole: the first one takes
   * what is left over.
   */
  addShare(place: number, consumption: Consumption): void {
    const { readUnits, writeUnits, calls } = this.#consumption;
    const callsEach = Math.floor(calls / this.#members);
    consumption.readUnits += readUnits / this.#members;
    consumption.writeUnits += writeUnits / this.#members;
    consumption.calls += place === 0 ? calls - callsEach * (this.#members - 1) : callsEach;
  }
}

/** Each caller gets an error of its own. */
function atPlace(error: CommitUnknownError, place: number): CommitUnknownError {
  const { message, transactionId, cause } = error;
  return new CommitUnknownError(message, transactionId, { cause, place });
}
