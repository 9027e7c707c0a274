/** What a commit has written, out of its payloads: what the feed is asked for, and records. */
import { baseRecordsTable } from "../../core/base-tables.ts";
import { CorruptDataError } from "../../core/errors.ts";
import { isBaseRecordsTable, isOwnTable } from "../../core/own-tables.ts";
import type { Item, PayloadTable } from "../../core/types.ts";
import type { Call } from "../call.ts";
import type { EngineCore } from "../engine-core.ts";
import { refusalOf } from "../installing/permitted-writes.ts";
import { writeAt, writtenItem, type Commit } from "../installing/payload-writes.ts";
import { PayloadGoneError } from "../log/payload-loader.ts";
import type { MergedCommit } from "./merged-logs.ts";

export type Write = {
  readonly table: PayloadTable;
  readonly key: Item;
  readonly item: Item | undefined;
};

/** By the item, each once. */
export type Writes = ReadonlyMap<string, Write>;

export type Written = {
  /** Of the tables that are asked for. */
  readonly items: Writes;
  /** Put into the table of BASE transactions. */
  readonly records: readonly Item[];
};

export class CommitWrites {
  readonly #core: EngineCore;
  readonly #tables: readonly string[] | undefined;
  /** Whether the registry was asked for after what is looked at had been read from the logs. */
  #isRegistryNewer = false;

  /** @param tables undefined: all. */
  constructor(core: EngineCore, tables: readonly string[] | undefined) {
    this.#core = core;
    this.#tables = tables;
  }

  /** More has been read from the logs. */
  readOn(): void {
    this.#isRegistryNewer = false;
  }

  /** @throws PayloadGoneError; StoreError. */
  async of(commit: MergedCommit, call: Call): Promise<Written> {
    const items = new Map<string, Write>();
    const records = new Map<string, Item>();
    const ownRecords = baseRecordsTable(this.#core.ports.control.idempotencyTable.name);
    for (const { cursor, verdict } of commit.parts) {
      // An inherited part stands in two logs; its payload is the same.
      const payload = await orDamaged(cursor.payloadOf(verdict, call.options));
      if (payload === undefined) continue;
      const own: Commit = { verdict, payload };
      for (const index of payload.writes.keys()) {
        const { table, write } = writeAt(payload, index);
        const isRecord = table.name === ownRecords;
        if (!isRecord && !this.#isWanted(table.name)) continue;
        if (!(await this.#isPermitted(own, index, call))) continue;
        const { key, item } = write;
        const identity = writtenItem(payload, index);
        if (!isRecord) items.set(identity, { table, key, item });
        else if (item !== undefined) records.set(identity, item);
      }
    }
    return { items, records: [...records.values()] };
  }

  #isWanted(table: string): boolean {
    if (isOwnTable(table) || isBaseRecordsTable(table)) return false;
    return this.#tables?.includes(table) !== false;
  }

  /** No copy of the registry that is older than the commit leaves anything out. */
  async #isPermitted(commit: Commit, index: number, call: Call): Promise<boolean> {
    const { ports, registry } = this.#core;
    const permitted = { registry, idempotencyTable: ports.control.idempotencyTable };
    const isRefused = (): boolean => refusalOf(commit, index, permitted) !== undefined;
    if (isRefused() && !this.#isRegistryNewer) {
      await registry.lookAgain(call.signal);
      this.#isRegistryNewer = true;
    }
    return !isRefused();
  }
}

/** A payload that is damaged nobody installs: it has changed nothing (docs/protocol.md §8). */
async function orDamaged<T>(loading: Promise<T>): Promise<T | undefined> {
  try {
    return await loading;
  } catch (error) {
    const isGone = error instanceof PayloadGoneError;
    if (!isGone && error instanceof CorruptDataError) return undefined;
    throw error;
  }
}
