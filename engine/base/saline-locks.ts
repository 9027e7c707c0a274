/**
 * Salt's saline locks as items of the records table (docs/adr/0017-base-transactions.md): each is
 * put by the commit of the step that takes it, so that it stands exactly if the step does. Whether
 * it still holds says its BASE transaction's state: once that is released, the lock is void, and is
 * taken away some time later.
 *
 *     pk                    sk                  what it says
 *     written#<partition>   <sort>              these BASE transactions have written the item
 *     read#<partition>      <BASE transaction>  it has read these items, or all of the partition
 *     table#<table>         <BASE transaction>  it has written items of the table
 *
 * Partition and sort are digests, equal exactly for equal keys. Paper: Salt §4.2.
 */
import { keyNamesOf } from "../../core/attributes.ts";
import * as limits from "../../core/limits.ts";
import type { Digest } from "../../core/ports.ts";
import type { AttributeValue, Item, TableDescription, Timestamp } from "../../core/types.ts";
import { canonicalKey } from "../../schemas/key-hashes.ts";
import {
  count,
  expiringAfter,
  itemKey,
  listOf,
  mapOf,
  momentOf,
  numberOf,
  optionalTextOf,
  textOf,
  texts,
  textsOf,
} from "./attributes.ts";

/** An open BASE transaction's hold on an item that it has written. */
export type Hold = {
  readonly base: string;
  /** The item was as it found it up to here at least. */
  readonly before: Timestamp;
};

export type WriteLock = {
  readonly table: string;
  readonly key: Item;
  readonly holds: readonly Hold[];
  readonly reservation: Reservation;
};

/** No further BASE transaction takes the item (reservations.ts). */
export type Reservation = {
  /** Random, of the call that waits. Empty of what an earlier release has written. */
  readonly by: string;
  /** By its wall clock; anew each time it is renewed. 0: nobody waits for the item. */
  readonly untilMs: number;
};

export const unreserved: Reservation = { by: "", untilMs: 0 };

export type ReadLock = {
  readonly base: string;
  /** Of the items that it has read. */
  readonly sorts: ReadonlySet<string>;
  /** It has read all of the partition, and that nothing else was there. */
  readonly all: boolean;
};

/** Where the locks of an item stand. */
export type LockPlace = { readonly partition: string; readonly sort: string };

/** Of each place another one. */
export function placeName({ partition, sort }: LockPlace): string {
  return `${partition} ${sort}`;
}

const none = { NULL: true } as const;
/** Sort of the only item of a partition. */
const onlyItem = "-";

export function lockPlace(digest: Digest, table: TableDescription, key: Item): LockPlace {
  const { sortKey, ...names } = keyNamesOf(table);
  const partition = digestText(digest, canonicalKey(names, key));
  if (sortKey === undefined) return { partition, sort: onlyItem };
  return { partition, sort: digestText(digest, canonicalKey({ ...names, sortKey }, key)) };
}

function digestText(digest: Digest, bytes: Uint8Array): string {
  return Buffer.from(digest(bytes)).toString("base64url");
}

export function writtenPartition(partition: string): string {
  return `written#${partition}`;
}

export function readPartition(partition: string): string {
  return `read#${partition}`;
}

export function tablePartition(table: string): string {
  return `table#${table}`;
}

export function writeLockKey({ partition, sort }: LockPlace): Item {
  return itemKey(writtenPartition(partition), sort);
}

export function placeOfKey(key: Item): LockPlace {
  const partition = textOf(key, "pk");
  return { partition: partition.slice(partition.indexOf("#") + 1), sort: textOf(key, "sk") };
}

/**
 * One that nobody holds keeps the item free: the store drops it, if nobody takes it. Not before the
 * past has gone in which somebody held it.
 */
export function writeLockItem(place: LockPlace, lock: WriteLock): Item {
  const { table, key, holds, reservation } = lock;
  const { by, untilMs } = reservation;
  return {
    ...writeLockKey(place),
    table: { S: table },
    key: { M: key },
    holds: {
      L: holds.map(({ base, before }): AttributeValue => ({
        M: { base: { S: base }, before: count(before) },
      })),
    },
    ...(untilMs === 0 ? {} : { reservedUntilMs: count(untilMs), reservedBy: { S: by } }),
    ...(holds.length > 0 ? {} : expiringAfter(untilMs, limits.baseSeenRetentionSeconds)),
  };
}

export function toWriteLock(item: Item): WriteLock {
  return {
    table: textOf(item, "table"),
    key: mapOf(item, "key"),
    holds: listOf(item, "holds").map((hold) => {
      const { pk = none, sk = none } = item;
      // Its errors name the lock.
      const each = { ...("M" in hold ? hold.M : {}), pk, sk };
      return { base: textOf(each, "base"), before: numberOf(each, "before") as Timestamp };
    }),
    reservation: {
      by: optionalTextOf(item, "reservedBy") ?? "",
      untilMs: momentOf(item, "reservedUntilMs", 0),
    },
  };
}

export function readLockItem(partition: string, { base, sorts, all }: ReadLock): Item {
  return {
    ...itemKey(readPartition(partition), base),
    sorts: texts(sorts),
    all: { BOOL: all },
  };
}

export function toReadLock(item: Item): ReadLock {
  const { all } = item;
  return {
    base: textOf(item, "sk"),
    sorts: new Set(textsOf(item, "sorts")),
    all: all !== undefined && "BOOL" in all && all.BOOL,
  };
}
