/**
 * A client enters what became of its own transaction in each log of it, by the proof of its id,
 * beside what comes next (docs/protocol.md, section 10). What it leaves undone whoever meets the
 * part does, or replay.
 */
import { assert } from "../../core/assert.ts";
import * as limits from "../../core/limits.ts";
import type {
  Answer,
  CommittedVerdict,
  Payload,
  Timestamp,
  TransactionId,
  WholeOutcome,
} from "../../core/types.ts";
import type { AttemptServices } from "../attempts/attempt-services.ts";
import { ignore, noLongerNeeded } from "../concurrency.ts";
import { installCommitted } from "../installing/install-committed.ts";
import type { ShardSession } from "../shard-session.ts";
import type { CommitWay } from "../types.ts";
import { enterIn } from "./settle-outcome.ts";

/** A part whose log has answered. */
export type PlacedPart = {
  readonly session: ShardSession;
  /** Newest timestamp of its log when it was made: below where it is prepared. */
  readonly from: Timestamp;
  readonly payload: Payload;
  readonly sentMs: number;
  readonly via: CommitWay;
  readonly answer: Answer;
};

/** Its id, what its vote shows, and what replay is shown (schemas/transaction-id.ts). */
export type OwnName = {
  readonly id: TransactionId;
  readonly proof: Uint8Array;
  readonly secret: Uint8Array;
};

export class OwnOutcome {
  readonly #services: AttemptServices;
  readonly #name: OwnName;

  constructor(services: AttemptServices, name: OwnName) {
    this.#services = services;
    this.#name = name;
  }

  /** Whether all its writes are installed; never rejects. */
  async commit(
    prepared: readonly PlacedPart[],
    whole: Extract<WholeOutcome, { kind: "committed" }>,
  ): Promise<boolean> {
    const installs = prepared.map((part) => this.#keep(this.#commitIn(part, whole)));
    return (await Promise.all(installs)).every((isDone) => isDone);
  }

  async #commitIn(part: PlacedPart, whole: WholeOutcome): Promise<boolean> {
    const { ports, call } = this.#services;
    const { session, answer, payload, sentMs, via } = part;
    const { timestamp: from } = answer;
    const entered = answer.kind === "committed" ? answer : await this.#enter(part, from, whole);
    if (entered.kind !== "committed") return false;
    assertCounts(entered, whole);
    if (payload.writes.length === 0) return true;
    await this.#enterInHeirs(part, whole);
    // Its client has heard of the commit as a whole, once.
    const emit = this.#services.emit;
    const quiet: typeof emit = (event) => {
      if (event.kind !== "certified") emit?.(event);
    };
    const here = { ...this.#services, session, ports, emit: quiet };
    const own = { proof: this.#name.secret, via, consumption: call.consumption };
    return installCommitted(here, { verdict: entered, payload, sentMs }, own);
  }

  /**
   * Of a shard that was split since the part was sent, the other log has it open as well, and so
   * has what was split off that: what is met in a table its readers must find decided there.
   */
  async #enterInHeirs({ session, from }: PlacedPart, whole: WholeOutcome): Promise<void> {
    await this.#services.sessions.forHeirs(session.number, from, async (heir) => {
      const opened = heir.follower.tail.open.get(this.#name.id);
      if (opened === undefined) return;
      await this.#enter({ session: heir }, opened.prepared.timestamp, whole);
    });
  }

  /** What a vote shows. */
  get proof(): Uint8Array {
    return this.#name.proof;
  }

  /**
   * Where its part is, or may come to be, prepared. Its caller need not wait for it. Never rejects.
   */
  async abort(
    parts: readonly Pick<PlacedPart, "session">[],
    onWay: ReadonlySet<ShardSession>,
  ): Promise<void> {
    await Promise.all(
      parts.map((part) => this.#keep(this.#abortIn(part, onWay.has(part.session)))),
    );
  }

  async #abortIn({ session }: Pick<PlacedPart, "session">, isOnWay: boolean): Promise<boolean> {
    const { id } = this.#name;
    const isOpen = (): boolean => session.follower.tail.open.get(id) !== undefined;
    if (!isOpen() && isOnWay) await this.#answered(session);
    if (!isOpen()) await session.follower.refresh();
    const opened = session.follower.tail.open.get(id);
    if (opened !== undefined) {
      await this.#enter({ session }, opened.prepared.timestamp, { kind: "aborted" });
    }
    return true;
  }

  /** Waits a while for the log's answer to a part that is on its way. */
  async #answered({ follower }: ShardSession): Promise<void> {
    const over = new AbortController();
    const verdict = follower.awaitVerdict(this.#name.id, over.signal);
    const patience = this.#services.ports.clock.sleep(limits.openPatienceMsMax, over.signal);
    verdict.catch(ignore);
    patience.catch(ignore);
    try {
      await Promise.race([verdict, patience]);
    } finally {
      over.abort(noLongerNeeded);
    }
  }

  /** @throws when that takes too long: whoever meets the part enters it then. */
  async #enter(
    { session }: Pick<PlacedPart, "session">,
    from: Timestamp,
    whole: WholeOutcome,
  ): ReturnType<typeof enterIn> {
    const { ports } = this.#services;
    const { id, proof } = this.#name;
    const tooLong = new AbortController();
    const { signal } = tooLong;
    const over = new AbortController();
    ports.clock.sleep(limits.withdrawMsMax, over.signal).then(() => {
      tooLong.abort(noLongerNeeded);
    }, ignore);
    try {
      const vote = { proof, stamps: [], whole };
      const enter = { kind: "vote", vote } as const;
      return await enterIn(ports, session, { id, from, signal, call: { signal }, enter });
    } finally {
      over.abort(noLongerNeeded);
    }
  }

  /** What fails is left to whoever meets it, and to replay. */
  #keep(work: Promise<boolean>): Promise<boolean> {
    const { background } = this.#services;
    const done = work.catch((cause: unknown) => {
      this.#services.emit?.({ kind: "install-left", transactionId: this.#name.id, cause });
      return false;
    });
    const kept: Promise<void> = done.then(ignore, ignore).finally(() => {
      background.delete(kept);
    });
    background.add(kept);
    return done;
  }
}

function assertCounts({ timestamp }: CommittedVerdict, whole: WholeOutcome): void {
  const isSame = whole.kind === "committed" && whole.timestamp === timestamp;
  assert(isSame, "I3: a transaction counts at one timestamp in all its logs");
}
