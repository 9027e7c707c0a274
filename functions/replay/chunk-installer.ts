/**
 * Installs a chunk's writes: looks which are missing, and puts those. A write that its store refuses for good becomes a
 * dead letter; anything else that fails fails the invocation, and is tried again.
 */
import { StoreError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { Ports } from "../../core/ports.ts";
import type { ShardId, Version } from "../../core/types.ts";
import { Semaphore } from "../../engine/concurrency.ts";
import { Installer, writeAt } from "../../engine/installer.ts";
import type { Observability } from "../shared/observability.ts";
import type { ChunkPlan, PlannedWrite } from "./chunk.ts";
import type { SigningWindow } from "./signing-window.ts";

export class ChunkInstaller {
  readonly #ports: Ports;
  readonly #observability: Observability;
  readonly #shard: ShardId;
  readonly #window: SigningWindow;
  readonly #places = new Semaphore(limits.installConcurrencyMax);
  /** In log order nothing earlier can be missing. */
  readonly #installer: Installer;

  constructor(
    ports: Ports,
    observability: Observability,
    work: { readonly shard: ShardId; readonly window: SigningWindow },
  ) {
    this.#ports = ports;
    this.#observability = observability;
    this.#shard = work.shard;
    this.#window = work.window;
    this.#installer = new Installer(ports, undefined);
  }

  /** Returns how many writes were missing. */
  async install(plan: ChunkPlan): Promise<number> {
    const missing = await this.#missing(plan.latest);
    const chains = await this.#missingChains(plan.ordered);
    const results = await Promise.allSettled([
      ...missing.map((planned) => this.#places.run(() => this.#installOne(planned))),
      ...chains.map((chain) => this.#places.run(() => this.#installChain(chain))),
    ]);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return missing.length + chains.reduce((sum, chain) => sum + chain.length, 0);
  }

  async #missing(writes: readonly PlannedWrite[]): Promise<readonly PlannedWrite[]> {
    const versions = await this.#storedVersions(writes);
    return writes.filter(({ commit }, i) => (versions[i] ?? 0) < commit.verdict.timestamp);
  }

  /** Of each item's writes, those above the stored version. */
  async #missingChains(
    chains: readonly (readonly PlannedWrite[])[],
  ): Promise<readonly (readonly PlannedWrite[])[]> {
    const heads = chains.flatMap((chain) => chain.slice(0, 1));
    const versions = await this.#storedVersions(heads);
    return chains
      .map((chain, i) =>
        chain.filter(({ commit }) => (versions[i] ?? 0) < commit.verdict.timestamp),
      )
      .filter((chain) => chain.length > 0);
  }

  /**
   * Per table, so that one that is gone does not hide the others. Its writes count as missing; installing them then
   * says for good that they cannot be.
   */
  async #storedVersions(writes: readonly PlannedWrite[]): Promise<readonly Version[]> {
    const versions: Version[] = writes.map(() => 0 as Version);
    const byTable = new Map<string, { readonly at: number; readonly planned: PlannedWrite }[]>();
    writes.forEach((planned, at) => {
      const { name } = writeAt(planned.commit.payload, planned.index).table;
      const group = byTable.get(name);
      if (group === undefined) byTable.set(name, [{ at, planned }]);
      else group.push({ at, planned });
    });
    await Promise.all(
      Array.from(byTable, async ([table, group]) => {
        const keys = group.map(({ planned }) => ({
          table,
          key: writeAt(planned.commit.payload, planned.index).write.key,
        }));
        try {
          const stored = await this.#ports.items.versions(keys);
          group.forEach(({ at }, i) => {
            versions[at] = stored[i] ?? (0 as Version);
          });
        } catch (error) {
          if (!isRefusedForGood(error)) throw error;
        }
      }),
    );
    return versions;
  }

  async #installChain(chain: readonly PlannedWrite[]): Promise<void> {
    for (const planned of chain) await this.#installOne(planned);
  }

  async #installOne({ commit, index }: PlannedWrite): Promise<void> {
    const signBeforeMs = await this.#window.signBeforeMs(commit.verdict.timestamp);
    if (signBeforeMs === undefined) return;
    try {
      await this.#installer.install({ ...commit, signBeforeMs, writes: [index] });
    } catch (error) {
      if (!isRefusedForGood(error)) throw error;
      await this.#bury({ commit, index }, error);
    }
  }

  async #bury({ commit, index }: PlannedWrite, error: StoreError): Promise<void> {
    const { write, table } = writeAt(commit.payload, index);
    const { id, timestamp } = commit.verdict;
    await this.#ports.control.saveDeadLetter({
      shard: this.#shard,
      timestamp,
      id,
      table: table.name,
      key: write.key,
      item: write.item,
      reason: error.message,
    });
    this.#observability.metrics.count("DeadLetters", 1);
    this.#observability.log.error("a committed write can never be installed", {
      transactionId: id,
      table: table.name,
      reason: error.message,
    });
  }
}

/** Whether the store refuses this write for good, whoever asks and whenever. */
export function isRefusedForGood(error: unknown): error is StoreError {
  return (
    error instanceof StoreError &&
    error.fault === "rejected" &&
    error.code !== undefined &&
    refusedForGood.has(error.code)
  );
}

/** Access denied is not among them: an operator mends that, and the writes must still be there then. */
const refusedForGood: ReadonlySet<string> = new Set([
  "ValidationException",
  "ResourceNotFoundException",
  "ItemCollectionSizeLimitExceededException",
]);
