/**
 * The commits of all logs in one order, by the timestamp at which they count: the order of `asOf`.
 * What counts at or below a moment is known once each log has come so far and has no part open that
 * may still count there (docs/protocol.md §10). Parts of one transaction come as one.
 */
import { assert } from "../../core/assert.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type { ShardEntry } from "../../core/shard-map.ts";
import type {
  CommittedVerdict,
  LogPosition,
  ShardNumber,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import type { Call } from "../call.ts";
import { orAborted } from "../concurrency.ts";
import type { Sessions } from "../sessions.ts";
import { reach } from "../sharded/reach.ts";
import { decodeBlock } from "../log/stored-block.ts";
import type { ChangePosition } from "./types.ts";
import { LogCursor, type LogPlace } from "./log-cursor.ts";

/** A committed transaction, with what each of its logs holds of it. */
export type MergedCommit = {
  readonly id: TransactionId;
  readonly timestamp: Timestamp;
  readonly parts: readonly { readonly cursor: LogCursor; readonly verdict: CommittedVerdict }[];
};

const logBegin: LogPlace = { position: 0 as LogPosition, timestamp: 0 as Timestamp };

export class MergedLogs {
  readonly #ports: ClientPorts;
  readonly #sessions: Sessions;
  readonly #cursors = new Map<ShardNumber, LogCursor>();
  #after: ChangePosition;
  #hasMore = true;
  /** Since when a quiet log holds others' commits up. */
  #heldUpSinceMs: number | undefined;

  private constructor(ports: ClientPorts, sessions: Sessions, after: ChangePosition) {
    this.#ports = ports;
    this.#sessions = sessions;
    this.#after = after;
  }

  /** @throws SnapshotTooOldError when a log no longer reaches back so far. */
  static async begin(
    ports: ClientPorts,
    sessions: Sessions,
    { after, call }: { readonly after: ChangePosition; readonly call: Call },
  ): Promise<MergedLogs> {
    const merged = new MergedLogs(ports, sessions, after);
    const seen = new Set<ShardNumber>();
    for (;;) {
      if (sessions.isOld) await orAborted(sessions.learn(), call.signal);
      // Those of joined shards, too: what stands there nobody else gives.
      const unseen = sessions.map.all.filter(({ number }) => !seen.has(number));
      if (unseen.length === 0) break;
      for (const { number } of unseen) seen.add(number);
      // The map may be hours old; their logs say of what was split off since.
      await Promise.all(unseen.map((entry) => merged.#begin(entry, call)));
    }
    merged.#leaveEnded();
    return merged;
  }

  async #begin({ number, forked, ended }: ShardEntry, call: Call): Promise<void> {
    if (ended !== undefined && ended.through <= this.#beginsAfter) return;
    const own = forked && (await this.#placeOf(forked.of, forked.at, call.options));
    await this.#add(number, own ?? logBegin, call);
  }

  /** Logs that were read to their end, or begun behind it: nobody waits for them. */
  #leaveEnded(): void {
    for (const [number, { position }] of this.#cursors) {
      const ended = this.#sessions.map.get(number)?.ended;
      if (ended !== undefined && position >= ended.at) this.#cursors.delete(number);
    }
  }

  /** All that counts at or below it has been given. */
  get position(): ChangePosition {
    return this.#after;
  }

  /** Whether a log goes on behind what was read of it. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** Whether commits wait until other logs have come as far. */
  get holds(): boolean {
    return this.#inOrder().some(({ commits }) => commits.length > 0);
  }

  /**
   * What follows, in order; none: nothing that is known for certain yet.
   * @throws StoreError, CorruptDataError, UnavailableError.
   */
  async next(call: Call): Promise<readonly MergedCommit[]> {
    const before = this.#completeTo();
    const reading = this.#inOrder().map((cursor) => this.#readOn(cursor, before, call));
    this.#hasMore = (await Promise.all(reading)).includes(false);
    await this.#followForks(call);
    const moment = this.#completeTo();
    const found = this.#take(moment);
    const last = found.at(-1);
    if (last !== undefined) {
      this.#after = { timestamp: last.timestamp, id: last.id };
    } else if (moment > this.#after.timestamp) this.#after = { timestamp: moment };
    await this.#hurry(call);
    return found;
  }

  /** By their numbers, not by when they were opened. */
  #inOrder(): readonly LogCursor[] {
    return [...this.#cursors.values()].sort((a, b) => a.number - b.number);
  }

  /**
   * Whether the log's end was reached. One that holds enough waits for the others; but not for
   * what is open in itself, whose end comes behind all that it holds.
   */
  async #readOn(cursor: LogCursor, moment: Timestamp, { options }: Call): Promise<boolean> {
    const holdsEnough = cursor.commits.length >= limits.changesHeldMax;
    if (holdsEnough && cursor.completeTo > moment) return true;
    return cursor.readPage(options);
  }

  #completeTo(): Timestamp {
    const all = [...this.#cursors.values()].map(({ completeTo }) => completeTo);
    assert(all.length > 0, "a deployment has a shard");
    return Math.min(...all) as Timestamp;
  }

  /** Takes what counts at or below the moment. */
  #take(moment: Timestamp): readonly MergedCommit[] {
    type Parts = { cursor: LogCursor; verdict: CommittedVerdict }[];
    const byId = new Map<
      TransactionId,
      { id: TransactionId; timestamp: Timestamp; parts: Parts }
    >();
    for (const cursor of this.#inOrder()) {
      const later: CommittedVerdict[] = [];
      for (const verdict of cursor.commits) {
        const { id, timestamp } = verdict;
        if (timestamp > moment) later.push(verdict);
        else if (isBehind(verdict, this.#after)) {
          const known = byId.get(id);
          if (known === undefined) byId.set(id, { id, timestamp, parts: [{ cursor, verdict }] });
          else known.parts.push({ cursor, verdict });
        }
      }
      cursor.commits.splice(0, cursor.commits.length, ...later);
    }
    return [...byId.values()].sort(inFeedOrder);
  }

  /** Logs that have begun since go on where the old ones' forks stand. */
  async #followForks(call: Call): Promise<void> {
    for (const cursor of [...this.#cursors.values()]) {
      for (const { shard, position, timestamp } of cursor.forks.splice(0)) {
        if (!this.#cursors.has(shard)) await this.#add(shard, { position, timestamp }, call);
      }
    }
  }

  async #add(number: ShardNumber, own: LogPlace, call: Call): Promise<void> {
    const { session } = await orAborted(this.#sessions.of(number), call.signal);
    await orAborted(session.follower.refresh(), call.signal);
    const at = { after: this.#beginsAfter, own, call: call.options };
    this.#cursors.set(number, await LogCursor.begin(this.#ports, session, at));
  }

  /** Others may count at the very timestamp of an id. */
  get #beginsAfter(): Timestamp {
    const { timestamp, id } = this.#after;
    return (id === undefined ? timestamp : timestamp - 1) as Timestamp;
  }

  async #placeOf(of: ShardNumber, position: LogPosition, call: CallOptions): Promise<LogPlace> {
    const { session } = await this.#sessions.of(of);
    const stored = await this.#ports.log.readAt(session.shard, position, call);
    // Expired: nobody goes back so far.
    const end = stored && decodeBlock(stored, session.hashes).throughTimestamp;
    return { position, timestamp: end ?? (0 as Timestamp) };
  }

  /** A quiet log is brought up, if others' commits wait for it, and nothing else has done it. */
  async #hurry(call: Call): Promise<void> {
    const waiting = [...this.#cursors.values()].flatMap(({ commits }) => commits.slice(0, 1));
    const quiet = [...this.#cursors.values()].filter(({ newest }) =>
      waiting.some(({ timestamp }) => newest < timestamp),
    );
    const now = this.#ports.clock.monotonicMs();
    this.#heldUpSinceMs = quiet.length === 0 ? undefined : (this.#heldUpSinceMs ?? now);
    if (now - (this.#heldUpSinceMs ?? now) < limits.changesHeldUpMsMax) return;
    const moment = Math.min(...waiting.map(({ timestamp }) => timestamp)) as Timestamp;
    await Promise.all(quiet.map(({ session }) => reach(this.#ports, session, { moment, call })));
  }
}

function isBehind({ timestamp, id }: CommittedVerdict, after: ChangePosition): boolean {
  if (timestamp !== after.timestamp) return timestamp > after.timestamp;
  return after.id !== undefined && id > after.id;
}

export function inFeedOrder(a: ChangePosition, b: ChangePosition): number {
  if (a.timestamp !== b.timestamp) return a.timestamp - b.timestamp;
  return (a.id ?? "") < (b.id ?? "") ? -1 : 1;
}
