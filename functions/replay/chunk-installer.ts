/**
 * Installs a chunk's writes: looks which are missing, and puts those. A write that must not be
 * made, that its store refuses for good, or whose item carries a version that is none, becomes a
 * dead letter; anything else that fails fails the invocation, and is tried again. A table that does
 * not let replay in holds up none of the chunk's writes to others.
 */
import { CorruptDataError, StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, Ports } from "../../core/ports.ts";
import type { HistoryRetention, Item, Version } from "../../core/types.ts";
import { Semaphore } from "../../engine/concurrency.ts";
import { Installer } from "../../engine/installing/installer.ts";
import { keyNamesOf } from "../../core/attributes.ts";
import { isDue } from "../../core/fence.ts";
import { describeTable, stampAt, writeAt } from "../../engine/installing/payload-writes.ts";
import { isRefusedForGood } from "../../engine/installing/refused-for-good.ts";
import type { Observability } from "../shared/observability.ts";
import type { ChunkPlan, PlannedWrite } from "./chunk.ts";
import type { DeadLetters } from "./dead-letters.ts";
import type { NewerWrites } from "./newer-writes.ts";
import type { SigningWindow } from "./signing-window.ts";

/** Of the writes that are not installed: */
type Missing = {
  /** Those whose item is not there, or has no `_v`. */
  readonly overNothing: readonly PlannedWrite[];
  readonly overOlder: readonly PlannedWrite[];
};

/** An item's version; or why it has none, or is not known. */
type Stored = Version | CorruptDataError | "denied";

export class ChunkInstaller {
  readonly #ports: Ports;
  readonly #observability: Observability;
  readonly #deadLetters: DeadLetters;
  readonly #window: SigningWindow;
  readonly #call: CallOptions;
  readonly #ownInstallMs: number;
  readonly #newer: NewerWrites;
  readonly #places = new Semaphore(limits.installConcurrencyMax);
  /** In log order nothing earlier can be missing. */
  readonly #installer: Installer;
  /** Tables that did not let replay in, each with its first refusal. */
  readonly #denied = new Map<string, StoreError>();
  readonly #admitted = new Set<string>();

  constructor(
    ports: Ports,
    observability: Observability,
    work: {
      readonly deadLetters: DeadLetters;
      readonly window: SigningWindow;
      readonly call: CallOptions;
      /** See ReplayOptions. */
      readonly ownInstallMs: number;
      /** Of the items that the chunk writes. */
      readonly newer: NewerWrites;
      readonly retention: () => Promise<HistoryRetention>;
    },
  ) {
    this.#ports = ports;
    this.#observability = observability;
    this.#deadLetters = work.deadLetters;
    this.#window = work.window;
    this.#call = work.call;
    this.#ownInstallMs = work.ownInstallMs;
    this.#newer = work.newer;
    this.#installer = new Installer(ports, { earlier: undefined, retention: work.retention });
  }

  /** Returns how many writes were missing. */
  async install(plan: ChunkPlan): Promise<number> {
    const missing = await this.#missing(plan.latest);
    const chains = await this.#missingChains(plan.ordered);
    const voted = await this.#stillFenced(plan.voted);
    const results = await Promise.allSettled([
      ...plan.refused.map((refused) =>
        this.#places.run(() => this.#deadLetters.ofWrite(refused, refused.reason)),
      ),
      // mutant: replay-skips-a-write
      ...[...missing.overOlder, ...voted].map((planned) =>
        this.#places.run(() => this.#installOne(planned)),
      ),
      ...chains.map((chain) => this.#places.run(() => this.#installChain(chain))),
      this.#installOverNothing(missing.overNothing),
    ]);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    this.#throwDenial();
    const { overNothing, overOlder } = missing;
    const all = [overNothing, overOlder, voted, ...chains];
    return all.reduce((sum, { length }) => sum + length, 0);
  }

  /**
   * Writes on mixed tables whose item still stands as it was fenced. A look costs less than an
   * install that is refused; and their owners come first, as elsewhere.
   */
  async #stillFenced(voted: readonly PlannedWrite[]): Promise<readonly PlannedWrite[]> {
    const first = await this.#fenced(voted);
    if (first.length === 0) return first;
    await this.#leaveToOwners(first);
    return this.#fenced(first);
  }

  async #fenced(voted: readonly PlannedWrite[]): Promise<readonly PlannedWrite[]> {
    const looks = voted.map((planned) => this.#places.run(() => this.#isFenced(planned)));
    const results = await Promise.allSettled(looks);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return voted.filter((_, i) => results[i]?.status === "fulfilled" && results[i].value);
  }

  /** False also where the table does not let replay in: that is told at the end. */
  async #isFenced({ commit, index }: PlannedWrite): Promise<boolean> {
    const { write, table } = writeAt(commit.payload, index);
    const stamp = stampAt(commit, index);
    if (stamp === undefined) return false;
    const at = { table: keyNamesOf(describeTable(table, write.key)), key: write.key };
    try {
      const stored = await this.#ports.mixed.read(at, this.#call);
      this.#admitted.add(table.name);
      return isDue(stored, { id: commit.verdict.id, stamp });
    } catch (error) {
      if (isDenied(error)) {
        this.#noteDenial(table.name, error);
        return false;
      }
      // The table is gone, and installing says so.
      if (isRefusedForGood(error)) return true;
      throw error;
    }
  }

  async #missing(writes: readonly PlannedWrite[]): Promise<Missing> {
    const stored = await this.#storedVersions(writes.map((write) => ({ write, last: write })));
    await this.#saveWritesToUnreadable(writes, stored);
    const overNothing: PlannedWrite[] = [];
    const overOlder: PlannedWrite[] = [];
    for (const [i, planned] of writes.entries()) {
      if (!isBelow(stored[i], planned)) continue;
      (stored[i] === 0 ? overNothing : overOlder).push(planned);
    }
    return { overNothing, overOlder };
  }

  /** Those of each item's writes that are above the stored version. */
  async #missingChains(
    chains: readonly (readonly PlannedWrite[])[],
  ): Promise<readonly (readonly PlannedWrite[])[]> {
    const stored = await this.#storedVersions(
      chains.flatMap((chain) => {
        const [write] = chain;
        const last = chain.at(-1);
        return write === undefined || last === undefined ? [] : [{ write, last }];
      }),
    );
    await Promise.all(
      chains.map((chain, i) =>
        this.#saveWritesToUnreadable(
          chain,
          chain.map(() => stored[i]),
        ),
      ),
    );
    return chains
      .map((chain, i) => chain.filter((planned) => isBelow(stored[i], planned)))
      .filter((chain) => chain.length > 0);
  }

  /**
   * For each item, where its `last` planned write may be missing, the version that is stored now.
   * First the cheap, eventually consistent answer: most writes are there already, and a version
   * once seen stays or is superseded.
   */
  async #storedVersions(
    items: readonly { readonly write: PlannedWrite; readonly last: PlannedWrite }[],
  ): Promise<readonly Stored[]> {
    const writes = items.map(({ write }) => write);
    const stored: Stored[] = writes.map(() => 0 as Version);
    const all = Array.from(items.keys());
    await this.#ask(writes, stored, { wanted: all, consistency: "eventual" });
    const unsure = all.filter((at) => {
      const version = stored[at];
      const last = items[at]?.last;
      return version instanceof CorruptDataError || last === undefined || isBelow(version, last);
    });
    // probe: replay-looks-twice
    if (unsure.length > 0) {
      await this.#leaveToOwners(unsure.flatMap((at) => items[at]?.last ?? []));
      await this.#ask(writes, stored, { wanted: unsure, consistency: "strong" });
    }
    return stored;
  }

  /**
   * What is missing right after its commit is on its way: its own client puts it. To put it as well
   * would cost each write a second time, just when clients are slow because there is much to do.
   */
  async #leaveToOwners(missing: readonly PlannedWrite[]): Promise<void> {
    const { clock } = this.#ports;
    const newest = missing.reduce((max, { commit }) => Math.max(max, commit.verdict.timestamp), 0);
    const restMs = newest / 1_000 + this.#ownInstallMs - clock.nowMs();
    if (restMs <= 0) return;
    // probe: replay-leaves-installs-to-clients
    await clock.sleep(Math.min(restMs, this.#ownInstallMs), this.#call.signal);
  }

  /**
   * Per table, so that one that is gone does not hide the others: its writes count as missing, and
   * installing them says for good that they cannot be. Where an item's version is no version, the
   * items are asked one by one.
   */
  async #ask(
    writes: readonly PlannedWrite[],
    stored: Stored[],
    question: {
      readonly wanted: readonly number[];
      readonly consistency: "strong" | "eventual";
    },
  ): Promise<void> {
    const { wanted, consistency } = question;
    const byTable = new Map<string, number[]>();
    for (const at of wanted) {
      const planned = writes[at];
      if (planned === undefined) continue;
      const { name } = writeAt(planned.commit.payload, planned.index).table;
      const group = byTable.get(name);
      if (group === undefined) byTable.set(name, [at]);
      else group.push(at);
    }
    const ask = async (name: string, group: readonly number[]): Promise<void> => {
      try {
        const versions = await this.#ports.items.versions(
          group.flatMap((at) => keysOf(writes[at])),
          { ...this.#call, consistency },
        );
        for (const [i, at] of group.entries()) stored[at] = versions[i] ?? (0 as Version);
        this.#admitted.add(name);
      } catch (error) {
        if (isRefusedForGood(error)) return;
        if (isDenied(error)) {
          this.#noteDenial(name, error);
          for (const at of group) stored[at] = "denied";
          return;
        }
        const [only] = group;
        if (!(error instanceof CorruptDataError) || only === undefined) throw error;
        if (group.length === 1) stored[only] = error;
        else for (const at of group) await ask(name, [at]);
      }
    };
    await Promise.all(Array.from(byTable, ([name, group]) => ask(name, group)));
  }

  /**
   * An item that something else gave a `_v` of its own must not stop the shard, nor be overwritten:
   * what would be written there becomes a dead letter.
   */
  async #saveWritesToUnreadable(
    writes: readonly PlannedWrite[],
    stored: readonly (Stored | undefined)[],
  ): Promise<void> {
    for (const [i, planned] of writes.entries()) {
      const error = stored[i];
      if (error instanceof CorruptDataError)
        await this.#deadLetters.ofWrite(planned, error.message);
    }
  }

  /**
   * The newest write of each item, even from behind the chunk: that one may have been here, and its
   * client have said so. At most a chunk's bytes are held at a time.
   */
  async #installOverNothing(writes: readonly PlannedWrite[]): Promise<void> {
    let due: PlannedWrite[] = [];
    let bytesBefore = this.#newer.bytesLoaded;
    const installDue = async (): Promise<void> => {
      const results = await Promise.allSettled(
        due.map((planned) => this.#places.run(() => this.#installOne(planned))),
      );
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      due = [];
      bytesBefore = this.#newer.bytesLoaded;
    };
    // mutant: older-over-nothing
    const newest = this.#newer.of(writes);
    for await (const planned of newest) {
      due.push(planned);
      if (this.#newer.bytesLoaded - bytesBefore >= limits.replayChunkBytes) await installDue();
    }
    await installDue();
  }

  async #installChain(chain: readonly PlannedWrite[]): Promise<void> {
    for (const planned of chain) {
      // One that is denied may be let in later, and what follows it must not come first.
      if ((await this.#installOne(planned)) === "denied") return;
    }
  }

  async #installOne({ commit, index }: PlannedWrite): Promise<"denied" | "done"> {
    const signBeforeMs = await this.#window.signBeforeMs(commit.verdict.timestamp);
    if (signBeforeMs === undefined) {
      // probe: replay-overtaken-by-another
      return "done";
    }
    try {
      const job = { ...commit, signBeforeMs, writes: [index], isOwn: false };
      await this.#installer.install(job, this.#call);
    } catch (error) {
      if (isDenied(error)) {
        this.#noteDenial(writeAt(commit.payload, index).table.name, error);
        return "denied";
      }
      if (!isRefusedForGood(error)) throw error;
      await this.#deadLetters.ofWrite({ commit, index }, error.message);
    }
    return "done";
  }

  #noteDenial(table: string, error: StoreError): void {
    if (!this.#denied.has(table)) this.#denied.set(table, error);
  }

  /**
   * Ends the invocation before the watermark moves: a mistake in a policy must lose no commit, so
   * what is denied is tried until an operator mends it. One table or all, the log tells which.
   */
  #throwDenial(): void {
    const [first] = this.#denied.values();
    if (first === undefined) return;
    const denied = [...this.#denied.keys()];
    const admitted = [...this.#admitted].filter((name) => !this.#denied.has(name));
    this.#observability.metrics.count("ReplayTablesDenied", denied.length);
    this.#observability.log.error("tables do not let replay in; the watermark stands", {
      denied,
      admitted,
      reason: first.message,
    });
    throw first;
  }
}

function isBelow(stored: Stored | undefined, { commit }: PlannedWrite): boolean {
  if (stored instanceof CorruptDataError || stored === "denied") return false;
  return (stored ?? 0) < commit.verdict.timestamp;
}

function keysOf(
  planned: PlannedWrite | undefined,
): { readonly table: string; readonly key: Item }[] {
  if (planned === undefined) return [];
  const { write, table } = writeAt(planned.commit.payload, planned.index);
  return [{ table: table.name, key: write.key }];
}

/** An operator mends that, and the writes must still be there then. */
function isDenied(error: unknown): error is StoreError {
  return (
    error instanceof StoreError &&
    error.fault === "rejected" &&
    error.code === "AccessDeniedException"
  );
}
