/** Locks of what is released, taken away. */
import type { Item, TableDescription } from "../../core/types.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";
import type { LockReader } from "./lock-reader.ts";
import {
  placeOfKey,
  toWriteLock,
  writeLockItem,
  type LockPlace,
  type Reservation,
} from "./saline-locks.ts";

export async function takeAway(
  context: TransactionContext,
  {
    records,
    locks,
    key,
    base,
    isReserved,
  }: {
    readonly records: TableDescription;
    readonly locks: LockReader;
    readonly key: Item;
    readonly base: string;
    readonly isReserved: (place: LockPlace, reservation: Reservation) => boolean;
  },
): Promise<void> {
  const item = await context.get(records.name, key);
  if (item === undefined) return;
  if (item["holds"] === undefined) {
    context.deleteFrom(records, key);
    return;
  }
  const lock = toWriteLock(item);
  const released = await Promise.all(lock.holds.map((hold) => locks.isReleased(hold.base)));
  // mutant: cleaned-with-those-of-others
  const holds = lock.holds.filter((hold, i) => hold.base !== base && released[i] !== true);
  const place = placeOfKey(key);
  const isFree = holds.length === 0 && !isReserved(place, lock.reservation);
  if (isFree) context.deleteFrom(records, key);
  else if (holds.length < lock.holds.length) {
    const { holds: _, ...rest } = item;
    context.putInto(records, { ...rest, ...writeLockItem(place, { ...lock, holds }) });
  }
}
