/**
 * The change feed: every committed transaction once, whole, in commit order, from a position on.
 * It reads the log and the payloads as replay does, holds nothing that others need, and writes
 * nothing but for a request that brings up a quiet log (merged-logs.ts).
 */
import {
  ChangesExpiredError,
  CorruptDataError,
  InvalidRequestError,
  SnapshotTooOldError,
} from "../../core/errors.ts";
import { isBaseRecordsTable, isOwnTable } from "../../core/own-tables.ts";
import type { Item, PayloadTable, Timestamp } from "../../core/types.ts";
import type { Call } from "../call.ts";
import type { EngineCore } from "../engine-core.ts";
import { refusalOf } from "../installing/permitted-writes.ts";
import { writeAt, writtenItem, type Commit } from "../installing/payload-writes.ts";
import { PayloadGoneError } from "../log/payload-loader.ts";
import type { Reader, SnapshotOptions } from "../types.ts";
import { nowIn, oldestIn } from "./change-begin.ts";
import { MergedLogs, type MergedCommit } from "./merged-logs.ts";
import type {
  ChangedItem,
  ChangePosition,
  Changes,
  ChangesOptions,
  CommittedChanges,
} from "./types.ts";

export type TakeSnapshot = <Result>(
  options: SnapshotOptions,
  body: (snapshot: Reader) => Promise<Result>,
) => Promise<{ readonly result: Result }>;

type Write = { readonly table: PayloadTable; readonly key: Item; readonly item: Item | undefined };

export class ChangeFeed implements Changes {
  readonly #core: EngineCore;
  readonly #snapshot: TakeSnapshot;
  readonly #options: ChangesOptions;
  #position: ChangePosition | undefined;
  /** Whether the registry was asked for after what is given now had been read from the logs. */
  #isRegistryNewer = false;

  constructor(core: EngineCore, snapshot: TakeSnapshot, options: ChangesOptions) {
    this.#core = core;
    this.#snapshot = snapshot;
    this.#options = options;
    if (typeof options.from !== "string") this.#position = options.from;
  }

  get position(): ChangePosition | undefined {
    return this.#position;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<CommittedChanges> {
    for await (const changes of this.looks()) if (changes !== undefined) yield changes;
  }

  /** What is given, and undefined each time when all has been given that there is. */
  async *looks(): AsyncGenerator<CommittedChanges | undefined> {
    const { pollMs, signal } = this.#options;
    const { clock } = this.#core.ports;
    const logs = await this.#run((call) => this.#begin(call));
    for (;;) {
      const found = await this.#run((call) => this.#readable(() => logs.next(call), call));
      this.#isRegistryNewer = false;
      for (const commit of found) {
        const items = await this.#run((call) => this.#items(commit, call));
        const { id, timestamp } = commit;
        const before = await this.#before(items, timestamp);
        this.#position = { timestamp, id };
        if (before.length > 0) yield { position: this.#position, id, timestamp, items: before };
      }
      this.#position = logs.position;
      if (found.length > 0 || logs.hasMore) continue;
      if (!logs.holds) yield undefined;
      await clock.sleep(pollMs, signal);
    }
  }

  #run<T>(task: (call: Call) => Promise<T>): Promise<T> {
    const { signal } = this.#options;
    return this.#core.run(signal === undefined ? {} : { signal }, task);
  }

  async #begin(call: Call): Promise<MergedLogs> {
    const { ports } = this.#core;
    const { sessions } = await this.#core.services(call);
    this.#checkTables();
    const { from } = this.#options;
    const after = await (async (): Promise<ChangePosition> => {
      if (from === "now") return { timestamp: await nowIn(ports, sessions, call) };
      if (from === "oldest") return { timestamp: await oldestIn(ports, sessions, call) };
      return from;
    })();
    this.#position = after;
    return this.#readable(() => MergedLogs.begin(ports, sessions, { after, call }), call);
  }

  /** @throws ChangesExpiredError where a log no longer reaches so far; what the task throws. */
  async #readable<T>(read: () => Promise<T>, call: Call): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof SnapshotTooOldError)) throw error;
      throw await this.#expired(call, error);
    }
  }

  /** @throws InvalidRequestError for a table that is not registered, or that shows no past. */
  #checkTables(): void {
    const { registry } = this.#core;
    const { tables, before } = this.#options;
    for (const name of tables ?? []) {
      const { history } = registry.describe(name);
      if (!before || history) continue;
      throw new InvalidRequestError(
        "before",
        `table ${name} keeps no history, so nobody knows what stood there before; ` +
          "register it with history, or leave out `before`",
      );
    }
  }

  /** What the commit has written to the tables that are asked for, each item once. */
  async #items(commit: MergedCommit, call: Call): Promise<readonly Write[]> {
    const written = new Map<string, Write>();
    for (const { cursor, verdict } of commit.parts) {
      // An inherited part stands in two logs; its payload is the same.
      const payload = await this.#payload(() => cursor.payloadOf(verdict, call.options), call);
      if (payload === undefined) continue;
      const own: Commit = { verdict, payload };
      for (const index of payload.writes.keys()) {
        const { table, write } = writeAt(payload, index);
        if (!(await this.#isWanted(own, index, { table: table.name, call }))) continue;
        const { key, item } = write;
        written.set(writtenItem(payload, index), { table, key, item });
      }
    }
    return [...written.values()];
  }

  /** No copy of the registry that is older than the commit leaves anything out. */
  async #isWanted(
    commit: Commit,
    index: number,
    { table, call }: { readonly table: string; readonly call: Call },
  ): Promise<boolean> {
    if (isOwnTable(table) || isBaseRecordsTable(table)) return false;
    if (this.#options.tables?.includes(table) === false) return false;
    const { ports, registry } = this.#core;
    const permitted = { registry, idempotencyTable: ports.control.idempotencyTable };
    const isRefused = (): boolean => refusalOf(commit, index, permitted) !== undefined;
    if (isRefused() && !this.#isRegistryNewer) {
      await registry.lookAgain(call.signal);
      this.#isRegistryNewer = true;
    }
    return !isRefused();
  }

  /** A payload that is damaged nobody installs: it has changed nothing (docs/protocol.md §8). */
  async #payload<T>(load: () => Promise<T>, call: Call): Promise<T | undefined> {
    try {
      return await load();
    } catch (error) {
      if (error instanceof PayloadGoneError) throw await this.#expired(call, error);
      if (error instanceof CorruptDataError) return undefined;
      throw error;
    }
  }

  async #expired(call: Call, cause: Error): Promise<ChangesExpiredError> {
    const { sessions } = await this.#core.services(call);
    const oldest = await oldestIn(this.#core.ports, sessions, call);
    return new ChangesExpiredError(oldest, { cause });
  }

  async #before(writes: readonly Write[], timestamp: Timestamp): Promise<readonly ChangedItem[]> {
    const asked = this.#options.before ? writes.filter(({ table }) => this.#hasPast(table)) : [];
    const found = new Map<Write, Item | undefined>();
    if (asked.length > 0) {
      const before = await this.#stoodAt((timestamp - 1) as Timestamp, asked);
      for (const [i, write] of asked.entries()) found.set(write, before[i]);
    }
    return writes.map((write) => {
      const { table, key, item } = write;
      return { table: table.name, key, after: item, before: found.get(write) };
    });
  }

  /** Also of what was written before the table had it: asking what stood then is refused. */
  #hasPast({ name, history }: PayloadTable): boolean {
    return history || this.#core.registry.find(name)?.history === true;
  }

  /** @throws SnapshotTooOldError, which no other try mends, where that is not kept any more. */
  async #stoodAt(
    asOf: Timestamp,
    writes: readonly Write[],
  ): Promise<readonly (Item | undefined)[]> {
    const keys = writes.map(({ table, key }) => ({ table: table.name, key }));
    const { signal } = this.#options;
    const options = signal === undefined ? { asOf } : { asOf, signal };
    try {
      const { result } = await this.#snapshot(options, (reader) => reader.batchGet(keys));
      return result;
    } catch (error) {
      if (!(error instanceof SnapshotTooOldError) || error.retryable) throw error;
      throw new SnapshotTooOldError(
        `nobody knows any more what stood before the change at ${asOf + 1}: ${error.message}; ` +
          "leave `before` out, or begin at a later position",
        { retryable: false },
      );
    }
  }
}
