/**
 * Installs for readers what others have committed (docs/protocol.md §7, §8). Loaded when the first
 * reader of the process has to help.
 */
import { assert } from "../../core/assert.ts";
import {
  CorruptDataError,
  LateSignatureError,
  StoreError,
  UnavailableError,
} from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ClientPorts } from "../../core/ports.ts";
import { placeOf } from "../../core/decision.ts";
import type { TailCommit, UpTo } from "../../core/tail.ts";
import type { CommittedVerdict, Payload, ShardId, Timestamp, Version } from "../../core/types.ts";
import { waitBackoff } from "../backoff.ts";
import { Semaphore } from "../concurrency.ts";
import { HelpWindows, type HelpWindow } from "./help-window.ts";
import type { InstalledCommits } from "./installed-commits.ts";
import type { Installer } from "./installer.ts";
import { PayloadLoader } from "../log/payload-loader.ts";
import { describeTable, writeAt, writtenItem, type Commit } from "./payload-writes.ts";
import { type PermittedTables, refusalOf } from "./permitted-writes.ts";
import { isRefusedForGood } from "./refused-for-good.ts";
import type { TableRegistry } from "../table-registry.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import type { TailFollower } from "../log/tail-follower.ts";

const deadLetterBackoff = { baseMs: 50, capMs: 500 };

/** What a process holds for the shard (shard-session.ts), as far as helping needs it. */
type Session = {
  readonly shard: ShardId;
  readonly hashes: KeyHashes;
  readonly follower: TailFollower;
  readonly installer: Pick<Installer, "install">;
  readonly installed: InstalledCommits;
  readonly registry: Pick<TableRegistry, "find" | "lookAgain">;
};

type How = {
  /** Runs a task in its turn, or at once. */
  readonly turns: <Result>(task: () => Promise<Result>) => Promise<Result>;
  readonly signal: AbortSignal | undefined;
};

/** A committed write, and whose item it is. */
type Due = {
  readonly commit: TailCommit;
  readonly payload: Payload;
  readonly item: string;
  /** The version that was seen there, if any was. */
  readonly over?: Version | undefined;
};

type Refused = {
  readonly kind: "refused";
  readonly verdict: CommittedVerdict;
  readonly error: Error;
};
/** Which items have changed since they were looked at; or why no table takes it. */
type Installed = { readonly kind: "changed"; readonly writes: readonly Due[] } | Refused;

export class CommitHelper {
  readonly #ports: ClientPorts;
  readonly #session: Session;
  readonly #onHelped: (verdict: CommittedVerdict) => void;
  readonly #loader: PayloadLoader;
  readonly #windows: HelpWindows;
  readonly #places = new Semaphore(limits.finishConcurrencyMax);

  constructor(ports: ClientPorts, session: Session, onHelped: (verdict: CommittedVerdict) => void) {
    this.#ports = ports;
    this.#session = session;
    this.#onHelped = onHelped;
    this.#loader = new PayloadLoader(ports, session);
    this.#windows = new HelpWindows(ports, session);
  }

  /** As `ShardSession.finish`. */
  async finish(commits: readonly TailCommit[], signal?: AbortSignal): Promise<void> {
    await this.#finish(commits, {
      turns: (task) =>
        this.#places.run(() => {
          signal?.throwIfAborted();
          return task();
        }),
      signal,
    });
  }

  /** Without a place of the helpers: the one that waits for it may hold the last. */
  async finishOutOfTurn(commit: TailCommit): Promise<void> {
    await this.#finish([commit], { turns: (task) => task(), signal: undefined });
  }

  async #finish(commits: readonly TailCommit[], how: How): Promise<void> {
    const window = await this.#windows.open();
    const missing = commits.filter((commit) => !window.isInstalled(commit));
    const asked = await this.#loaded(missing, how);
    let open: readonly Due[] = asked;
    for (let tries = 1; open.length > 0; tries += 1) {
      if (tries > limits.installTriesMax) {
        throw new UnavailableError(
          `items changed ${limits.installTriesMax} times while commits of others were installed`,
        );
      }
      const due = await this.#lookedAt(this.#notSuperseded(open), how);
      open = await this.#install(this.#notSuperseded(due), { window, ...how });
    }
    const items = new Map(asked.map(({ commit, item }) => [commit, item]));
    for (const commit of commits) this.#session.installed.note(commit, items.get(commit));
  }

  /** Those of which something may be left to do. */
  async #loaded(commits: readonly TailCommit[], how: How): Promise<readonly Due[]> {
    const payloads = new Map<CommittedVerdict, Payload | undefined>();
    await allOrFirstError(
      [...new Set(commits.map(({ verdict }) => verdict))].map(async (verdict) => {
        payloads.set(verdict, await this.#payloadOf(verdict, how));
      }),
    );
    const all = commits.flatMap((commit) => {
      assert(payloads.has(commit.verdict), "I7: what is installed for others was asked for");
      const payload = payloads.get(commit.verdict);
      return payload === undefined
        ? []
        : [{ commit, payload, item: writtenItem(payload, commit.write) }];
    });
    const allowed = await allOrFirstError(all.map((due) => this.#allowed(due, how)));
    return allowed.filter((due) => due !== undefined);
  }

  /**
   * What replay will not write nobody writes for it: this client's rights may reach further than
   * those of who has made the block. Undefined once replay has made a dead letter of it.
   */
  async #allowed(due: Due, { signal }: How): Promise<Due | undefined> {
    const { verdict, write } = due.commit;
    const reason = await this.#refusalOf({ verdict, payload: due.payload }, write);
    if (reason === undefined) return due;
    await this.#awaitDeadLetter(
      setAside(verdict, `no client may make its write: ${reason}`),
      signal,
    );
    return undefined;
  }

  async #refusalOf(commit: Commit, write: number): Promise<string | undefined> {
    const { registry } = this.#session;
    const { idempotencyTable } = this.#ports.control;
    const permitted: PermittedTables = { registry, idempotencyTable };
    if (refusalOf(commit, write, permitted) === undefined) return undefined;
    // It may have been registered since.
    await registry.lookAgain(new AbortController().signal);
    return refusalOf(commit, write, permitted);
  }

  /**
   * Undefined where the watermark has passed the commit meanwhile: then nobody needs its payload
   * any more, and it may have gone with its stream, or with its block. That is asked for only when
   * the payload was not had, so that it costs nothing where all is well.
   */
  async #payloadOf(
    verdict: CommittedVerdict,
    { turns, signal }: How,
  ): Promise<Payload | undefined> {
    try {
      return await turns(() => this.#loader.load(verdict));
    } catch (error) {
      // Damaged, or gone for good: replay makes a dead letter of it, whoever is to blame.
      if (error instanceof CorruptDataError) {
        await this.#awaitDeadLetter(setAside(verdict, error.message), signal);
        return undefined;
      }
      if (!(error instanceof StoreError)) throw error;
      const { isInstalled } = await this.#windows.open();
      if (!isInstalled(verdict)) throw error;
      return undefined;
    }
  }

  /**
   * What lies below a commit of the very item that was installed must not come back: where a plain
   * writer has replaced or deleted the item since, the item itself does not say so any more. With
   * history each version has its turn, so that only what is known to be installed counts.
   */
  #notSuperseded(writes: readonly Due[]): readonly Due[] {
    const newest = new Map<string, Timestamp>();
    for (const { commit, item } of writes) {
      if (commit.timestamp > (newest.get(item) ?? 0)) newest.set(item, commit.timestamp);
    }
    return writes.filter(
      ({ commit: { timestamp, write }, payload, item }) =>
        !this.#session.installed.isAbove(timestamp, item) &&
        (writeAt(payload, write).table.history || (newest.get(item) ?? 0) <= timestamp),
    );
  }

  /**
   * Those that are still missing, each with the version that is there. Where there is none, a newer
   * commit may have been installed, reported, and taken away by a plain writer, and nobody would
   * look at it again: so the newest one that the log has takes its place (docs/protocol.md §8, Over
   * nothing). With history each comes in its turn.
   */
  async #lookedAt(writes: readonly Due[], how: How): Promise<readonly Due[]> {
    const seen = await allOrFirstError(
      writes.map(async (due) => {
        const { write, table } = writeAt(due.payload, due.commit.write);
        // In its turn; or over what its vote says.
        if (table.history || table.isMixed === true) return due;
        try {
          const described = describeTable(table, write.key);
          const { version } = await how.turns(() => this.#ports.items.get(described, write.key));
          return { ...due, over: version };
        } catch (error) {
          // A table that is gone, or an item that is damaged: the put says what follows from it.
          if (isRefusedForGood(error) || error instanceof CorruptDataError) return due;
          throw error;
        }
      }),
    );
    const missing = seen.filter(({ commit, over = 0 }) => over < commit.timestamp);
    if (missing.some(({ over }) => over === 0)) await this.#session.follower.refresh();
    const newest = await allOrFirstError(
      missing.map((due) => (due.over === 0 ? this.#newestOf(due, how) : Promise.resolve(due))),
    );
    return newest.filter((due) => due !== undefined);
  }

  /** Undefined where all of it was installed meanwhile. */
  async #newestOf(due: Due, how: How): Promise<Due | undefined> {
    const { verdict, write, timestamp: above } = due.commit;
    const key = verdict.writes[write]?.key;
    const { tail } = this.#session.follower;
    let upTo: UpTo = { by: "place", at: tail.newest };
    for (;;) {
      const commit = key === undefined ? undefined : tail.newestCommit(key, { above, upTo });
      if (commit === undefined) return { ...due, over: undefined };
      const payload = await this.#payloadOf(commit.verdict, how);
      // The watermark has passed a newer one, and so this one.
      if (payload === undefined) return undefined;
      const { verdict: newer } = commit;
      const isSameItem = writtenItem(payload, commit.write) === due.item;
      const comesInTurn = writeAt(payload, commit.write).table.history;
      const mayCome =
        isSameItem &&
        !comesInTurn &&
        (await this.#refusalOf({ verdict: newer, payload }, commit.write)) === undefined;
      if (mayCome) return { commit, payload, item: due.item };
      // Another item of the same hash, one that comes in its turn, or one that nobody may write.
      upTo = { by: "place", at: (placeOf(commit) - 1) as Timestamp };
    }
  }

  /** Gives those whose items have changed since they were looked at. */
  async #install(
    writes: readonly Due[],
    { window, turns, signal }: How & { readonly window: HelpWindow },
  ): Promise<readonly Due[]> {
    const jobs = new Map<CommittedVerdict, { readonly payload: Payload; readonly dues: Due[] }>();
    for (const due of writes) {
      const { verdict } = due.commit;
      const job = jobs.get(verdict) ?? { payload: due.payload, dues: [] };
      jobs.set(verdict, job);
      job.dues.push(due);
    }
    const changed = await allOrFirstError(
      Array.from(jobs, async ([verdict, { payload, dues }]) => {
        const result = await turns(() => this.#installOfOne({ verdict, payload }, dues, window));
        if (result.kind === "changed") return result.writes;
        // Without a place: others' commits need not wait for replay.
        await this.#awaitDeadLetter(result, signal);
        return [];
      }),
    );
    return changed.flat();
  }

  /** Writes of one commit. */
  async #installOfOne(
    { verdict, payload }: Commit,
    writes: readonly Due[],
    first: HelpWindow,
  ): Promise<Installed> {
    const over = new Map(
      writes.flatMap((due) => (due.over === undefined ? [] : [[due.commit.write, due.over]])),
    );
    const indices = writes.map((due) => due.commit.write);
    const job = { verdict, payload, writes: indices, over, isOwn: false };
    let window = first;
    for (let tries = 1; ; tries += 1) {
      try {
        if (window.isInstalled(verdict)) return { kind: "changed", writes: [] };
        const { signBeforeMs } = window;
        const changed = await this.#session.installer.install({ ...job, signBeforeMs });
        this.#onHelped(verdict);
        return {
          kind: "changed",
          writes: writes.filter((due) => changed.includes(due.commit.write)),
        };
      } catch (error) {
        if (isRefusedForGood(error)) return { kind: "refused", verdict, error };
        // The process was stopped for longer than the time to sign, or its calls took so long. The
        // time begins anew.
        // mutant: late-helpers-fail-their-reader
        if (!(error instanceof LateSignatureError) || tries >= limits.lateInstallTriesMax)
          throw error;
        // probe: reader-was-late-to-install
        window = await this.#windows.open();
      }
    }
  }

  /**
   * What no table takes must fail no reader: replay makes a dead letter of it, and the watermark
   * passes it. The refusal is thrown when that takes too long: replay stands still.
   */
  async #awaitDeadLetter(
    { verdict, error }: Refused,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { clock } = this.#ports;
    const untilMs = clock.monotonicMs() + limits.deadLetterWaitMsMax;
    for (let attempt = 0; ; attempt += 1) {
      const { isInstalled } = await this.#windows.open();
      if (isInstalled(verdict)) return;
      if (clock.monotonicMs() >= untilMs) throw error;
      await waitBackoff(this.#ports, { backoff: deadLetterBackoff, attempt, signal });
    }
  }
}

function setAside(verdict: CommittedVerdict, reason: string): Refused {
  const error = new UnavailableError(
    `transaction ${verdict.id} is to become a dead letter, and replay has not come to it yet: ` +
      reason,
  );
  return { kind: "refused", verdict, error };
}

async function allOrFirstError<Value>(tasks: readonly Promise<Value>[]): Promise<Value[]> {
  const results = await Promise.allSettled(tasks);
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}
