/**
 * What one attempt sees: a view of each shard that it touches, opened with its first read or write
 * there. They share one fate. In a deployment with one shard its view is open from the beginning.
 *
 * A body that touches one more shard has the others looked at beside its first read there, so that
 * a conflict is found early. What it has read of several shards is true at one moment once its end
 * has made sure of that (end-without-commit.ts), or its commit has.
 */
import { TransactionReads } from "../../core/transaction-reads.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type { ShardEntry } from "../../core/shard-map.ts";
import type {
  Isolation,
  KeyHash,
  LogPosition,
  ShardNumber,
  Timestamp,
  TransactionId,
  WriteHashes,
} from "../../core/types.ts";
import type { ViewMode } from "../../core/visibility.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import type { AttemptFate } from "./attempt-fate.ts";
import type { AttemptServices } from "./attempt-services.ts";
import type { RememberedPart } from "./remembered-state.ts";
import { ignore, orAborted } from "../concurrency.ts";
import { OnDemand } from "../../core/on-demand.ts";
import { ReadView, type Beginning } from "../reading/read-view.ts";
import { bringAllAbout } from "../committing/request-settler.ts";
import type { OpenSession } from "../sessions.ts";
import { assert } from "../../core/assert.ts";
import { RangeMovedError } from "../conflict-error.ts";

const timestampMax = Number.MAX_SAFE_INTEGER as Timestamp;

const handing = new OnDemand("joins of shards", () => import("../sharded/handover.ts"));
const reaching = new OnDemand("the past of several shards", () => import("../sharded/reach.ts"));

export type AttemptOptions = {
  readonly mode: ViewMode;
  readonly isolation: Isolation;
  readonly maxStalenessMs: number;
  /** Whether its caller asks for what may be behind: then of mixed tables nothing can be had. */
  readonly isStale?: boolean;
  /**
   * Wall clock, read before anything that the attempt goes by (the registry's age, a token's): a
   * machine that slept since then is found out by the age of the view. Default: now.
   */
  readonly startedMs?: number;
  /** Where to read, for `fixed`. */
  readonly reads?: TransactionReads;
  /** What it has read in calls before, by shard. */
  readonly resumed?: ReadonlyMap<ShardNumber, ResumedPart>;
  /**
   * Whether it may begin by the tail as it is: its body runs again if that was wrong. Not below
   * serializable, where what was read is not checked.
   */
  readonly mayGoUnasked?: boolean;
  /** Whether it may read what other transactions of this process are about to write. */
  readonly chains?: boolean;
};

/** What goes on in this call, which has looked at the log's end. */
export type ResumedPart = Pick<RememberedPart, "changedAt"> & { readonly reads: TransactionReads };

export class AttemptViews {
  readonly fate: AttemptFate;
  readonly #services: AttemptServices;
  readonly #options: AttemptOptions;
  readonly #views = new Map<ShardNumber, ReadView>();
  readonly #opening = new Map<ShardNumber, Promise<ReadView>>();
  /** By which change of each log's range it reads there. */
  readonly #changedAt = new Map<ShardNumber, LogPosition>();
  /** Whether its shards are found: what it reads in another one from now on nobody would check. */
  #isComplete = false;

  constructor(services: AttemptServices, options: AttemptOptions, fate: AttemptFate) {
    this.#services = services;
    this.#options = options;
    this.fate = fate;
  }

  get hashes(): KeyHashes {
    return this.#services.sessions.hashes;
  }
  get mode(): ViewMode {
    return this.#options.mode;
  }
  get isolation(): Isolation {
    return this.#options.isolation;
  }

  /** Those that are open. */
  get all(): readonly ReadView[] {
    return [...this.#views.values()];
  }

  /** Of a deployment with one shard: its view, which is open. */
  get lone(): ReadView {
    const [view, ...others] = this.#views.values();
    assert(view !== undefined && others.length === 0, "attempt: it has one view");
    return view;
  }

  /** What they have read so far: keys and predicates. */
  get readCount(): number {
    let count = 0;
    for (const view of this.#views.values()) count += view.readCount;
    return count;
  }

  /** The highest; of the past, the moment that was asked for. 0 where nothing was looked at yet. */
  get readTimestamp(): Timestamp {
    let highest = this.#options.reads?.readTimestamp ?? (0 as Timestamp);
    for (const { readTimestamp } of this.#views.values()) {
      if (readTimestamp > highest) highest = readTimestamp;
    }
    return highest;
  }

  get ports(): ClientPorts {
    return this.#services.ports;
  }
  get call(): CallOptions {
    return this.#services.call.options;
  }

  assertOpen(): void {
    this.fate.assertOpen();
  }

  /** Waits for the looks at the logs' ends of those that are open. */
  async ready(): Promise<void> {
    this.assertOpen();
    await Promise.all(this.all.map((view) => view.ready()));
  }

  /** Opens what is open from the beginning. */
  async begin(): Promise<void> {
    const { lone, map } = this.#services.sessions;
    const resumed = [...(this.#options.resumed?.keys() ?? [])];
    const entries = lone === undefined ? resumed.flatMap((each) => map.get(each) ?? []) : [lone];
    await Promise.all(entries.map((entry) => this.#of(entry)));
  }

  /** What it has read of tables that only transactions write, by shard. */
  get parts(): readonly RememberedPart[] {
    const isLone = this.#services.sessions.lone !== undefined;
    return this.all
      .filter(({ reads }) => isLone || reads.size > 0)
      .map(({ session: { number: shard }, reads }) => {
        const changedAt = this.#changedAt.get(shard);
        assert(changedAt !== undefined, "attempt: it is known of each view");
        const { readTimestamp, keys, predicates } = reads;
        const hashes = { keys: [...keys.keys()], predicates: [...predicates.keys()] };
        return { shard, changedAt, readTimestamp, ...hashes };
      })
      .sort((a, b) => a.shard - b.shard);
  }

  /** Of the shard in which the partition lies. */
  at(partition: KeyHash): ReadView | Promise<ReadView> {
    const entry = this.#services.sessions.at(partition);
    this.#assertLive();
    return this.#views.get(entry.number) ?? this.#openedAt(partition, entry);
  }

  /** What its log says when it is opened may be that the partition lies in another shard. */
  async #openedAt(partition: KeyHash, entry: ShardEntry): Promise<ReadView> {
    const view = await this.#of(entry);
    const now = this.#services.sessions.at(partition);
    return now.number === entry.number ? view : this.#openedAt(partition, now);
  }

  /** As `at`, of one that is open. @throws RangeMovedError where the shard was split meanwhile. */
  openAt({ partition }: Pick<WriteHashes, "partition">): ReadView {
    const view = this.#views.get(this.#services.sessions.at(partition).number);
    if (view === undefined) throw this.fate.doom(new RangeMovedError());
    return view;
  }

  /** Of all shards: what is scanned lies in each. */
  async everywhere(): Promise<readonly ReadView[]> {
    const { sessions } = this.#services;
    const { map } = sessions;
    const views = await Promise.all(map.entries.map((entry) => this.#of(entry)));
    return sessions.map === map ? views : this.everywhere();
  }

  /**
   * Its commit is certified in these shards: whoever goes on reading beside it, in a body that has
   * returned, is refused in all others.
   */
  complete(touched: ReadonlySet<ReadView>): void {
    this.#isComplete = true;
    for (const view of this.#views.values()) if (!touched.has(view)) view.leaveOut();
  }

  /** Ends the attempt, whatever is open of it: later reads and writes are refused. */
  close(): void {
    this.fate.close("the transaction has ended; begin a new one");
    for (const view of this.#views.values()) view.close();
  }

  /**
   * What was read in a shard that has ended since does not go with what the new map says.
   * @throws RangeMovedError
   */
  #assertLive(): void {
    const { map } = this.#services.sessions;
    if (map.ended.length === 0) return;
    for (const view of this.#views.values()) {
      const hasRead = view.readCount > 0 || view.local?.isChained === true;
      const isOver = hasRead && map.live(view.session.number) === undefined;
      if (isOver && this.#options.mode !== "fixed") throw this.fate.doom(new RangeMovedError());
    }
  }

  /**
   * Waits until those of these shards have ended that are closing: their logs take nothing new.
   * @throws RangeMovedError where one has, and the attempt is over.
   */
  async untilOpen(touched: readonly ReadView[]): Promise<void> {
    this.#assertLive();
    const closing = touched.filter(
      ({ session }) => session.follower.started && session.follower.tail.standing === "closing",
    );
    if (closing.length === 0) return;
    const { untilEnded } = await orAborted(handing.load(), this.#services.call.signal);
    await Promise.all(closing.map(({ session }) => untilEnded(this.#services, session)));
    throw this.fate.doom(new RangeMovedError());
  }

  #of(entry: ShardEntry): Promise<ReadView> {
    const { number } = entry;
    const known = this.#opening.get(number);
    if (known !== undefined) return known;
    const opening = this.#open(entry).catch((error: unknown) => {
      this.#opening.delete(number);
      throw error;
    });
    this.#opening.set(number, opening);
    return opening;
  }

  async #open({ number }: ShardEntry): Promise<ReadView> {
    const { sessions, call } = this.#services;
    // What was in one shard must not be seen as of two moments, not even by a body that is bound to
    // fail.
    for (const view of this.all) view.assertUnmoved();
    const open = await orAborted(sessions.of(number), call.signal);
    const { follower } = open.session;
    const tailAgeMs = follower.ageMs;
    const isFirst = !follower.started;
    if (isFirst) await orAborted(follower.refresh(), call.signal);
    if (sessions.isOld) await orAborted(sessions.learn(), call.signal);
    // The map may say more of the log than the tail has seen: that it has taken another's range.
    const isBehind = follower.tail.position < sessions.map.changedAt(number);
    if (isBehind && sessions.map.live(number) !== undefined) {
      await orAborted(follower.refresh(), call.signal);
    }
    // mutant: reads-after-end
    if (follower.tail.standing === "ended" && sessions.map.live(number) !== undefined) {
      const { untilTaken } = await orAborted(handing.load(), call.signal);
      await untilTaken(this.#services, open.session);
      throw this.fate.doom(new RangeMovedError());
    }
    const view = this.#view(open, { isFirst, tailAgeMs });
    // Its attempt may have ended meanwhile.
    if (this.fate.isClosed) view.close();
    if (this.#isComplete) view.leaveOut();
    this.#views.set(number, view);
    // Of what the tail does not show yet its end will say that the range was another one.
    const changedAt = sessions.map.changedAt(number, follower.tail.position);
    this.#changedAt.set(number, this.#options.resumed?.get(number)?.changedAt ?? changedAt);
    return view;
  }

  #view(
    { session, own }: OpenSession,
    { isFirst, tailAgeMs }: { readonly isFirst: boolean; readonly tailAgeMs: number },
  ): ReadView {
    const { ports, sessions, call } = this.#services;
    const { mode, isolation, maxStalenessMs, isStale = false, chains = false } = this.#options;
    const { follower } = session;
    // Never by age alone: a clock that stands still would make a refresh from before this call look
    // new enough.
    const resumed = this.#options.resumed?.get(session.number);
    // Of one that goes on the caller has looked at those logs only.
    const isLookedAt = this.#options.resumed === undefined || resumed !== undefined;
    const mayBeBehind = maxStalenessMs > 0 && isLookedAt;
    const isFresh = isFirst || (mayBeBehind && follower.ageMs <= maxStalenessMs);
    if (isFirst) call.completeTails.add(session);
    const begins = isFresh ? "refreshed" : this.#beginning(session);
    const others = this.all;
    const steps: (() => Promise<void>)[] = [];
    if (mode === "fixed" && sessions.lone === undefined) steps.push(() => this.#reach(session));
    else if (!isFresh && begins === "refreshed") steps.push(this.#onceStarted(session));
    const isBeside = others.length > 0 && resumed === undefined;
    if (mode !== "fixed" && isBeside) steps.push(() => lookAgainAt(others));
    // What it does not know of may be as old as the tail.
    if (begins === "unasked") this.fate.goesBy(ports.clock.nowMs() - tailAgeMs);
    const reads = resumed?.reads ?? this.#readsFor(follower.tail.newest);
    const local = chains
      ? own?.reads({
          reads,
          call: call.options,
          sinceMs: call.beganMs,
          noteVersioned: (identity) => {
            this.fate.versioned.add(identity);
          },
          doom: (error) => this.fate.doom(error),
        })
      : undefined;
    const { signal, options } = call;
    return new ReadView(ports, session, {
      ...{ mode, isolation, fate: this.fate, begins, reads, isStale, own, local },
      refreshed: () => allOf(steps),
      call: options,
      settle: (ids: readonly TransactionId[], met: number) =>
        bringAllAbout(ports, session, { ids, met, signal, call: options }),
    });
  }

  #readsFor(newest: Timestamp): TransactionReads {
    const { reads } = this.#options;
    if (reads === undefined) return new TransactionReads(newest);
    if (this.#services.sessions.lone !== undefined) return reads;
    const { readTimestamp } = reads;
    // What lay in the shard at that moment, the log has said already.
    const isPast = readTimestamp <= newest;
    return new TransactionReads(readTimestamp, isPast ? timestampMax : newest);
  }

  #beginning(session: OpenSession["session"]): Beginning {
    const { call } = this.#services;
    if (this.#options.mayGoUnasked !== true) return "refreshed";
    if (call.completeTails.has(session)) return "again";
    return session.express?.isAlone === true ? "unasked" : "refreshed";
  }

  /**
   * Looks at the log's end: at once; or, where tables are mixed, when it is first needed, which a
   * transaction of theirs may never do.
   */
  #onceStarted(session: OpenSession["session"]): () => Promise<void> {
    const { call, registry } = this.#services;
    const look = async (): Promise<void> => {
      await session.follower.refresh();
      call.completeTails.add(session);
    };
    let looked: Promise<void> | undefined;
    const started = (): Promise<void> => {
      if (looked === undefined) {
        looked = look();
        looked.catch(ignore);
      }
      return looked;
    };
    if (!registry.hasMixed) void started();
    return started;
  }

  /** Until the log has come to the moment of the past that is read. */
  #reach(session: OpenSession["session"]): Promise<void> {
    const { ports, call } = this.#services;
    const moment = this.readTimestamp;
    return reaching.use(({ reach }) => reach(ports, session, { moment, call }));
  }
}

/** What was read of other shards, beside the first read of one more. */
async function lookAgainAt(others: readonly ReadView[]): Promise<void> {
  const touched = others.filter((view) => view.readCount > 0 || view.local?.isChained === true);
  await Promise.all(
    touched.map(async (view) => {
      await view.settleChained();
      await view.extendToEnd();
    }),
  );
}

function allOf(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const [only, ...others] = steps;
  if (only === undefined) return Promise.resolve();
  if (others.length === 0) return only();
  return Promise.all(steps.map((step) => step())).then(ignore);
}
