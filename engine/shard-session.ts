/** What one process holds for one shard: its tail, its way into the stream, its installers. */
import { assert } from "../core/assert.ts";
import { LateSignatureError, type StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { OnDemand } from "../core/on-demand.ts";
import type { ClientPorts } from "../core/ports.ts";
import type { TailCommit } from "../core/tail.ts";
import type {
  CommittedVerdict,
  HistoryRetention,
  Payload,
  ShardId,
  Timestamp,
} from "../core/types.ts";
import type { KeyHashes } from "../schemas/key-hashes.ts";
import { waitBackoff } from "./backoff.ts";
import { CommitSender } from "./commit-sender.ts";
import { Semaphore } from "./concurrency.ts";
import type { ExpressWay, WithoutStream } from "./express-way.ts";
import { InstalledCommits } from "./installed-commits.ts";
import { InstallOutbox } from "./install-outbox.ts";
import { Installer, type InstallJob, writeAt, writtenItem } from "./installer.ts";
import type { LogSearches } from "./log-searches.ts";
import type { PayloadLoader } from "./payload-loader.ts";
import { isRefusedForGood } from "./refused-for-good.ts";
import { TailFollower, type FollowedLog, type FollowerOptions } from "./tail-follower.ts";

/** For who installs what others have committed. */
const payloads = new OnDemand("payloads", () => import("./payload-loader.ts"));
/** For who asks about ids of others, or has slept. */
const searches = new OnDemand("searches", () => import("./log-searches.ts"));

const deadLetterBackoff = { baseMs: 50, capMs: 500 };

export class ShardSession {
  readonly shard: ShardId;
  readonly hashes: KeyHashes;
  readonly follower: TailFollower;
  readonly sender: CommitSender;
  readonly installer: Installer;
  /** What of the log's newest commits needs no waiting for. */
  readonly installed = new InstalledCommits();
  /** Of own commits, to replay. */
  readonly reports = new InstallOutbox();
  /** Undefined where all of its commits go by the stream. */
  express: ExpressWay | undefined;
  /** What is told instead of going by the stream, where there is none. */
  withoutStream: WithoutStream | undefined;
  #loader: PayloadLoader | undefined;
  #searches: LogSearches | undefined;
  readonly #ports: ClientPorts;
  readonly #onHelped: (verdict: CommittedVerdict) => void;
  readonly #helping = new Semaphore(limits.finishConcurrencyMax);

  constructor(
    ports: ClientPorts,
    log: FollowedLog,
    options: {
      readonly follower?: Partial<FollowerOptions> | undefined;
      readonly retention: () => Promise<HistoryRetention>;
      readonly onHelped: (verdict: CommittedVerdict) => void;
    },
  ) {
    this.#ports = ports;
    this.shard = log.shard;
    this.hashes = log.hashes;
    this.#onHelped = options.onHelped;
    this.follower = new TailFollower(ports, log, options.follower);
    this.sender = new CommitSender(ports.stream, log, this.reports);
    this.installer = new Installer(ports, {
      retention: options.retention,
      earlier: {
        installedThrough: () => this.follower.tail.installedThrough,
        oldest: (key, range) => this.follower.tail.oldestCommit(key, range),
        // Without a place of the helpers: the one that waits for it may hold the last.
        finish: (commit) => this.#finish([commit], (task) => task()),
      },
    });
  }

  /** Ends following the log. Every call has ended, and what they left running. */
  close(): void {
    this.follower.close();
  }

  load(verdict: CommittedVerdict): Promise<Payload> {
    return payloads.use((part) => {
      this.#loader ??= new part.PayloadLoader(this.#ports, this.shard);
      return this.#loader.load(verdict);
    });
  }

  async searching<T>(task: (searches: LogSearches) => T | Promise<T>): Promise<T> {
    return searches.use(async (part) => {
      this.#searches ??= new part.LogSearches(this.#ports, this);
      return task(this.#searches);
    });
  }

  /**
   * Installs committed writes whose owners have not (Mediator §4.3), unless the watermark says that
   * it is done. `signal` ends it between two commits.
   */
  async finish(commits: readonly TailCommit[], signal?: AbortSignal): Promise<void> {
    await this.#finish(
      commits,
      (task) =>
        this.#helping.run(() => {
          signal?.throwIfAborted();
          return task();
        }),
      signal,
    );
  }

  async #finish(
    commits: readonly TailCommit[],
    run: <Result>(task: () => Promise<Result>) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<void> {
    const window = await this.#openWindow();
    const missing = commits.filter(({ timestamp }) => timestamp > window.installedThrough);
    const payloads = new Map<CommittedVerdict, Payload>();
    await allOrFirstError(
      [...new Set(missing.map(({ verdict }) => verdict))].map(async (verdict) => {
        payloads.set(verdict, await run(() => this.load(verdict)));
      }),
    );
    const due = new Map<CommittedVerdict, number[]>();
    for (const { verdict, write } of this.#notSuperseded(missing, payloads)) {
      due.set(verdict, [...(due.get(verdict) ?? []), write]);
    }
    await allOrFirstError(
      Array.from(due, async ([verdict, writes]) => {
        const payload = payloads.get(verdict);
        assert(payload !== undefined, "I7: what is installed for others was loaded");
        const refusal = await run(() => this.#finishWrites({ verdict, payload, writes }, window));
        // Without a place: others' commits need not wait for replay.
        if (refusal !== undefined) await this.#awaitDeadLetter(verdict, { refusal, signal });
      }),
    );
    for (const commit of commits) {
      const payload = payloads.get(commit.verdict);
      this.installed.note(commit, payload && writtenItem(payload, commit.write));
    }
  }

  /**
   * What lies below a commit of the very item that was installed must not come back: where a plain
   * writer has replaced or deleted the item since, the item itself does not say so any more. With
   * history each version has its turn, so that only what is known to be installed counts.
   */
  #notSuperseded(
    commits: readonly TailCommit[],
    payloads: ReadonlyMap<CommittedVerdict, Payload>,
  ): readonly TailCommit[] {
    const written = commits.flatMap((commit) => {
      const payload = payloads.get(commit.verdict);
      return payload === undefined ? [] : [{ commit, payload }];
    });
    const items = new Map(
      written.map(({ commit, payload }) => [commit, writtenItem(payload, commit.write)]),
    );
    const newest = new Map<string, Timestamp>();
    for (const [{ timestamp }, item] of items) {
      if (timestamp > (newest.get(item) ?? 0)) newest.set(item, timestamp);
    }
    return written.flatMap(({ commit, payload }) => {
      const item = items.get(commit) ?? "";
      const inOrder = writeAt(payload, commit.write).table.history;
      const isSuperseded =
        this.installed.isAbove(commit.timestamp, item) ||
        (!inOrder && (newest.get(item) ?? 0) > commit.timestamp);
      return isSuperseded ? [] : [commit];
    });
  }

  /** Gives the refusal of what no table takes. */
  async #finishWrites(
    job: Pick<InstallJob, "verdict" | "payload" | "writes">,
    first: Window,
  ): Promise<StoreError | undefined> {
    let window = first;
    for (let tries = 1; ; tries += 1) {
      try {
        if (window.installedThrough >= job.verdict.timestamp) return undefined;
        const { signBeforeMs } = window;
        await this.installer.install({ ...job, signBeforeMs, isOwn: false });
        this.#onHelped(job.verdict);
        return undefined;
      } catch (error) {
        if (isRefusedForGood(error)) return error;
        // The process was stopped for longer than the time to sign, or its calls took so long. The
        // time begins anew.
        // mutant: late-helpers-fail-their-reader
        if (!(error instanceof LateSignatureError) || tries >= limits.lateInstallTriesMax)
          throw error;
        // probe: reader-was-late-to-install
        window = await this.#openWindow();
      }
    }
  }

  /**
   * What no table takes must fail no reader: replay makes a dead letter of it, and the watermark
   * passes it. `refusal` is thrown when that takes too long: replay stands still.
   */
  async #awaitDeadLetter(
    { timestamp }: CommittedVerdict,
    { refusal, signal }: { readonly refusal: StoreError; readonly signal: AbortSignal | undefined },
  ): Promise<void> {
    const { clock } = this.#ports;
    const untilMs = clock.monotonicMs() + limits.deadLetterWaitMsMax;
    for (let attempt = 0; ; attempt += 1) {
      const watermark = await this.follower.readWatermark();
      if (watermark.timestamp >= timestamp) return;
      if (clock.monotonicMs() >= untilMs) throw refusal;
      await waitBackoff(this.#ports, { backoff: deadLetterBackoff, attempt, signal });
    }
  }

  /**
   * The time to sign begins before the watermark is read: whatever the watermark has not passed
   * then, no reaper has removed a tombstone of (docs/protocol.md §7).
   */
  async #openWindow(): Promise<Window> {
    const signBeforeMs = this.#ports.clock.nowMs() + limits.installSignMsMax;
    const { timestamp } = await this.follower.readWatermark();
    return { signBeforeMs, installedThrough: timestamp };
  }
}

/** When installs for others may be signed. */
type Window = { readonly signBeforeMs: number; readonly installedThrough: Timestamp };

async function allOrFirstError(tasks: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(tasks);
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
