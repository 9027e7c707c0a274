/**
 * Updates of rows inside one body: each reads its row, has a function or a patch make a new one of
 * it, and puts that. Two ways to lose a write are closed:
 *
 * - operations on one row take effect in the order of their calls, even when the body starts them
 *   together: an update that is still reading stores nothing over a later put or delete;
 * - a body that ends before its updates did is not committed before they are through.
 *
 * What an update goes by is taken down in the turn of its call: the read is begun there, and who
 * comes after it on that row finds it.
 */
import { InvalidRequestError, TransactionClosedError } from "../core/errors.ts";
import type { Item } from "../core/types.ts";
import type { BodyTransaction, RowPage } from "../engine/types.ts";
import { withCaller } from "./caller.ts";
import { keyText } from "./cursor.ts";
import { asObject } from "./row-codec.ts";
import { type KeyRequest, RowReader } from "./row-reader.ts";
import type { AnyTable, InputOf, Patch, RowOf } from "./table.ts";

/** What `tx.update` takes: a function of the current row, or attributes to merge into it. */
export type Change<T extends AnyTable> =
  | ((current: RowOf<T> | undefined) => InputOf<T> | undefined)
  | Patch<InputOf<T>>;

/** A row with updates under way. */
type UpdatedRow = {
  readonly table: string;
  /** As the last update called so far leaves it; rejects only where it cannot be read. */
  last: Promise<Item | undefined>;
};

/** Reads come after the updates that were called before them. */
export class RowUpdates extends RowReader<BodyTransaction> {
  /**
   * Rows with updates under way, by key. One that the body has written since is not among them any
   * more: what those updates make of it is not stored.
   */
  readonly #rows = new Map<string, UpdatedRow>();
  /** Updates under way, as the body holds them. */
  readonly #underWay = new Set<Promise<unknown>>();
  /** Why updates could not read their rows. With any of these the transaction cannot commit. */
  readonly #readFailures: Error[] = [];
  /** The body has failed or rolled back. */
  #isAbandoned = false;

  /** The row, if updates of it are under way. */
  #rowOf(table: AnyTable, key: Item): UpdatedRow | undefined {
    return this.#rows.size === 0 ? undefined : this.#rows.get(keyText(table.name, key));
  }

  /** As the updates leave it that were called before. */
  override read(table: AnyTable, key: Item): Promise<Item | undefined> {
    return this.#rowOf(table, key)?.last ?? super.read(table, key);
  }

  override async readAll(requests: readonly KeyRequest[]): Promise<readonly (Item | undefined)[]> {
    const updated = requests.map(({ table, key }) => this.#rowOf(table, key)?.last);
    const read = super.readAll(requests.filter((_, at) => updated[at] === undefined));
    const items = await Promise.all([read, ...updated]);
    const rest = items[0][Symbol.iterator]();
    return updated.map((row, at) =>
      row === undefined ? rest.next().value : (items[at + 1] as Item | undefined),
    );
  }

  override async page(table: AnyTable, fetch: () => Promise<RowPage>): Promise<RowPage> {
    const rows = [...this.#rows.values()].filter((row) => row.table === table.name);
    if (rows.length > 0) await Promise.allSettled(rows.map(({ last }) => last));
    return super.page(table, fetch);
  }

  /**
   * A write of the whole row comes after the updates of it that were called before: those still
   * give what they would have stored, and store nothing.
   */
  supersede(table: AnyTable, key: Item): void {
    if (this.#rows.size > 0) this.#rows.delete(keyText(table.name, key));
  }

  /** @returns the row as it stands afterwards; undefined if there is none. */
  update<T extends AnyTable>(
    table: T,
    key: unknown,
    change: Change<T>,
  ): Promise<RowOf<T> | undefined> {
    const run = async (): Promise<RowOf<T> | undefined> => {
      try {
        // Whatever fails in there does so after a wait: `update` stands by then.
        return await this.#inTurn(table, key, change);
      } catch (error) {
        // What the body has not come to wait for must not end the process where the transaction
        // fails anyway. Other failures are the body's: one that it ignores must stay an unhandled
        // rejection, not vanish.
        const isFatal =
          error instanceof TransactionClosedError || this.#readFailures.includes(error as Error);
        if (!isFatal) throw withCaller(error);
        update.catch(() => undefined);
        throw error;
      } finally {
        this.#underWay.delete(update);
      }
    };
    const update = run();
    this.#underWay.add(update);
    return update;
  }

  /** Updates of one row run one after another; each has what the one before leaves. */
  async #inTurn<T extends AnyTable>(
    table: T,
    givenKey: unknown,
    change: Change<T>,
  ): Promise<RowOf<T> | undefined> {
    const key = this.keyItem(table, givenKey);
    const text = keyText(table.name, key);
    const current = this.#readForUpdate(table, key);
    const row = this.#rows.get(text) ?? { table: table.name, last: current };
    const isStanding = (): boolean => this.#rows.get(text) === row;
    const changed = current.then((item) => this.#changed(table, { key, item }, change));
    const stored = changed.then((item) => {
      if (item !== undefined && isStanding()) this.items.put(table.name, item);
      return item;
    });
    // Where an update fails the row stays as it is; what could not be read nobody goes on with.
    const last = stored.then(
      async (item) => item ?? current,
      () => current,
    );
    last.catch(() => undefined);
    row.last = last;
    this.#rows.set(text, row);
    try {
      const item = await stored;
      return this.row(table, item ?? (await current));
    } finally {
      if (row.last === last && isStanding()) this.#rows.delete(text);
    }
  }

  /** What the change makes of the row; undefined leaves it as it is. */
  #changed(
    table: AnyTable,
    { key, item }: { readonly key: Item; readonly item: Item | undefined },
    change: Change<AnyTable>,
  ): Item | undefined {
    if (typeof change !== "function") {
      const patch = asObject(change, "change");
      return item && this.codec.encodePatched(table, { key, item }, patch);
    }
    const next: unknown = change(this.row(table, item));
    if (next === undefined) return undefined;
    if (next instanceof Promise) {
      next.catch(() => undefined); // Refused below; how it ends does not matter.
      throw new InvalidRequestError("change", "the function of an update must not be asynchronous");
    }
    return this.codec.encodeAt(table, key, asObject(next, "item"));
  }

  async #readForUpdate(table: AnyTable, key: Item): Promise<Item | undefined> {
    try {
      return await this.read(table, key);
    } catch (error) {
      this.#readFailures.push(error as Error);
      throw error;
    }
  }

  /**
   * The body has failed or rolled back, and the transaction with it: updates under way end with it.
   * That is no failure of their own, and nobody is left to hear of it; Node would end the process
   * over an unhandled rejection.
   */
  abandon(): void {
    this.#isAbandoned = true;
    for (const update of this.#underWay) update.catch(() => undefined);
  }

  /**
   * Waits for updates that the body began and did not wait for: they belong to the transaction.
   * @throws the first failure among them, unless they are abandoned; and why an earlier update
   * could not read its row.
   */
  async settled(): Promise<void> {
    if (this.#isAbandoned) await Promise.allSettled(this.#underWay);
    else await Promise.all(this.#underWay);
    const [failure] = this.#readFailures;
    if (failure !== undefined) throw failure;
  }
}
