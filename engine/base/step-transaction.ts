/**
 * A step of a BASE transaction (Salt's alkaline subtransaction): an ordinary serializable
 * transaction that sees what other BASE transactions have committed, open or not, and whose commit
 * takes the locks of what it has read and written. Having read what an open one has written makes
 * its own one depend on that: it is released after it. Paper: Salt §3, §4.3.
 */
import { assert } from "../../core/assert.ts";
import { keyNamesOf } from "../../core/attributes.ts";
import { takesBase } from "../../core/base-tables.ts";
import { InvalidRequestError, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Item, TableDescription, Timestamp } from "../../core/types.ts";
import type { PageRequest, QuerySpec, RowPage, ScanSpec } from "../types.ts";
import type { BufferedWrite } from "../attempts/write-buffer.ts";
import { itemKey } from "./attributes.ts";
import { GuardedTransaction, type GuardParts } from "./guarded-transaction.ts";
import { ReservedError } from "./held.ts";
import type { Patience, SeenReservations } from "./reservations.ts";
import { UnknownTableError } from "../table-registry.ts";
import type { HeldItem } from "./lock-reader.ts";
import {
  readLockItem,
  tablePartition,
  unreserved,
  writeLockItem,
  type LockPlace,
  type Reservation,
} from "./saline-locks.ts";

const none = { NULL: true } as const;

/** Of first steps alone: who holds items already may be what the others wait for. */
export type Heed = { readonly seen: SeenReservations; readonly patience: Patience };

type PartitionRead = { readonly sorts: Set<string>; all: boolean };

export class StepTransaction extends GuardedTransaction {
  readonly #base: string;
  readonly #isFirst: boolean;
  readonly #heed: Heed | undefined;
  readonly #dependsOn = new Set<string>();
  readonly #read = new Map<string, PartitionRead>();
  #after: Timestamp | undefined;

  constructor(
    parts: GuardParts & {
      readonly base: string;
      readonly isFirst: boolean;
      readonly heed: Heed | undefined;
    },
  ) {
    super(parts);
    this.#base = parts.base;
    this.#isFirst = parts.isFirst;
    this.#heed = parts.heed;
  }

  /** BASE transactions that it has read from, and that are not released. */
  get dependsOn(): ReadonlySet<string> {
    return this.#dependsOn;
  }

  /** Its commit counts above it; undefined: it writes nothing. Known before the commit. */
  get after(): Timestamp | undefined {
    return this.#after;
  }

  async get(table: string, key: Item): Promise<Item | undefined> {
    const [item] = await this.batchGet([{ table, key }]);
    return item;
  }

  async batchGet(
    keys: readonly { readonly table: string; readonly key: Item }[],
  ): Promise<readonly (Item | undefined)[]> {
    const wanted = keys.map(({ table, key }) => {
      const description = this.#usable(table);
      return { description, key, place: this.locks.placeOf(description, key) };
    });
    const [first] = keys;
    const reading =
      keys.length === 1 && first !== undefined
        ? this.context.get(first.table, first.key).then((item) => [item])
        : this.context.batchGet(keys);
    reading.catch(() => undefined);
    const locks = await this.locks.writeLocks(wanted.map(({ place }) => place));
    this.#meet(locks);
    for (const { place } of wanted) this.#noteRead(place.partition).sorts.add(place.sort);
    return reading;
  }

  async queryPage(table: string, query: QuerySpec, page: PageRequest): Promise<RowPage> {
    const description = this.#usable(table);
    if (query.index !== undefined) throw refusedRead(`an index of table "${table}"`);
    const reading = this.context.queryPage(table, query, page);
    reading.catch(() => undefined);
    const key = { [description.partitionKey.name]: query.partitionKey };
    const partition = this.locks.partitionOf(description, key);
    this.#meet(await this.locks.writeLocksIn(partition));
    this.#noteRead(partition).all = true;
    return reading;
  }

  scanPage(table: string, _scan: ScanSpec, _page: PageRequest): Promise<RowPage> {
    return Promise.reject(refusedRead(`all of table "${table}"`));
  }

  protected assertWritable(table: string): void {
    this.#usable(table);
  }

  /** Buffers the locks that its commit takes, of what is buffered when it is called. */
  protected async gathered(): Promise<void> {
    this.taken.length = 0;
    this.#after = undefined;
    const writes = Array.from(this.context.writes.values());
    const written = await this.#lockWritten(writes);
    for (const table of new Set(writes.map((write) => write.table.name))) {
      this.#put(itemKey(tablePartition(table), this.#base));
    }
    await Promise.all(
      Array.from(this.#read, async ([partition, { sorts, all }]) => {
        // What it writes it holds by the stronger lock.
        const only = [...sorts].filter((sort) => written.get(partition)?.has(sort) !== true);
        if (only.length === 0 && !all) return;
        const before = await this.locks.readLockOf(partition, this.#base);
        const named = new Set([...(before?.sorts ?? []), ...only]);
        const isAll = all || before?.all === true || named.size > limits.baseReadLockItemsMax;
        // mutant: reads-not-locked
        this.#put(
          readLockItem(partition, {
            base: this.#base,
            sorts: isAll ? new Set() : named,
            all: isAll,
          }),
        );
      }),
    );
  }

  /** Gives the sorts, by partition. */
  async #lockWritten(
    writes: readonly BufferedWrite[],
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    // Read, so that each is at its commit as it was up to here: that is what readers are shown. So
    // steps chain to nothing: what they read would not be there yet at their read timestamp.
    for (const table of new Set(writes.map((write) => write.table))) {
      const keys = writes.filter((write) => write.table === table).map(({ key }) => key);
      await this.context.stored(table, keys);
    }
    const places = writes.map(({ table, key }) => this.locks.placeOf(table, key));
    const locks = places.length === 0 ? [] : await this.locks.writeLocks(places);
    const held = new Map(locks.map((lock) => [lock.place, lock]));
    const written = new Map<string, Set<string>>();
    writes.forEach((write, i) => {
      const place = places[i];
      assert(place !== undefined, "base: each write has its place");
      const sorts = written.get(place.partition) ?? new Set<string>();
      written.set(place.partition, sorts.add(place.sort));
      this.#lockOne(write, place, held.get(place));
    });
    return written;
  }

  #lockOne({ table, key }: BufferedWrite, place: LockPlace, held: HeldItem | undefined): void {
    if (held !== undefined) this.#meetReservation(held);
    const others = (held?.holds ?? []).filter(({ base }) => base !== this.#base);
    const own = held?.holds.find(({ base }) => base === this.#base);
    // Readers are shown the item as it was before the oldest of them: so not this one alone either.
    // mutant: overwrites-without-depending
    for (const { base } of others) this.#dependsOn.add(base);
    const [max, limit] = this.#isFirst
      ? [limits.baseHoldersMax, "baseHoldersMax"]
      : [limits.baseLaterHoldersMax, "baseLaterHoldersMax"];
    if (others.length >= max) {
      throw new UnavailableError(
        `an item of table "${table.name}" is held by ${others.length} open BASE transactions, ` +
          `which is the limit ${limit}`,
      );
    }
    const readTimestamp = this.#readTimestampOf(table, key);
    this.#after = Math.min(this.#after ?? readTimestamp, readTimestamp) as Timestamp;
    // mutant: first-write-forgotten
    const before = own?.before ?? readTimestamp;
    const { partitionKey, sortKey } = keyNamesOf(table);
    const names = sortKey === undefined ? [partitionKey] : [partitionKey, sortKey];
    this.#put(
      writeLockItem(place, {
        table: table.name,
        key: Object.fromEntries(names.flatMap((name) => [[name, key[name] ?? { NULL: true }]])),
        holds: [...others, { base: this.#base, before }],
        reservation: this.#reservationLeft(held),
      }),
    );
  }

  /** Of the shard in which it lies. */
  #readTimestampOf(table: TableDescription, key: Item): Timestamp {
    const { views } = this.context;
    return views.openAt(views.hashes.item(keyNamesOf(table), key)).readTimestamp;
  }

  /** Keys of the locks that its commit takes. */
  readonly taken: Item[] = [];

  #put(item: Item): void {
    const { pk = none, sk = none } = item;
    this.taken.push({ pk, sk });
    this.context.putInto(this.locks.records, item);
  }

  #noteRead(partition: string): PartitionRead {
    const known = this.#read.get(partition);
    if (known !== undefined) return known;
    const read = { sorts: new Set<string>(), all: false };
    this.#read.set(partition, read);
    return read;
  }

  #meet(locks: readonly HeldItem[]): void {
    for (const held of locks) {
      this.#meetReservation(held);
      // mutant: reads-without-depending
      for (const { base } of held.holds) if (base !== this.#base) this.#dependsOn.add(base);
    }
  }

  /** What is over is taken away with the lock that is put there anyway. */
  #reservationLeft(held: HeldItem | undefined): Reservation {
    if (held === undefined) return unreserved;
    const { place, lock } = held;
    const isOver = this.#heed !== undefined && !this.#heed.seen.stands(place, lock.reservation);
    return isOver ? unreserved : lock.reservation;
  }

  #meetReservation({ place, lock, holds }: HeldItem): void {
    if (this.#heed === undefined || holds.some(({ base }) => base === this.#base)) return;
    const { reservation } = lock;
    // mutant: begins-with-what-is-reserved
    if (!this.#heed.seen.stands(place, reservation)) return;
    if (!this.#heed.patience.waitsFor(reservation.by)) return;
    const error = new ReservedError(place);
    this.context.doom(error);
    throw error;
  }

  /** @throws InvalidRequestError for a table whose other readers would look at no lock. */
  #usable(table: string): TableDescription {
    const description = this.describe(table);
    const { baseSince } = description;
    if (!takesBase(description)) {
      throw new UnknownTableError(
        "table",
        `table "${table}" takes no BASE transactions: register it with \`base: true\` ` +
          `(\`npx tidemark register ${table} --base\`)`,
      );
    }
    if ((baseSince ?? 0) <= this.services.ports.clock.nowMs() * 1000) return description;
    throw new UnavailableError(
      `table "${table}" takes BASE transactions from ${baseSince ?? 0} on, when every process ` +
        "knows of it; try again then",
    );
  }
}

function refusedRead(what: string): InvalidRequestError {
  return new InvalidRequestError(
    "step",
    `a step reads by key, or by partition: what it has read is held until its BASE transaction ` +
      `ends, and ${what} would be held against everybody`,
  );
}
