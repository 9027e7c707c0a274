/** Locks as one attempt sees them: what it has read of them is in its read set. */
import { attribute } from "../../core/attributes.ts";
import type { Digest } from "../../core/ports.ts";
import type { Item, TableDescription } from "../../core/types.ts";
import type { EngineTransaction } from "../types.ts";
import { statesOf, type BaseState, type ReadState } from "./base-state.ts";
import { itemKey, textOf } from "./attributes.ts";
import {
  lockPlace,
  readPartition,
  tablePartition,
  toReadLock,
  toWriteLock,
  writeLockKey,
  writtenPartition,
  type Hold,
  type LockPlace,
  type ReadLock,
  type WriteLock,
} from "./saline-locks.ts";

/** A lock, where it stands, and which of its holders are not released. */
export type HeldItem = {
  readonly place: LockPlace;
  readonly lock: WriteLock;
  readonly holds: readonly Hold[];
};

/** Told of a lock as soon as it is read, before it is known whether its holders are released. */
export type OnLock = (lock: WriteLock, place: LockPlace) => void;

type Reads = Pick<EngineTransaction, "get" | "batchGet" | "queryPage">;

export class LockReader {
  readonly records: TableDescription;
  readonly #reads: Reads;
  readonly #digest: Digest;
  readonly #readState: ReadState;
  readonly #states = new Map<string, Promise<BaseState>>();

  constructor(reads: Reads, records: TableDescription, digest: Digest) {
    this.records = records;
    this.#reads = reads;
    this.#digest = digest;
    this.#readState = statesOf(reads, records);
  }

  placeOf(table: TableDescription, key: Item): LockPlace {
    return lockPlace(this.#digest, table, key);
  }

  /** Of its partition alone. */
  partitionOf({ sortKey: _, ...table }: TableDescription, key: Item): string {
    return lockPlace(this.#digest, table, key).partition;
  }

  /** Whether the lock stands where those of the item stand that it names. */
  isOf(table: TableDescription, { table: named, key }: WriteLock, place: LockPlace): boolean {
    const { partitionKey, sortKey } = table;
    const isWhole = [partitionKey, ...(sortKey === undefined ? [] : [sortKey])].every(
      ({ name }) => attribute(key, name) !== undefined,
    );
    if (named !== table.name || !isWhole) return false;
    const { partition, sort } = this.placeOf(table, key);
    return partition === place.partition && sort === place.sort;
  }

  state(base: string): Promise<BaseState> {
    const known = this.#states.get(base);
    if (known !== undefined) return known;
    const state = this.#readState(base);
    this.#states.set(base, state);
    return state;
  }

  async isReleased(base: string): Promise<boolean> {
    return (await this.state(base)).phase === "released";
  }

  /** Undefined where nobody holds it, or has reserved it. */
  async writeLock(place: LockPlace, onLock?: OnLock): Promise<HeldItem | undefined> {
    const item = await this.#reads.get(this.records.name, writeLockKey(place));
    return item && this.#held(place, toWriteLock(item), onLock);
  }

  async writeLocks(places: readonly LockPlace[], onLock?: OnLock): Promise<readonly HeldItem[]> {
    const keys = places.map((place) => ({ table: this.records.name, key: writeLockKey(place) }));
    const items = await this.#reads.batchGet(keys);
    const found = places.flatMap((place, i) => {
      const item = items[i];
      return item === undefined ? [] : [this.#held(place, toWriteLock(item), onLock)];
    });
    return Promise.all(found);
  }

  /** Of all items of a partition; nothing else can be held there as long as this holds still. */
  async writeLocksIn(partition: string, onLock?: OnLock): Promise<readonly HeldItem[]> {
    const items = await this.#itemsOf(writtenPartition(partition));
    return Promise.all(
      items.map((item) =>
        this.#held({ partition, sort: textOf(item, "sk") }, toWriteLock(item), onLock),
      ),
    );
  }

  /** Of BASE transactions that have read in the partition, and are not released. */
  async readLocksIn(partition: string): Promise<readonly ReadLock[]> {
    const locks = (await this.#itemsOf(readPartition(partition))).map(toReadLock);
    return this.#unreleased(locks);
  }

  /** One BASE transaction's own. */
  async readLockOf(partition: string, base: string): Promise<ReadLock | undefined> {
    const key = itemKey(readPartition(partition), base);
    const item = await this.#reads.get(this.records.name, key);
    return item && toReadLock(item);
  }

  /** BASE transactions that have written in the table, and are not released. */
  async writersOf(table: string): Promise<readonly string[]> {
    const items = await this.#itemsOf(tablePartition(table));
    const open = await this.#unreleased(items.map((item) => ({ base: textOf(item, "sk") })));
    return open.map(({ base }) => base);
  }

  async #held(place: LockPlace, lock: WriteLock, onLock?: OnLock): Promise<HeldItem> {
    onLock?.(lock, place);
    return { place, lock, holds: await this.#unreleased(lock.holds) };
  }

  async #unreleased<Lock extends { readonly base: string }>(
    locks: readonly Lock[],
  ): Promise<readonly Lock[]> {
    const released = await Promise.all(locks.map(({ base }) => this.isReleased(base)));
    return locks.filter((_, i) => released[i] !== true);
  }

  async #itemsOf(partition: string): Promise<readonly Item[]> {
    const items: Item[] = [];
    for (let cursor: Item | undefined; ;) {
      const query = { partitionKey: { S: partition } };
      const page = await this.#reads.queryPage(this.records.name, query, { cursor });
      items.push(...page.rows);
      cursor = page.cursor;
      if (cursor === undefined) return items;
    }
  }
}
