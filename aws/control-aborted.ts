/** Fences of aborted transactions in the control table, queued for the reaper. */
import type {
  AbortedFences,
  AbortedFencesKey,
  AbortedFencesQueue,
} from "../core/aborted-fences-port.ts";
import type { Item, ShardId, Timestamp, TransactionId } from "../core/types.ts";
import { lastKeyOf, padded, type ControlKey, type ControlTable } from "./control-table.ts";
import { readableOf } from "./readable-entries.ts";
import { corrupt, mapsOf, textOf } from "./stored-attributes.ts";

export function createAbortedFencesQueue(control: ControlTable): AbortedFencesQueue {
  return {
    async queueFences(fences, options) {
      const { table, keys } = fences;
      const attributes = { table: { S: table }, keys: { L: keys.map((key) => ({ M: key })) } };
      await control.put(keyOf(fences), attributes, options);
    },
    async queuedFences(shard, options) {
      let after = options?.after === undefined ? undefined : keyOf(options.after).sk;
      for (;;) {
        const { items, complete } = await control.page({ pk: partitionOf(shard), after }, options);
        const fences = readableOf(items, (item) => toFences(shard, item), options);
        if (fences.length > 0 || complete) return fences;
        after = lastKeyOf(items);
      }
    },
    dropFences: (fences, options) => control.delete(keyOf(fences), options),
  };
}

function partitionOf(shard: ShardId): string {
  return `fences#${shard}`;
}

function keyOf({ shard, through, id, part }: AbortedFencesKey): ControlKey {
  return { pk: partitionOf(shard), sk: `${padded(through)}#${id}#${padded(part)}` };
}

function toFences(shard: ShardId, item: Item): AbortedFences {
  const sk = textOf({ what: `fences of ${shard}`, item }, "sk");
  const stored = { what: `fences of ${shard}, "${sk}"`, item };
  const [, through, id, part] = /^(\d{16})#([0-9a-f]{32})#(\d{16})$/.exec(sk) ?? [];
  if (id === undefined) throw corrupt(stored, "sk");
  return {
    shard,
    through: Number(through) as Timestamp,
    id: id as TransactionId,
    part: Number(part),
    table: textOf(stored, "table"),
    keys: mapsOf(stored, "keys").map(({ item }) => item),
  };
}
