/** What one process holds for one shard: its tail, its way into the stream, its installers. */
import { LateSignatureError, type StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { OnDemand } from "../core/on-demand.ts";
import type { ClientPorts, StoredItem } from "../core/ports.ts";
import type { TailCommit } from "../core/tail.ts";
import type {
  CommittedVerdict,
  HistoryRetention,
  Payload,
  ShardId,
  Verdict,
} from "../core/types.ts";
import type { KeyHashes } from "../schemas/key-hashes.ts";
import { waitBackoff } from "./backoff.ts";
import type { LocalKey } from "./chaining/local-reads.ts";
import { CommitSender } from "./commit-sender.ts";
import { Semaphore } from "./concurrency.ts";
import { InstalledCommits } from "./installed-commits.ts";
import { Installer } from "./installer.ts";
import type { PayloadLoader } from "./payload-loader.ts";
import { isRefusedForGood } from "./refused-for-good.ts";
import { TailFollower, type FollowedLog, type FollowerOptions } from "./tail-follower.ts";

/** For who installs what others have committed. */
const payloads = new OnDemand("payloads", () => import("./payload-loader.ts"));

const deadLetterBackoff = { baseMs: 50, capMs: 500 };

/** What is known of the process's own commits (chaining/chains.ts). */
export interface OwnCommits {
  /** What was committed there last, and may still be on its way into the table. */
  committed(key: LocalKey): StoredItem | undefined;
  /** Takes in the next verdict of the log. */
  fold(verdict: Verdict): void;
  close(): void;
}

export class ShardSession {
  readonly shard: ShardId;
  readonly hashes: KeyHashes;
  readonly follower: TailFollower;
  readonly sender: CommitSender;
  readonly installer: Installer;
  /** What of the log's newest commits needs no waiting for. */
  readonly installed = new InstalledCommits();
  /** Undefined where the process does not chain its transactions. */
  readonly own: OwnCommits | undefined;
  #loader: PayloadLoader | undefined;
  readonly #ports: ClientPorts;
  readonly #onHelped: (verdict: CommittedVerdict) => void;
  readonly #helping = new Semaphore(limits.finishConcurrencyMax);

  constructor(
    ports: ClientPorts,
    { shard, hashes }: Pick<FollowedLog, "shard" | "hashes">,
    options: {
      readonly follower?: Partial<FollowerOptions> | undefined;
      readonly retention: () => Promise<HistoryRetention>;
      readonly onHelped: (verdict: CommittedVerdict) => void;
      readonly own?: ((follower: () => TailFollower) => OwnCommits) | undefined;
    },
  ) {
    this.#ports = ports;
    this.shard = shard;
    this.hashes = hashes;
    this.#onHelped = options.onHelped;
    const own = options.own?.(() => this.follower);
    this.own = own;
    const onVerdict =
      own &&
      ((verdict: Verdict): void => {
        own.fold(verdict);
      });
    this.follower = new TailFollower(ports, { shard, hashes, onVerdict }, options.follower);
    this.sender = new CommitSender(ports.stream, { shard, hashes });
    this.installer = new Installer(ports, {
      retention: options.retention,
      earlier: {
        installedThrough: () => this.follower.tail.installedThrough,
        oldest: (key, range) => this.follower.tail.oldestCommit(key, range),
        finish: (commit) => this.finish([commit]),
      },
    });
  }

  /** Ends following the log. Every call has ended, and what they left running. */
  close(): void {
    this.follower.close();
    this.own?.close();
  }

  load(verdict: CommittedVerdict): Promise<Payload> {
    return payloads.use((part) => {
      this.#loader ??= new part.PayloadLoader(this.#ports, this.shard);
      return this.#loader.load(verdict);
    });
  }

  /**
   * Installs committed writes whose owners have not (Mediator §4.3), unless the watermark says that
   * it is done. `signal` ends it between two commits.
   */
  async finish(commits: readonly TailCommit[], signal?: AbortSignal): Promise<void> {
    const writesOf = new Map<CommittedVerdict, number[]>();
    for (const { verdict, write } of commits) {
      writesOf.set(verdict, [...(writesOf.get(verdict) ?? []), write]);
    }
    const tasks = Array.from(writesOf, ([verdict, writes]) =>
      this.#helping.run(() => {
        signal?.throwIfAborted();
        return this.#finishWrites(verdict, writes, signal);
      }),
    );
    const failed = (await Promise.allSettled(tasks)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
    for (const commit of commits) this.installed.note(commit);
  }

  async #finishWrites(
    verdict: CommittedVerdict,
    writes: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#finishInTime(verdict, writes);
        return;
      } catch (error) {
        if (isRefusedForGood(error)) {
          await this.#awaitDeadLetter(verdict, { refusal: error, signal });
          return;
        }
        // The process was stopped for longer than the time to sign, or its calls took so long. The
        // time begins anew.
        // mutant: late-helpers-fail-their-reader
        if (!(error instanceof LateSignatureError) || tries >= limits.lateInstallTriesMax)
          throw error;
        // probe: reader-was-late-to-install
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
  async #finishInTime(verdict: CommittedVerdict, writes: readonly number[]): Promise<void> {
    const signBeforeMs = this.#ports.clock.nowMs() + limits.installSignMsMax;
    const watermark = await this.follower.readWatermark();
    if (watermark.timestamp >= verdict.timestamp) return;
    const payload = await this.load(verdict);
    await this.installer.install({ verdict, payload, signBeforeMs, writes, isOwn: false });
    this.#onHelped(verdict);
  }
}
