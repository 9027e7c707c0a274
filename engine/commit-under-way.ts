/**
 * A sealed transaction on its way: certified, followed by the callers that wait for it, installed.
 * It goes by itself, or it is a group of several (chaining/commit-group.ts).
 */
import { assert } from "../core/assert.ts";
import { CommitUnknownError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { ClientPorts, Consumption } from "../core/ports.ts";
import type { TransactionId } from "../core/types.ts";
import type { LocalVerdict } from "./chaining/local-commits.ts";
import { certify, type Certified, type Committable } from "./commit.ts";
import { ignore, orAborted } from "./concurrency.ts";
import { writtenItem } from "./installer.ts";
import { unknownError } from "./request-settler.ts";
import type { ShardSession } from "./shard-session.ts";
import type { TailUser } from "./tail-follower.ts";
import type { EngineEvent } from "./types.ts";

/**
 * What tells a commit from all others: members of one group share the id, and each has its place.
 */
export type CommitName = { readonly transactionId: TransactionId; readonly place: number };

export type CommitServices = {
  readonly ports: ClientPorts;
  readonly session: ShardSession;
  readonly freshMs: number;
  readonly emit: ((event: EngineEvent) => void) | undefined;
  /** Work that outlives the call; `close` waits for it. */
  readonly background: Set<Promise<void>>;
};

/** The id that the tail and the oracle know it by, and its proof: shown when it is installed. */
export type CommitId = { readonly id: TransactionId; readonly proof: Uint8Array };

/** What a group does besides. */
export type GroupSteps = {
  /** Before the transaction is certified; ends with the signal. */
  gathered(signal: AbortSignal): Promise<void>;
  /** In the very turn in which payload and checks are taken, before they are. */
  close(): void;
  /** A request under the id is on its way. */
  sent(id: TransactionId): void;
  /** @param roundTripMs from the first sending on; undefined if it was not sent. */
  settled(roundTripMs: number | undefined): void;
  /** Its writes are in their tables, or left to others, or never will be. */
  left(): void;
};

export class CommitUnderWay {
  readonly id: TransactionId;
  /** Resolves with the verdict; never rejects. */
  readonly decided: Promise<void>;
  /** Whether every write reached its table; resolves after the verdict, and never rejects. */
  readonly installed: Promise<boolean>;
  /** Whether others may still join. */
  isOpen = true;
  members = 1;
  verdict: LocalVerdict | undefined;
  readonly #services: CommitServices;
  readonly #what: Committable & CommitId;
  readonly #group: GroupSteps | undefined;
  readonly #certified: Promise<Certified>;
  readonly #givenUp = new AbortController();
  readonly #consumption: Consumption = { readUnits: 0, writeUnits: 0, calls: 0 };
  /** Keeps the tail back to where it was sealed. */
  readonly #pin: TailUser;
  /** Callers that still wait for the verdict. */
  #waiting = 0;

  /** Sends it on its way. */
  constructor(services: CommitServices, what: Committable & CommitId, group?: GroupSteps) {
    this.#services = services;
    this.#what = what;
    this.#group = group;
    this.id = what.id;
    // The tail remembers what has to be checked, also after those who began it have given up; and
    // every decision on its id, which nobody has known until now. So the pin stays where it is,
    // although the read timestamp moves when others join:
    //
    //   group   sealed at 100 ── caller gives up, asks ──────── join: r = 300 ── sent, c = 300
    //   log                                     aborted 105 … the oracle has forgotten the id
    this.#pin = { readTimestamp: what.reads.readTimestamp };
    services.session.follower.enter(this.#pin);
    this.#certified = this.#run();
    this.#certified.catch(ignore);
    this.decided = this.#certified.then(ignore, ignore);
    this.installed = this.#certified.then(
      (certified) => this.#install(certified),
      () => false,
    );
  }

  async #run(): Promise<Certified> {
    const { session, ports, emit, freshMs } = this.#services;
    const { signal } = this.#givenUp;
    let sentMs: number | undefined;
    try {
      await this.#group?.gathered(signal);
      const certified = await certify(ports, session, this.#what, {
        id: this.id,
        undecidedTo: this.#pin.readTimestamp,
        signal,
        call: { signal, consumption: this.#consumption },
        freshMs,
        beforeCheck: () => {
          this.isOpen = false;
          this.#group?.close();
        },
        onSent: (transactionId, resend) => {
          sentMs ??= ports.clock.monotonicMs();
          this.#group?.sent(transactionId);
          emit?.({ kind: "sent", transactionId, resend });
        },
      });
      this.verdict = { kind: "committed", timestamp: certified.verdict.timestamp };
      return certified;
    } catch (error) {
      this.verdict = { kind: "not-committed" };
      throw error;
    } finally {
      assert(this.verdict !== undefined, "I3: a commit ends with a verdict");
      this.isOpen = false;
      const roundTripMs = sentMs === undefined ? undefined : ports.clock.monotonicMs() - sentMs;
      this.#group?.settled(roundTripMs);
      if (this.verdict.kind !== "committed") this.#group?.left();
      session.follower.leave(this.#pin);
    }
  }

  /** Nobody waits for it any more, or it is of no use: nothing is sent that is not yet. */
  giveUp(reason: unknown): void {
    this.isOpen = false;
    this.#givenUp.abort(reason);
  }

  /**
   * The verdict, for the member at that place. It goes on as long as a member waits for it.
   */
  async follow(place: number, signal: AbortSignal): Promise<Certified> {
    this.#waiting += 1;
    try {
      return await orAborted(this.#certified, signal);
    } catch (error) {
      this.#waiting -= 1;
      if (signal.aborted && this.verdict === undefined) return await this.#givenUpBy(place, signal);
      throw error instanceof CommitUnknownError ? atPlace(error, place) : error;
    }
  }

  /**
   * The last one to give up learns how far it got; for the others it goes on, and they cannot know.
   */
  async #givenUpBy(place: number, signal: AbortSignal): Promise<Certified> {
    if (this.#waiting > 0) {
      throw unknownError(this.id, signal, { place });
    }
    this.giveUp(signal.reason);
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
    const report = { timestamp: commitTimestamp, proof: this.#what.proof };
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
          for (const write of payload.writes.keys()) {
            session.installed.note({ timestamp, write }, writtenItem(payload, write));
          }
          session.sender.reportInstalled(report);
        },
        (cause: unknown) => {
          emit?.({ kind: "install-left", transactionId: verdict.id, cause });
        },
      )
      .finally(() => {
        this.#group?.left();
        background.delete(install);
      });
    background.add(install);
    await install;
    return done;
  }

  /**
   * One member's part of what it has consumed so far. Calls stay whole: the first one takes
   * what is left over.
   */
  addShare(place: number, consumption: Consumption): void {
    const { readUnits, writeUnits, calls } = this.#consumption;
    const callsEach = Math.floor(calls / this.members);
    consumption.readUnits += readUnits / this.members;
    consumption.writeUnits += writeUnits / this.members;
    consumption.calls += place === 0 ? calls - callsEach * (this.members - 1) : callsEach;
  }
}

/** Each caller gets an error of its own. */
function atPlace(error: CommitUnknownError, place: number): CommitUnknownError {
  const { message, transactionId, cause } = error;
  return new CommitUnknownError(message, transactionId, { cause, place });
}
