/**
 * The newest committed write of an item, wherever in the log it stands. Replay asks for it where it
 * would put a write over nothing, or over an item without `_v`: a newer one may have been there,
 * been reported by its client, and been taken away by a plain writer. The older one must not come
 * after it, and nobody would look at the newer one again (docs/protocol.md §8, Over nothing).
 */
import { keyNamesOf } from "../../core/attributes.ts";
import { placeOf } from "../../core/decision.ts";
import { CorruptDataError } from "../../core/errors.ts";
import type { CommitLog } from "../../core/ports.ts";
import type {
  CommittedVerdict,
  KeyHash,
  LogBlock,
  LogPosition,
  Payload,
  Watermark,
} from "../../core/types.ts";
import {
  describeTable,
  writeAt,
  writtenItem,
  type Commit,
} from "../../engine/installing/payload-writes.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import type { PlannedWrite, RefusalOf } from "./chunk.ts";
import { blocksAfter, type LogAhead, type LogReading } from "./log-ahead.ts";
import type { PayloadsInOrder } from "../../engine/log/payloads-in-order.ts";

/** Committed writes of some hashes, oldest first. */
type Candidates = Map<KeyHash, { readonly verdict: CommittedVerdict; readonly index: number }[]>;

export class NewerWrites {
  readonly #ahead: LogAhead;
  readonly #reading: LogReading & { readonly log: Pick<CommitLog, "readAt"> };
  readonly #payloads: PayloadsInOrder;
  readonly #refusalOf: RefusalOf;
  /** The chunk ends here, or in the next block: its plan has its own newest write of each item. */
  readonly #after: Watermark;
  /** Asked for last: one payload may write many of the items. */
  #loaded: Commit | undefined;
  #block: LogBlock | undefined;

  constructor(parts: {
    readonly ahead: LogAhead;
    readonly reading: LogReading & { readonly log: Pick<CommitLog, "readAt"> };
    readonly payloads: PayloadsInOrder;
    readonly refusalOf: RefusalOf;
    readonly after: Watermark;
  }) {
    this.#ahead = parts.ahead;
    this.#reading = parts.reading;
    this.#payloads = parts.payloads;
    this.#refusalOf = parts.refusalOf;
    this.#after = parts.after;
  }

  /** Of all payload bytes of the invocation; for whoever has to hold what is given out. */
  get bytesLoaded(): number {
    return this.#payloads.bytesLoaded;
  }

  /**
   * For each of the writes the newest one of its item, which may be itself; in any order.
   * @param writes of tables without history, the newest of their items in the chunk.
   * @throws StoreError, CorruptDataError: nothing is known, and none of the rest may be installed.
   */
  async *of(writes: readonly PlannedWrite[]): AsyncGenerator<PlannedWrite, void, undefined> {
    if (writes.length === 0) return;
    await this.#ahead.reach(this.#after, this.#reading);
    const unsure: PlannedWrite[] = [];
    for (const planned of writes) {
      const newest = this.#ahead.newest(this.#keyOf(planned));
      if (this.#ahead.isFull) {
        unsure.push(planned);
      } else if (newest === undefined || newest <= this.#after.position) {
        yield planned;
      } else {
        const found = await this.#inBlock(newest, planned);
        if (found === undefined) unsure.push(planned);
        else yield found;
      }
    }
    yield* this.#amongAll(unsure);
  }

  async #inBlock(at: LogPosition, planned: PlannedWrite): Promise<PlannedWrite | undefined> {
    if (this.#block?.position !== at) {
      const { log, shard, hashes, call } = this.#reading;
      const stored = await log.readAt(shard, at, call);
      this.#block = stored && decodeBlock(stored, hashes);
    }
    const candidates: Candidates = new Map([[this.#keyOf(planned), []]]);
    if (this.#block !== undefined) collect(candidates, this.#block);
    return this.#newestAmong(candidates, planned);
  }

  /** Where the newest write of a hash is another item's, or must not be made, or is not known. */
  async *#amongAll(writes: readonly PlannedWrite[]): AsyncGenerator<PlannedWrite, void, undefined> {
    if (writes.length === 0) return;
    const candidates: Candidates = new Map(writes.map((planned) => [this.#keyOf(planned), []]));
    for await (const block of blocksAfter(this.#after, this.#reading)) collect(candidates, block);
    for (const planned of writes) {
      yield (await this.#newestAmong(candidates, planned)) ?? planned;
    }
  }

  async #newestAmong(
    candidates: Candidates,
    planned: PlannedWrite,
  ): Promise<PlannedWrite | undefined> {
    const item = writtenItem(planned.commit.payload, planned.index);
    for (const { verdict, index } of candidates.get(this.#keyOf(planned))?.toReversed() ?? []) {
      // The chunk may end within a block, and begins before it.
      if (placeOf(verdict) <= placeOf(planned.commit.verdict)) return planned;
      const payload = await this.#payloadOf(verdict);
      if (payload?.writes[index] === undefined) continue;
      if (writtenItem(payload, index) !== item) continue;
      if (this.#refusalOf({ verdict, payload }, index) !== undefined) continue;
      // What is written with history comes in its turn: it saves what stood before it.
      if (writeAt(payload, index).table.history) continue;
      // probe: replay-puts-a-newer-write
      return { commit: { verdict, payload }, index };
    }
    return undefined;
  }

  #keyOf({ commit, index }: PlannedWrite): KeyHash {
    const { write, table } = writeAt(commit.payload, index);
    return this.#reading.hashes.item(keyNamesOf(describeTable(table, write.key)), write.key).key;
  }

  /** What is gone for good cannot come back; it becomes a dead letter in its turn. */
  async #payloadOf(verdict: CommittedVerdict): Promise<Payload | undefined> {
    const loaded = this.#loaded;
    if (loaded !== undefined && placeOf(loaded.verdict) === placeOf(verdict)) return loaded.payload;
    try {
      const payload = await this.#payloads.load(verdict);
      this.#loaded = { verdict, payload };
      return payload;
    } catch (error) {
      if (error instanceof CorruptDataError) return undefined;
      throw error;
    }
  }
}

function collect(candidates: Candidates, { verdicts }: LogBlock): void {
  for (const verdict of verdicts) {
    if (verdict.kind !== "committed") continue;
    for (const [index, { key }] of verdict.writes.entries()) {
      candidates.get(key)?.push({ verdict, index });
    }
  }
}
