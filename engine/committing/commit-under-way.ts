/**
 * A sealed transaction on its way: certified, followed by the callers that wait for it, installed.
 * It goes by itself, or it stands for several that are certified as one, who take part in its steps
 * (own-commits.ts).
 */
import { assert } from "../../core/assert.ts";
import { CommitUnknownError } from "../../core/errors.ts";
import type { Consumption } from "../../core/ports.ts";
import type { Timestamp, TransactionId } from "../../core/types.ts";
import type { CommitServices } from "./commit-services.ts";
import { certify, type Certified, type GroupSteps } from "./commit.ts";
import type { Committable } from "./commit-request.ts";
import { ignore, orAborted } from "../concurrency.ts";
import { installCommitted } from "../installing/install-committed.ts";
import { unknownError } from "./request-settler.ts";
import type { TailUser } from "../log/tail-follower.ts";
import type { CommitWay } from "../types.ts";

/**
 * What tells a commit from all others: members of one group share the id, and each has its place.
 */
export type CommitName = { readonly transactionId: TransactionId; readonly place: number };

/** The id that the tail and the oracle know it by, and its proof: shown when it is installed. */
export type CommitId = { readonly id: TransactionId; readonly proof: Uint8Array };

/**
 * How a commit went; what nobody may rely on has not been committed, as far as this process can
 * tell.
 */
export type LocalVerdict =
  | { readonly kind: "committed"; readonly timestamp: Timestamp }
  | { readonly kind: "not-committed" };

/** A commit as one of its members sees it. */
export type SentCommit = {
  readonly commit: CommitUnderWay;
  readonly place: number;
  /** The member's part of what the commit has consumed so far. */
  readonly consumed: () => Consumption;
};

/** What a group does besides. */
export type GroupCourse = GroupSteps & {
  /** A request under the id is on its way. */
  sent(id: TransactionId): void;
  /** @param roundTripMs from the first sending on; undefined if it was not sent. */
  settled(roundTripMs: number | undefined): void;
  /** Its writes are in their tables, or left to others, or never will be. */
  left(): void;
};

type Started = {
  readonly certified: Promise<Certified>;
  readonly decided: Promise<void>;
  readonly installed: Promise<boolean>;
};

export class CommitUnderWay {
  readonly id: TransactionId;
  verdict: LocalVerdict | undefined;
  readonly consumption: Consumption = { readUnits: 0, writeUnits: 0, calls: 0 };
  readonly #services: CommitServices;
  readonly #what: Committable & CommitId;
  readonly #group: GroupCourse | undefined;
  #started: Started | undefined;
  /** The last time. */
  #sentVia: CommitWay = "stream";
  readonly #givenUp = new AbortController();
  /** Keeps the tail back to where it was sealed. */
  readonly #pin: TailUser;
  /** Callers that still wait for the verdict. */
  #waiting = 0;

  constructor(services: CommitServices, what: Committable & CommitId, group?: GroupCourse) {
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
  }

  /** Sends it on its way, in the caller's turn. */
  start(): void {
    assert(this.#started === undefined, "I3: a commit starts once");
    this.#services.session.follower.enter(this.#pin);
    const certified = this.#run();
    this.#started = {
      certified,
      decided: certified.then(ignore, ignore),
      installed: certified.then(
        (each) => this.#install(each),
        () => false,
      ),
    };
  }

  get #running(): Started {
    assert(this.#started !== undefined, "I3: a commit has started");
    return this.#started;
  }

  /** Resolves with the verdict; never rejects. */
  get decided(): Promise<void> {
    return this.#running.decided;
  }

  /** Whether every write reached its table; resolves after the verdict, and never rejects. */
  get installed(): Promise<boolean> {
    return this.#running.installed;
  }

  /** Whether it has its verdict, or was given up. */
  get isOver(): boolean {
    return this.verdict !== undefined || this.#givenUp.signal.aborted;
  }

  async #run(): Promise<Certified> {
    const { session, ports, emit, freshMs } = this.#services;
    const { signal } = this.#givenUp;
    let sentMs: number | undefined;
    try {
      const certified = await certify(ports, session, this.#what, {
        id: this.id,
        undecidedTo: this.#pin.readTimestamp,
        signal,
        call: { signal, consumption: this.consumption },
        freshMs,
        group: this.#group,
        onSent: (transactionId, how) => {
          this.#sentVia = how.via;
          sentMs ??= ports.clock.monotonicMs();
          this.#group?.sent(transactionId);
          emit?.({ kind: "sent", transactionId, ...how });
        },
      });
      this.verdict = { kind: "committed", timestamp: certified.verdict.timestamp };
      return certified;
    } catch (error) {
      this.verdict = { kind: "not-committed" };
      throw error;
    } finally {
      assert(this.verdict !== undefined, "I3: a commit ends with a verdict");
      const roundTripMs = sentMs === undefined ? undefined : ports.clock.monotonicMs() - sentMs;
      this.#group?.settled(roundTripMs);
      if (this.verdict.kind !== "committed") this.#group?.left();
      session.follower.leave(this.#pin);
    }
  }

  /** Nobody waits for it any more, or it is of no use: nothing is sent that is not yet. */
  giveUp(reason: unknown): void {
    this.#givenUp.abort(reason);
  }

  /**
   * The verdict, for the member at that place. It goes on as long as a member waits for it.
   */
  async follow(place: number, signal: AbortSignal): Promise<Certified> {
    this.#waiting += 1;
    try {
      return await orAborted(this.#running.certified, signal);
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
      return await this.#running.certified;
    } catch (error) {
      throw error instanceof CommitUnknownError ? atPlace(error, place) : error;
    }
  }

  async #install(certified: Certified): Promise<boolean> {
    const { proof } = this.#what;
    const how = { proof, via: this.#sentVia, consumption: this.consumption };
    const installed = await installCommitted(this.#services, certified, how);
    this.#group?.left();
    return installed;
  }
}

/** Each caller gets an error of its own. */
function atPlace(error: CommitUnknownError, place: number): CommitUnknownError {
  const { message, transactionId, cause } = error;
  return new CommitUnknownError(message, transactionId, { cause, place });
}
