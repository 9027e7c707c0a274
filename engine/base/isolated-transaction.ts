/**
 * A transaction that is no step, where BASE transactions are about: it sees none that is open, and
 * changes nothing that an open one has read (Salt isolation, docs/adr/0017-base-transactions.md).
 *
 * What it reads it reads beside the lock there, and what it writes beside the locks of who has
 * written or read it. All of that is in its read set. So where it is certified no open BASE
 * transaction holds any of it, and all its conflicts with each go one way. Paper: Salt §4.1, §4.2.
 *
 * One that only reads sees what an open BASE transaction has written as it was before, from
 * history, and waits for nobody; where that is not kept, it waits.
 */
import { attribute } from "../../core/attributes.ts";
import { takesBase } from "../../core/base-tables.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import { matchesSortKey } from "../../core/sort-key-condition.ts";
import type { Item, TableDescription, Timestamp } from "../../core/types.ts";
import type { PageRequest, QuerySpec, RowPage, ScanSpec } from "../types.ts";
import { itemIdentity } from "../attempts/write-buffer.ts";
import { corrupt } from "./attributes.ts";
import { GuardedTransaction, type GuardParts } from "./guarded-transaction.ts";
import { HeldError } from "./held.ts";
import type { HeldItem, OnLock } from "./lock-reader.ts";
import { pastItem, type PastItem } from "./past-item.ts";
import {
  placeName,
  unreserved,
  writeLockItem,
  writeLockKey,
  type Hold,
  type LockPlace,
} from "./saline-locks.ts";

/** Partitions whose locks are looked at side by side. */
const partitionsAtOnce = 25;

export class IsolatedTransaction extends GuardedTransaction {
  readonly #mode: "reads" | "writes";
  /** Items whose locks it has looked at: kept free for it as a whole, if it waits long. */
  readonly #looked = new Map<string, LockPlace>();
  /** By key and moment. */
  readonly #past = new Map<string, Promise<PastItem>>();

  constructor(parts: GuardParts & { readonly mode: "reads" | "writes" }) {
    super(parts);
    this.#mode = parts.mode;
  }

  async get(table: string, key: Item): Promise<Item | undefined> {
    this.assertUsers(table);
    const reading = this.context.get(table, key);
    const held = await this.#beside(reading, table, () => this.#heldAmong(table, [key]));
    // mutant: written-locks-not-heeded
    if (held.length === 0) return reading;
    await this.#hide(table, held);
    return this.context.get(table, key);
  }

  async batchGet(
    keys: readonly { readonly table: string; readonly key: Item }[],
  ): Promise<readonly (Item | undefined)[]> {
    const tables = new Set(keys.map(({ table }) => table));
    for (const table of tables) this.assertUsers(table);
    const reading = this.context.batchGet(keys);
    reading.catch(() => undefined);
    let isHidden = false;
    for (const table of tables) {
      const own = keys.filter((each) => each.table === table).map(({ key }) => key);
      const held = await this.#beside(reading, table, () => this.#heldAmong(table, own));
      if (held.length === 0) continue;
      await this.#hide(table, held);
      isHidden = true;
    }
    return isHidden ? this.context.batchGet(keys) : reading;
  }

  async queryPage(table: string, query: QuerySpec, page: PageRequest): Promise<RowPage> {
    this.assertUsers(table);
    if (query.index !== undefined) {
      const reading = this.context.queryPage(table, query, page);
      await this.#beside(reading, table, () => this.#noWriterOf(table));
      return reading;
    }
    const description = this.services.registry.find(table);
    if (description === undefined || !takesBase(description)) {
      return this.context.queryPage(table, query, page);
    }
    this.assertWritable(table);
    const key = { [description.partitionKey.name]: query.partitionKey };
    const isAskedFor = (row: Item): boolean => isWithin(row, description, query.sortKey);
    return this.context.queryPage(table, query, page, async () => {
      const partition = this.locks.partitionOf(description, key);
      const onLock = this.#onLock(description, isAskedFor);
      const locks = await this.locks.writeLocksIn(partition, onLock);
      const held = this.#onlyHeld(description, locks).filter(({ lock }) => isAskedFor(lock.key));
      // mutant: queries-pass-locks
      if (held.length === 0) return;
      await this.#hide(table, held);
    });
  }

  async scanPage(table: string, scan: ScanSpec, page: PageRequest): Promise<RowPage> {
    this.assertUsers(table);
    const reading = this.context.scanPage(table, scan, page);
    await this.#beside(reading, table, () => this.#noWriterOf(table));
    return reading;
  }

  /**
   * Before what was written is certified: who has written or read it, and is open, is waited for.
   * @throws HeldError
   */
  protected async gathered(): Promise<void> {
    if (this.#mode === "reads") return;
    const writes = Array.from(this.context.writes.values()).filter(({ table }) => takesBase(table));
    const places = writes.map(({ table, key }) => this.locks.placeOf(table, key));
    const sorts = new Map<string, string[]>();
    for (const { partition, sort } of places) {
      sorts.set(partition, [...(sorts.get(partition) ?? []), sort]);
    }
    this.#noteLooked(places);
    const locks = places.length === 0 ? [] : await this.locks.writeLocks(places);
    // mutant: overwrites-what-is-open
    this.#refuse(onlyHeld(locks));
    // mutant: overwrites-what-open-has-read
    await this.#refuseRead([...sorts]);
    const { reservedBy } = this.services.call;
    if (reservedBy === undefined) return;
    for (const held of locks) {
      if (held.lock.reservation.by === reservedBy) this.#endReservation(held);
    }
  }

  /** It has waited for it, and is through. Those of others stay theirs. */
  #endReservation({ place, lock, holds }: HeldItem): void {
    const { records } = this.locks;
    const free = { ...lock, holds, reservation: unreserved };
    if (holds.length === 0) this.context.deleteFrom(records, writeLockKey(place));
    else this.context.putInto(records, writeLockItem(place, free));
  }

  async #refuseRead(partitions: readonly (readonly [string, readonly string[]])[]): Promise<void> {
    for (let at = 0; at < partitions.length; at += partitionsAtOnce) {
      await Promise.all(
        partitions.slice(at, at + partitionsAtOnce).map(async ([partition, sorts]) => {
          const readers = await this.locks.readLocksIn(partition);
          const inTheWay = readers.filter(
            (lock) => lock.all || sorts.some((sort) => lock.sorts.has(sort)),
          );
          if (inTheWay.length === 0) return;
          const places = sorts.map((sort) => ({ partition, sort }));
          throw this.#held(
            inTheWay.map(({ base }) => base),
            places,
          );
        }),
      );
    }
  }

  /** What is found beside a read of a table, if BASE transactions may use that. */
  async #beside<Found>(
    reading: Promise<unknown>,
    table: string,
    look: () => Promise<readonly Found[]>,
  ): Promise<readonly Found[]> {
    reading.catch(() => undefined);
    const description = this.services.registry.find(table);
    if (description === undefined || !takesBase(description)) return [];
    this.assertWritable(table);
    return look();
  }

  async #heldAmong(table: string, keys: readonly Item[]): Promise<readonly HeldItem[]> {
    const description = this.describe(table);
    const unwritten = keys.filter(
      (key) => this.context.writes.find(description, key) === undefined,
    );
    const places = unwritten.map((key) => this.locks.placeOf(description, key));
    this.#noteLooked(places);
    const [only, ...others] = places;
    if (only === undefined) return [];
    const onLock = this.#onLock(description);
    if (others.length > 0) {
      return this.#onlyHeld(description, await this.locks.writeLocks(places, onLock));
    }
    const held = await this.locks.writeLock(only, onLock);
    return held === undefined ? [] : this.#onlyHeld(description, [held]);
  }

  /**
   * What stood there before is looked up by the key that a lock names: that of another item would
   * show what is open.
   */
  #onlyHeld(table: TableDescription, locks: readonly HeldItem[]): readonly HeldItem[] {
    const held = onlyHeld(locks);
    for (const { lock, place } of held) {
      if (!this.locks.isOf(table, lock, place)) throw corrupt(writeLockKey(place), "key");
    }
    return held;
  }

  async #noWriterOf(table: string): Promise<readonly never[]> {
    const writers = await this.locks.writersOf(table);
    // mutant: scans-pass-locks
    if (writers.length > 0) throw this.#held(writers, []);
    return [];
  }

  /** Lays what stood there before over what is read of the table; or waits. */
  async #hide(table: string, held: readonly HeldItem[]): Promise<void> {
    const description = this.describe(table);
    if (this.#mode === "writes" || !description.history) {
      this.#refuse(held);
      return;
    }
    await Promise.all(held.map((each) => this.#hideOne(description, each)));
  }

  async #hideOne(table: TableDescription, held: HeldItem): Promise<void> {
    const { key } = held.lock;
    if (this.context.writes.find(table, key) !== undefined) return;
    // probe: base-read-around-what-is-open
    const past = await this.#before(table, held.lock.key, held.holds);
    if (past.kept) this.context.writes.lay(table, key, past.item);
    else this.#refuse([held]);
  }

  /**
   * What stood there before those that hold it is read while it is looked up whether they still do:
   * mostly they do, and this is a round trip less.
   */
  #onLock(table: TableDescription, isAskedFor = (_: Item) => true): OnLock | undefined {
    if (this.#mode === "writes" || !table.history) return undefined;
    return (lock, place) => {
      const { key, holds } = lock;
      if (holds.length === 0 || !isAskedFor(key) || !this.locks.isOf(table, lock, place)) return;
      if (this.context.writes.find(table, key) !== undefined) return;
      // Who needs it hears how it ended.
      this.#before(table, key, holds).catch(() => undefined);
    };
  }

  /** What stood at a key before the first of its holders, which has come to stay. */
  #before(table: TableDescription, key: Item, holds: readonly Hold[]): Promise<PastItem> {
    // mutant: hides-newest-writer
    const at = Math.min(...holds.map(({ before }) => before)) as Timestamp;
    const name = `${itemIdentity(table, key)} ${at}`;
    const known = this.#past.get(name);
    if (known !== undefined) return known;
    const past = pastItem(this.services, { table, key, at });
    this.#past.set(name, past);
    return past;
  }

  #refuse(held: readonly HeldItem[]): void {
    if (held.length === 0) return;
    throw this.#held(
      held.flatMap(({ holds }) => holds.map(({ base }) => base)),
      held.map(({ place }) => place),
    );
  }

  /** Ends the attempt, whatever its body makes of it. */
  #held(bases: readonly string[], places: readonly LockPlace[]): Error {
    this.#noteLooked(places);
    // What held it up comes first: of many items not all are kept free.
    const wanted = new Map(places.map((place) => [placeName(place), place]));
    for (const [name, place] of this.#looked) if (!wanted.has(name)) wanted.set(name, place);
    const { mode, readTimestamp } = this.context.views;
    const asOf = mode === "fixed" ? readTimestamp : undefined;
    const error = new HeldError([...new Set(bases)].sort(), [...wanted.values()], asOf);
    this.context.doom(error);
    return error;
  }

  #noteLooked(places: readonly LockPlace[]): void {
    for (const place of places) this.#looked.set(placeName(place), place);
  }

  protected assertWritable(table: string): void {
    this.assertUsers(table);
    const description = this.services.registry.find(table);
    const isSnapshot = this.#mode === "writes" && this.context.views.isolation === "snapshot";
    if (!isSnapshot || description === undefined || !takesBase(description)) return;
    throw new InvalidRequestError(
      "isolation",
      `table "${table}" takes BASE transactions, and who writes is kept apart from them ` +
        "by what its commit checks: use `serializable`, which is the default",
    );
  }
}

/** Whether a query by the condition could show the row. */
function isWithin(row: Item, { sortKey }: TableDescription, asked: QuerySpec["sortKey"]): boolean {
  const value = sortKey === undefined ? undefined : attribute(row, sortKey.name);
  return asked === undefined || value === undefined || matchesSortKey(asked, value);
}

function onlyHeld(locks: readonly HeldItem[]): readonly HeldItem[] {
  return locks.filter(({ holds }) => holds.length > 0);
}
