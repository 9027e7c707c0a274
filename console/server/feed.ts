/**
 * The live stream: follows the logs while somebody watches, and tells of it by events that all
 * watchers share (event-ring.ts). While nobody does, nothing is read.
 */
import { TransactionError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports.ts";
import type { LogPosition } from "../../core/types.ts";
import { publicError } from "../../engine/public-error.ts";
import { ifAllowed } from "../../inspection/allowed.ts";
import { openBaseFindings } from "../../inspection/base-checks.ts";
import type { Deployment, ShardLog } from "../../inspection/deployment.ts";
import { feedFindings } from "../../inspection/feed-checks.ts";
import { allFeeds } from "../../inspection/feeds.ts";
import { findingsOf, type Finding } from "../../inspection/findings.ts";
import { blocksAfter, newestBlocks, type ReadBlock } from "../../inspection/log-reading.ts";
import { shardStates } from "../../inspection/shard-state.ts";
import { shownBlock } from "../../inspection/shown-block.ts";
import { isProvisioning } from "../../inspection/tally.ts";
import * as limits from "../limits.ts";
import type { BlockLine, FaultState, LiveEvent, State } from "../wire.ts";
import { EventRing, type RingEvent } from "./event-ring.ts";
import { blockLine, stateOf } from "./lines.ts";
import { Seconds } from "./seconds.ts";
import type { Seen, Sight } from "./sight.ts";

/** Paces: of looks at the logs, and of whole states, which ask the stores more. */
const paces = {
  local: { lookMs: 500, stateMs: 2_000, feedsMs: 10_000 },
  aws: { lookMs: 1_000, stateMs: 10_000, feedsMs: 60_000 },
} as const;
/** What the rates of a state are of. */
const recentMs = 10_000;
const pauseAfterTroubleMs = 1_000;
/** So long it goes on after the last watcher left: a page that is loaded anew misses nothing. */
const lingerMs = 5_000;

/** Where one log is read to, and when blocks behind its watermark were made. */
type Followed = { position: LogPosition; readonly madeMs: Map<LogPosition, number> };

export type FeedOptions = {
  readonly sight: Sight;
  /** Tells this run's events from those of another. */
  readonly run: string;
  readonly faults: (() => FaultState) | undefined;
  /** A defect: what nobody can do anything about but us. */
  readonly report: (error: unknown) => void;
};

export class Feed {
  readonly #sight: Sight;
  readonly #clock: Clock;
  readonly #faults: FeedOptions["faults"];
  readonly #report: FeedOptions["report"];
  readonly #ring: EventRing;
  #seconds = new Seconds();
  readonly #closed = new AbortController();
  readonly #followed = new Map<string, Followed>();
  #blocks: readonly BlockLine[] = [];
  #state: State | undefined;
  #stateAtMs = -Infinity;
  #feedFindings: readonly Finding[] = [];
  #feedsAtMs = -Infinity;
  #trouble: string | undefined;
  #toldFaults = "";
  #watchers = 0;
  #leftAtMs = -Infinity;
  #following: Promise<void> | undefined;

  constructor({ sight, run, faults, report }: FeedOptions) {
    this.#sight = sight;
    this.#clock = sight.clock;
    this.#faults = faults;
    this.#report = report;
    this.#ring = new EventRing(run);
  }

  get watchers(): number {
    return this.#watchers;
  }

  /**
   * Events from behind that one on, as they come: all that is known first, where it is none of
   * ours or too long ago. Ends with the signal, or when the feed is closed.
   */
  async *watch(
    last: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<{ readonly id: string; readonly data: string }> {
    const ended = AbortSignal.any([signal, this.#closed.signal]);
    this.#watchers += 1;
    this.#following ??= this.#follow();
    try {
      let at = this.#ring.numberOf(last);
      while (!ended.aborted) {
        const events: readonly RingEvent[] | undefined =
          at === undefined ? undefined : this.#ring.after(at);
        if (events === undefined) {
          at = this.#ring.newest;
          yield { id: this.#ring.idOf(at), data: JSON.stringify(this.#start()) };
          continue;
        }
        for (const { number, data } of events) {
          at = number;
          yield { id: this.#ring.idOf(number), data };
        }
        if (at !== undefined) await this.#ring.changed(at, ended);
      }
    } finally {
      this.#watchers -= 1;
      this.#leftAtMs = this.#clock.monotonicMs();
    }
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error("the console is closed"));
    await this.#following;
  }

  #start(): LiveEvent {
    const nowMs = this.#clock.nowMs();
    return {
      kind: "start",
      nowMs,
      seconds: this.#seconds.all(nowMs),
      blocks: this.#blocks,
      state: this.#state,
      faults: this.#faults?.(),
      trouble: this.#trouble,
    };
  }

  #tell(event: LiveEvent): void {
    this.#ring.push(JSON.stringify(event));
  }

  get #isWatched(): boolean {
    if (this.#closed.signal.aborted) return false;
    return this.#watchers > 0 || this.#clock.monotonicMs() - this.#leftAtMs < lingerMs;
  }

  async #follow(): Promise<void> {
    const { lookMs } = this.#sight.isLocal ? paces.local : paces.aws;
    // What was read before may lie far back: who comes now is shown the log as it is now.
    this.#followed.clear();
    this.#seconds = new Seconds();
    this.#blocks = [];
    while (this.#isWatched) {
      let pauseMs: number = lookMs;
      try {
        await this.#look();
        this.#tellTrouble(undefined);
      } catch (thrown) {
        pauseMs = pauseAfterTroubleMs;
        const error = publicError(thrown);
        const isTold = error instanceof TransactionError;
        if (!isTold) this.#report(error);
        this.#tellTrouble(isTold ? error.message : "the console has met a fault of its own");
      }
      await this.#clock.sleep(pauseMs, this.#closed.signal).catch(() => undefined);
    }
    this.#following = undefined;
  }

  #tellTrouble(message: string | undefined): void {
    if (message === this.#trouble) return;
    this.#trouble = message;
    this.#tell({ kind: "trouble", message });
  }

  async #look(): Promise<void> {
    const seen = await this.#sight.seen();
    const { logs } = seen.deployment;
    // Faults first: they are told also where the stores do not answer.
    this.#tellFaults();
    const looked = await Promise.all(logs.map((log) => this.#lookAt(seen, log)));
    const lines = looked.flatMap(({ blocks }) => blocks).sort((a, b) => a.timestamp - b.timestamp);
    const newest = lines.slice(-limits.blocksShownMax);
    const left = looked.reduce((sum, { left: more }) => sum + more, 0);
    const skipped = left + lines.length - newest.length;
    if (newest.length > 0) {
      this.#blocks = [...this.#blocks, ...newest].slice(-limits.blocksShownMax);
      this.#tell({ kind: "blocks", blocks: newest, skipped });
    }
    await this.#noteLag(seen);
    const nowMs = this.#clock.nowMs();
    const seconds = this.#seconds.changes(nowMs);
    if (seconds.length > 0) this.#tell({ kind: "seconds", nowMs, seconds });
    await this.#tellState(seen);
  }

  #tellFaults(): void {
    if (this.#faults === undefined) return;
    const faults = this.#faults();
    const text = JSON.stringify(faults);
    if (text === this.#toldFaults) return;
    this.#toldFaults = text;
    this.#tell({ kind: "faults", faults });
  }

  /** What is new in one log: the newest of it, with their names; `left` blocks are not shown. */
  async #lookAt(
    { deployment, names }: Seen,
    log: ShardLog,
  ): Promise<{ readonly blocks: readonly BlockLine[]; readonly left: number }> {
    const { log: store } = deployment.ports;
    const known = this.#followed.get(log.shard);
    const read =
      known === undefined
        ? await this.#firstBlocks(store, log)
        : await blocksAfter(store, log, {
            after: known.position,
            blocksMax: limits.blocksPerLookMax,
          });
    const followed = known ?? { position: 0 as LogPosition, madeMs: new Map() };
    this.#followed.set(log.shard, followed);
    for (const each of read) this.#take(followed, each);
    const shown = read.slice(-limits.blocksShownMax);
    const lines = await Promise.all(
      shown.map((block) => shownBlock(log, block, { wanted: {}, names, search: "block" })),
    );
    const blocks = lines.flatMap((each) => (each === undefined ? [] : [blockLine(each)]));
    return { blocks, left: known === undefined ? 0 : read.length - blocks.length };
  }

  async #firstBlocks(
    store: Parameters<typeof newestBlocks>[0],
    log: ShardLog,
  ): Promise<readonly ReadBlock[]> {
    const sinceMs = this.#clock.nowMs() - limits.secondsKept * 1_000;
    const newest = await newestBlocks(store, log, {
      blocksMax: limits.firstBlocksMax,
      until: ({ block }) => block !== undefined && block.throughTimestamp / 1_000 < sinceMs,
    });
    return [...newest].reverse();
  }

  #take(followed: Followed, { block, position }: ReadBlock): void {
    followed.position = position;
    if (block === undefined) return;
    const { madeMs } = followed;
    this.#seconds.add(block);
    const at = Math.max(block.throughTimestamp / 1_000, block.arrivalMs);
    if (!isProvisioning(block)) madeMs.set(position, at);
    if (madeMs.size <= limits.blockTimesKept) return;
    const [oldest] = madeMs.keys();
    if (oldest !== undefined) madeMs.delete(oldest);
  }

  /** How old the oldest block is behind any watermark. */
  async #noteLag({ deployment }: Seen): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const lags = await Promise.all(
      deployment.logs.map(async ({ shard }) => {
        const followed = this.#followed.get(shard);
        if (followed === undefined) return 0;
        const watermark = await deployment.ports.control.readWatermark(shard);
        if (watermark === undefined) return 0;
        for (const position of followed.madeMs.keys()) {
          if (position > watermark.position) break;
          followed.madeMs.delete(position);
        }
        const [oldestMs] = followed.madeMs.values();
        return oldestMs === undefined ? 0 : Math.max(0, nowMs - oldestMs);
      }),
    );
    this.#seconds.lag(nowMs, Math.max(0, ...lags));
  }

  async #tellState({ deployment }: Seen): Promise<void> {
    const { stateMs } = this.#sight.isLocal ? paces.local : paces.aws;
    if (this.#clock.monotonicMs() - this.#stateAtMs < stateMs) return;
    this.#stateAtMs = this.#clock.monotonicMs();
    const nowMs = this.#clock.nowMs();
    const states = await shardStates(deployment, { windowMs: recentMs, nowMs });
    const streamless = deployment.registry.streamless === true;
    const findings = [
      ...findingsOf(states, { nowMs, streamless }),
      ...(await openBaseFindings(deployment, nowMs)),
      ...(await this.#feedsFound(deployment)),
    ];
    this.#state = stateOf(states, findings, { nowMs, windowMs: recentMs });
    this.#tell({ kind: "state", state: this.#state });
  }

  /** Each of them takes some reads of every log, so that they are looked at less often. */
  async #feedsFound(deployment: Deployment): Promise<readonly Finding[]> {
    const { feedsMs } = this.#sight.isLocal ? paces.local : paces.aws;
    const monotonicMs = this.#clock.monotonicMs();
    if (monotonicMs - this.#feedsAtMs < feedsMs) return this.#feedFindings;
    this.#feedsAtMs = monotonicMs;
    const nowMs = this.#clock.nowMs();
    const seen = await ifAllowed(() => allFeeds(deployment, nowMs));
    this.#feedFindings = feedFindings(seen, nowMs);
    return this.#feedFindings;
  }
}
