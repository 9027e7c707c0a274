/**
 * Rows as the engine has them: what a body's reads by key and by page come down to. Keys become
 * items here, and items rows; what goes wrong below is named as the public API names it.
 */
import { InvalidRequestError } from "../core/errors.ts";
import type { Item } from "../core/types.ts";
import { publicError } from "../engine/public-error.ts";
import type { Reader, RowPage } from "../engine/types.ts";
import type { RowCodec } from "./row-codec.ts";
import type { AnyTable, RowOf } from "./table.ts";

export type KeyRequest = { readonly table: AnyTable; readonly key: Item };

export class RowReader<Items extends Reader = Reader> {
  readonly items: Items;
  readonly codec: RowCodec;

  constructor(items: Items, codec: RowCodec) {
    this.items = items;
    this.codec = codec;
  }

  /** @throws InvalidRequestError for an unknown table, or a key that does not fit it. */
  keyItem(table: AnyTable, key: unknown): Item {
    assertTable(table);
    return this.codec.key(table, this.items.describe(table.name), key);
  }

  read(table: AnyTable, key: Item): Promise<Item | undefined> {
    return reported(this.items.get(table.name, key));
  }

  /** In the order asked for. */
  readAll(requests: readonly KeyRequest[]): Promise<readonly (Item | undefined)[]> {
    const keys = requests.map(({ table, key }) => ({ table: table.name, key }));
    return reported(this.items.batchGet(keys));
  }

  page(_table: AnyTable, fetch: () => Promise<RowPage>): Promise<RowPage> {
    return reported(fetch());
  }

  row<T extends AnyTable>(table: T, item: Item | undefined): RowOf<T> | undefined {
    return item && this.codec.decode(table, item);
  }
}

/** @throws what the engine throws, as the public API names it. */
async function reported<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw publicError(error);
  }
}

/** For callers without types: a table's name is no table. */
export function assertTable(table: unknown): void {
  if (typeof table === "object" && table !== null) return;
  const given = typeof table === "string" ? `"${table}"` : typeof table;
  throw new InvalidRequestError("table", `a table is what defineTable(name) returns; got ${given}`);
}
