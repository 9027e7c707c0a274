/**
 * Puts the writes of a committed transaction into their tables. Whoever does it, how often, and how
 * late: the result is the same, because each write is conditional on the stored version (I6).
 *
 * On a table with history the superseded version is saved first, and installs of one key happen in
 * timestamp order; otherwise an entry's `next` would claim too much. On a mixed table a write
 * replaces what its transaction has fenced and voted, and nothing else: native writes have no
 * versions that could be compared. Paper: pH1 §4 (flush), Mediator §4.3 (helper).
 */
import { assert } from "../../core/assert.ts";
import { keyNamesOf } from "../../core/attributes.ts";
import { UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import { commitName, type KeyRange, type TailCommit } from "../../core/tail.ts";
import type { HistoryRetention, KeyHash, Timestamp, Version } from "../../core/types.ts";
import { waitBackoff } from "../backoff.ts";
import { Semaphore } from "../concurrency.ts";
import { describeTable, stampAt, writeAt, type Commit } from "./payload-writes.ts";

export type InstallJob = Commit & {
  /** Wall clock; see `limits.installSignMsMax`. */
  readonly signBeforeMs: number;
  /** Indices of the payload's writes; all of them when undefined. */
  readonly writes?: readonly number[];
  /**
   * By index of a write to a table without history: put it only over that very version, which was
   * seen there. Else a plain writer may have taken a newer one away since.
   */
  readonly over?: ReadonlyMap<number, Version>;
  /**
   * Whether the commit's own client installs it. Anybody else cannot tell whether it has done so
   * already, and leaves what a plain writer has put in the place of a version.
   */
  readonly isOwn: boolean;
};

/**
 * Committed writes that may not be installed yet, as the tail knows them, and how to install one.
 * Replay installs in log order and passes undefined: nothing older can be missing.
 */
export type EarlierCommits = {
  /** Commits at or below it are installed. Read it before the store is asked. */
  installedThrough(): Timestamp;
  oldest(key: KeyHash, range: KeyRange & { readonly below: Timestamp }): TailCommit | undefined;
  /** Installs that one write, unless the watermark has passed it. */
  finish(commit: TailCommit): Promise<void>;
};

/** What installing needs from outside. */
export type InstallPorts = Pick<ClientPorts, "items" | "mixed" | "versions" | "clock" | "random">;

const orderBackoff = { baseMs: 4, capMs: 200 };

export class Installer {
  readonly #ports: InstallPorts;
  readonly #earlier: EarlierCommits | undefined;
  readonly #retention: () => Promise<HistoryRetention>;
  readonly #places = new Semaphore(limits.installConcurrencyMax);

  constructor(
    ports: InstallPorts,
    parts: {
      readonly earlier: EarlierCommits | undefined;
      /** How long what is superseded is kept. */
      readonly retention: () => Promise<HistoryRetention>;
    },
  ) {
    this.#ports = ports;
    this.#earlier = parts.earlier;
    this.#retention = parts.retention;
  }

  /**
   * Resolves once every write is installed or superseded. Tries every write, then throws the first
   * failure. Gives those that found another version than they were to be put over.
   * @throws StoreError, UnavailableError, CorruptDataError
   */
  async install(job: InstallJob, options: CallOptions = {}): Promise<readonly number[]> {
    const indices = job.writes ?? [...job.payload.writes.keys()];
    const results = await Promise.allSettled(
      indices.map((index) => this.#installWrite(job, index, options)),
    );
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return indices.filter(
      (index, i) =>
        job.over?.has(index) === true &&
        results[i]?.status === "fulfilled" &&
        results[i].value === "superseded",
    );
  }

  async #installWrite(
    job: InstallJob,
    index: number,
    options: CallOptions,
  ): Promise<"installed" | "superseded"> {
    const { write, table } = writeAt(job.payload, index);
    if (table.isMixed === true) return this.#installVoted(job, index, options);
    if (table.history) {
      await this.#installInOrder(job, index, options);
      return "installed";
    }
    return this.#places.run(() =>
      this.#ports.items.install(
        {
          table: table.name,
          key: write.key,
          item: write.item,
          version: job.verdict.timestamp,
          expects:
            job.over?.get(index) ??
            (!job.isOwn && write.sawVersion === true ? "below-or-gone" : "below"),
          signBeforeMs: job.signBeforeMs,
        },
        options,
      ),
    );
  }

  /** Whoever is late, or comes once more, finds another identity, or no fence: `superseded`. */
  #installVoted(
    job: InstallJob,
    index: number,
    options: CallOptions,
  ): Promise<"installed" | "superseded"> {
    const { write, table } = writeAt(job.payload, index);
    const { key, item } = write;
    const { id, timestamp: version } = job.verdict;
    const stamp = stampAt(job, index);
    assert(stamp !== undefined, "I10: what is installed on a mixed table was voted");
    const request = {
      ...{ table: keyNamesOf(describeTable(table, key)), key, id, item, version, stamp },
      ...(table.isGuarded === true ? { leavesTombstone: true } : {}),
    };
    const { signBeforeMs } = job;
    return this.#places.run(() => this.#ports.mixed.install(request, { ...options, signBeforeMs }));
  }

  /**
   * A place is held for one try, never while an earlier commit is waited for: finishing that one
   * takes a place too, and if those that wait held them all, none would get on.
   */
  async #installInOrder(job: InstallJob, index: number, options: CallOptions): Promise<void> {
    const { table } = writeAt(job.payload, index);
    // Installed by now: where the item does not show it, it is another item's of the same hash.
    const except = new Set<string>();
    for (let attempt = 0; attempt < limits.installTriesMax; attempt += 1) {
      const found = await this.#places.run(() =>
        this.#tryInOrder(job, index, { ...options, except }),
      );
      if (found === "installed") return;
      if (found !== "changed" && (await this.#awaitEarlier(found, attempt))) {
        except.add(commitName(found));
      }
    }
    throw new UnavailableError(
      `a key of table "${table.name}" changed ${limits.installTriesMax} times while ` +
        `${job.verdict.id} was being installed`,
    );
  }

  /** Gives the earlier commit that has to be installed first, if there is one. */
  async #tryInOrder(
    job: InstallJob,
    index: number,
    { except, ...options }: CallOptions & { readonly except: ReadonlySet<string> },
  ): Promise<"installed" | "changed" | TailCommit> {
    const { write, table } = writeAt(job.payload, index);
    const { key } = write;
    const version = job.verdict.timestamp;
    const installedThrough = this.#earlier?.installedThrough();
    const stored = await this.#ports.items.get(describeTable(table, key), key, options);
    if (stored.version >= version) {
      // probe: ordered-install-superseded
      return "installed";
    }
    const missing =
      installedThrough === undefined
        ? undefined
        : this.#missingBefore(job, index, {
            above: Math.max(stored.version, installedThrough) as Timestamp,
            except,
          });
    // mutant: history-out-of-order
    if (missing !== undefined) {
      // probe: ordered-install-waits-for-earlier
      return missing;
    }
    const { retentionMs } = await this.#retention();
    const keptMs = retentionMs + limits.versionMarginMs;
    await this.#ports.versions.save(
      {
        table: table.name,
        key,
        version: stored.version,
        // mutant: history-claims-too-much
        next: version,
        item: stored.item,
        keptMs,
      },
      options,
    );
    const result = await this.#ports.items.install(
      {
        table: table.name,
        key,
        item: write.item,
        version,
        expects: stored.version,
        signBeforeMs: job.signBeforeMs,
      },
      options,
    );
    return result === "installed" ? "installed" : "changed";
  }

  #missingBefore(job: InstallJob, index: number, range: KeyRange): TailCommit | undefined {
    const key = job.verdict.writes[index]?.key;
    if (this.#earlier === undefined || key === undefined) return undefined;
    return this.#earlier.oldest(key, { ...range, below: job.verdict.timestamp });
  }

  /**
   * First gives the earlier commit's owner time to install it, then does it here: then it is
   * installed for sure.
   */
  async #awaitEarlier(missing: TailCommit, attempt: number): Promise<boolean> {
    if (attempt < limits.earlierInstallPatienceTries || this.#earlier === undefined) {
      await waitBackoff(this.#ports, { backoff: orderBackoff, attempt });
      return false;
    }
    // probe: installer-finishes-an-earlier-commit
    await this.#earlier.finish(missing);
    return true;
  }
}
