/**
 * What replay leaves behind in the control table: tombstones queued for the reaper, the reaper's
 * samples of the watermark, and dead letters for operators. A batch of tombstones may exceed what
 * an item holds, so it is stored in parts under (position, life, part) and put together when read.
 */
import { createHash } from "node:crypto";
import { assert } from "../core/assert.ts";
import * as limits from "../core/limits.ts";
import type {
  CallOptions,
  ControlStore,
  DeadLetter,
  QueueOptions,
  Tombstone,
  TombstoneBatch,
  TombstoneBatchKey,
  TombstoneLife,
  WatermarkSample,
} from "../core/ports.ts";
import type {
  AttributeValue,
  Item,
  LogPosition,
  ShardId,
  Timestamp,
  Version,
} from "../core/types.ts";
import { encodeItem } from "../schemas/attribute-value.ts";
import { allOf, lastKeyOf, padded, type ControlTable } from "./control-table.ts";
import { readableOf } from "./readable-entries.ts";
import { corrupt, integerOf, mapOf, mapsOf, textOf, type Stored } from "./stored-attributes.ts";

type ReaperStore = Pick<
  ControlStore,
  | "queueTombstones"
  | "queuedTombstones"
  | "dropTombstones"
  | "watermarkSamples"
  | "saveWatermarkSamples"
  | "saveDeadLetter"
>;

export function createReaperStore(control: ControlTable): ReaperStore {
  return {
    queueTombstones: (batch, options) => queue(control, batch, options),
    queuedTombstones: (shard, options) => queued(control, shard, options),
    async dropTombstones(batch, options) {
      const pk = queueKey(batch.shard);
      const parts = await allOf(control, { pk, prefix: prefixOf(batch) }, options);
      // The last part first: what is left after a crash is still a batch, only a shorter one.
      for (const item of [...parts].reverse()) {
        await control.delete({ pk, sk: textOf({ what: "tombstones", item }, "sk") }, options);
      }
    },
    async watermarkSamples(shard, options) {
      const item = await control.get(samplesKey(shard), options);
      if (item === undefined) return [];
      return mapsOf({ what: `watermark samples of ${shard}`, item }, "samples").map((sample) => ({
        observedMs: integerOf(sample, "observedMs"),
        timestamp: integerOf(sample, "timestamp") as Timestamp,
      }));
    },
    async saveWatermarkSamples(shard, samples, options) {
      assert(samples.length <= limits.watermarkSamplesMax, "control: too many watermark samples");
      const list = samples.map(fromSample);
      await control.put(samplesKey(shard), { samples: { L: list } }, options);
    },
    saveDeadLetter: (letter, options) => saveDeadLetter(control, letter, options),
  };
}

function queueKey(shard: ShardId): string {
  return `tombstones#${shard}`;
}

/** What the sort keys of a batch's parts begin with. */
function prefixOf({ position, life }: TombstoneBatchKey): string {
  return `${padded(position)}#${life}#`;
}

function samplesKey(shard: ShardId): { pk: string; sk: string } {
  return { pk: `shard#${shard}`, sk: "watermark-samples" };
}

function fromSample({ observedMs, timestamp }: WatermarkSample): AttributeValue {
  return {
    M: { observedMs: { N: observedMs.toString() }, timestamp: { N: timestamp.toString() } },
  };
}

/**
 * Parts are written in order under fixed names, so a repeat overwrites them with the same content.
 * Where the stretch begins is a part of the name: the watermark may stand within a stretch that was
 * queued as a whole, and who begins there knows only the rest of it.
 */
async function queue(
  control: ControlTable,
  batch: TombstoneBatch & { readonly from: LogPosition },
  options: CallOptions | undefined,
): Promise<void> {
  let part: AttributeValue[] = [];
  let bytes = 0;
  let parts = 0;
  const flush = async (): Promise<void> => {
    const sk = `${prefixOf(batch)}${padded(batch.from)}${parts.toString().padStart(6, "0")}`;
    const attributes: Item = { through: { N: batch.through.toString() }, tombstones: { L: part } };
    await control.put({ pk: queueKey(batch.shard), sk }, attributes, options);
    part = [];
    bytes = 0;
    parts += 1;
  };
  for (const tombstone of batch.tombstones) {
    const size = encodeItem(tombstone.key).length + tombstone.table.length + 64;
    if (bytes + size > limits.tombstoneItemBytesMax) await flush();
    part.push(fromTombstone(tombstone));
    bytes += size;
  }
  if (part.length > 0) await flush();
}

function fromTombstone({ table, key, version }: Tombstone): AttributeValue {
  return { M: { table: { S: table }, key: { M: key }, version: { N: version.toString() } } };
}

type QueuedOptions = QueueOptions & { readonly after?: TombstoneBatchKey | undefined };

/** One page, and the rest of the last batch in it where the page ends within a batch. */
async function queued(
  control: ControlTable,
  shard: ShardId,
  options: QueuedOptions | undefined,
): Promise<readonly TombstoneBatch[]> {
  const pk = queueKey(shard);
  // Behind every part of that batch.
  let after = options?.after === undefined ? undefined : `${prefixOf(options.after)}~`;
  for (;;) {
    const page = await control.page({ pk, after }, options);
    const byBatch = new Map<string, Item[]>();
    const keyed = (item: Item) => ({ item, prefix: prefixOf(batchKeyOf(storedPart(shard, item))) });
    for (const { item, prefix } of readableOf(page.items, keyed, options)) {
      const parts = byBatch.get(prefix);
      if (parts === undefined) byBatch.set(prefix, [item]);
      else parts.push(item);
    }
    const last = [...byBatch.keys()].at(-1);
    if (!page.complete && last !== undefined) {
      const parts = await allOf(control, { pk, prefix: last }, options);
      // Another reaper may have dropped the batch in between.
      if (parts.length === 0) byBatch.delete(last);
      else byBatch.set(last, [...parts]);
    }
    // One of which a part is damaged stays as a whole.
    const batches = readableOf(byBatch.values(), (parts) => toBatch(shard, parts), options);
    if (batches.length > 0 || page.complete) return batches;
    after = lastKeyOf(page.items);
  }
}

function storedPart(shard: ShardId, item: Item): Stored {
  const sk = textOf({ what: `tombstones of ${shard}`, item }, "sk");
  return { what: `tombstones of ${shard}, "${sk}"`, item };
}

function batchKeyOf(stored: Stored): TombstoneBatchKey {
  const sk = textOf(stored, "sk");
  const [, position, life] = /^(\d{16})#(grace|history)#\d+$/.exec(sk) ?? [];
  if (position === undefined || life === undefined) throw corrupt(stored, "sk");
  return { position: Number(position) as LogPosition, life: life as TombstoneLife };
}

function toBatch(shard: ShardId, parts: readonly Item[]): TombstoneBatch {
  const stored = parts.map((item) => storedPart(shard, item));
  const [first] = stored;
  assert(first !== undefined, "control: a batch of tombstones has a part");
  return {
    shard,
    ...batchKeyOf(first),
    through: Math.max(...stored.map((part) => integerOf(part, "through"))) as Timestamp,
    tombstones: stored.flatMap((part) => mapsOf(part, "tombstones").map(toTombstone)),
  };
}

function toTombstone(stored: Stored): Tombstone {
  return {
    table: textOf(stored, "table"),
    key: mapOf(stored, "key"),
    version: integerOf(stored, "version") as Version,
  };
}

/** The same letter again overwrites itself: replay repeats its work after a crash. */
async function saveDeadLetter(
  control: ControlTable,
  letter: DeadLetter,
  options: CallOptions | undefined,
): Promise<void> {
  const key = encodeItem(letter.key);
  const identity = createHash("sha256").update(letter.table).update("\0").update(key);
  const item = letter.item === undefined ? undefined : encodeItem(letter.item);
  const keep = item !== undefined && item.length <= limits.deadLetterItemBytesMax;
  await control.put(
    {
      pk: `dead-letters#${letter.shard}`,
      sk: `${padded(letter.timestamp)}#${letter.id}#${identity.digest("hex").slice(0, 32)}`,
    },
    {
      table: { S: letter.table },
      key: { B: key },
      kind: { S: item === undefined ? "delete" : "put" },
      itemBytes: { N: (item?.length ?? 0).toString() },
      reason: { S: letter.reason.slice(0, limits.deadLetterReasonLengthMax) },
      ...(keep ? { item: { B: item } } : {}),
    },
    options,
  );
}
