/**
 * Typed tables. A table definition is a plain value: a name, the types of its rows, and optionally
 * a validator; it holds no connection and may be shared by every client.
 *
 * One convention throughout: an *item* is what a row holds beside its key attributes, a *key* is
 * the key attributes, and a *row* is both. Reads return rows; writes take a key and an item, or a
 * row.
 */
import { InvalidRequestError } from "../core/errors.ts";
import { aBoolean, anObject, type Checks, checkOptions, isText } from "./check-options.ts";

/** A value that a key attribute can have. */
export type KeyValue = string | number | bigint | Uint8Array;

/** Attributes of a table that was defined without types. */
export type Attributes = { [attribute: string]: unknown };

/**
 * What zod, valibot, arktype and others implement (Standard Schema, version 1), as far as it is
 * used here. Validators must be synchronous.
 */
export type Validator<Input = unknown, Output = Input> = {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
    ) => ValidatorResult<Output> | Promise<ValidatorResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
};

export type ValidatorResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly ValidatorIssue[] };

export type ValidatorIssue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};

declare const types: unique symbol;

/**
 * A table as `tx.get`, `tx.put` and the others take it. Made by `defineTable`.
 * `Item` is a row without its key attributes, as read; `Input` the same as written (they differ
 * where a validator fills in defaults); `Key` the key attributes, or the bare partition key;
 * `Partition` the name of the partition key among them, which queries go by.
 */
export type Table<
  Item extends object = Attributes,
  Key extends KeyValue | object = KeyValue | Attributes,
  Input extends object = Item,
  Partition extends string = PartitionOf<Key>,
> = {
  readonly name: string;
  /** Partition key, then sort key, where the definition names them. */
  readonly keyNames: readonly string[] | undefined;
  readonly schema: Validator<unknown, object> | undefined;
  readonly validateReads: boolean;
  /** Exists in types only. */
  readonly [types]?: { readonly item: Item; readonly key: Key; readonly input: Input } & {
    readonly partition: Partition;
  };
};

/** Any table, whatever its types. */
export type AnyTable = Table<object, KeyValue | object, object, string>;

type TypesOf<T extends AnyTable> = NonNullable<T[typeof types]>;
export type ItemOf<T extends AnyTable> = TypesOf<T>["item"];
export type KeyOf<T extends AnyTable> = TypesOf<T>["key"];
export type InputOf<T extends AnyTable> = TypesOf<T>["input"];
export type PartitionNameOf<T extends AnyTable> = TypesOf<T>["partition"];

type Simplify<T> = T extends unknown ? { [Name in keyof T]: T[Name] } : never;

/** A row as reads return it: the item with its key attributes. */
export type Row<Item, Key> = Key extends KeyValue ? Item : Simplify<Item & Key>;
export type RowOf<T extends AnyTable> = Row<ItemOf<T>, KeyOf<T>>;

type IsUnion<T, Whole = T> = T extends unknown ? ([Whole] extends [T] ? false : true) : never;

/** The partition key's name as far as a key type tells: of two attributes either may be it. */
export type PartitionOf<Key> = Key extends KeyValue
  ? string
  : string extends keyof Key
    ? string
    : true extends IsUnion<keyof Key>
      ? never
      : keyof Key & string;

/** A key as calls take it: the key attributes, or on a table without a sort key the bare value. */
export type KeyInput<Key> = Key extends KeyValue
  ? Key
  : Key | (true extends IsUnion<keyof Key> ? never : Key[keyof Key]);

/** Attributes to merge into a row; `undefined` removes an optional one. */
export type Patch<Input> = Input extends unknown
  ? {
      readonly [Name in keyof Input]?: undefined extends Input[Name]
        ? Input[Name] | undefined
        : Input[Name];
    }
  : never;

type Without<T, Names> = T extends unknown
  ? { [Name in keyof T as Name extends Names ? never : Name]: T[Name] }
  : never;

type KeyAttribute<T> = {
  [Name in keyof T]-?: T[Name] extends KeyValue ? Name : never;
}[keyof T] &
  string;
type KeyNames<Name extends string> = Name | readonly [Name] | readonly [Name, Name];
type NamesIn<Names> = Names extends readonly string[] ? Names[number] : Names;
type SchemaInput<S extends Validator> = NonNullable<S["~standard"]["types"]>["input"];
type SchemaOutput<S extends Validator> = NonNullable<S["~standard"]["types"]>["output"];

/** The names of a key type's attributes, partition key first. */
type NamesOfKey<Key, Partition> = Key extends KeyValue
  ? string
  : true extends IsUnion<keyof Key>
    ? {
        [Name in keyof Key & string]: readonly [Name, Exclude<keyof Key & string, Name>];
      }[[Partition] extends [never] ? keyof Key & string : Partition & keyof Key & string]
    : (keyof Key & string) | readonly [keyof Key & string];

/** The partition key's name: as given, or as the key type tells. */
type Named<Key, Partition extends string> = [Partition] extends [never]
  ? PartitionOf<Key>
  : Partition;

export type TableOptions<Key, Partition extends string = PartitionOf<Key>> = {
  /**
   * The key attributes, partition key first. Checked against the registry on first use; a
   * definition without it takes the names from there.
   */
  readonly key?: NamesOfKey<Key, Partition>;
};

export type SchemaTableOptions<Schema, Names> = {
  /** Validates whole rows, key attributes included, on every write. Must be synchronous. */
  readonly schema: Schema;
  /** The key attributes: `"id"`, or partition key and sort key: `["customer", "order"]`. */
  readonly key: Names;
  /** Validate what is read, too; the schema must then accept its own output. Default false. */
  readonly validateReads?: boolean;
};

type AnyTableOptions = {
  readonly schema?: Validator<unknown, object>;
  readonly key?: string | readonly string[];
  readonly validateReads?: boolean;
};

export const tableChecks = {
  schema: (value) =>
    typeof value === "function" || anObject(value) === undefined
      ? undefined
      : "a Standard Schema validator",
  key: (value) => {
    const names: unknown[] = Array.isArray(value) ? value : [value];
    const fits = names.length >= 1 && names.length <= 2 && names.every(isText);
    return fits ? undefined : "the names of one or two attributes, partition key first";
  },
  validateReads: aBoolean,
} satisfies Checks<AnyTableOptions>;

/**
 * Defines a table by a Standard Schema validator of its rows (zod, valibot, arktype …).
 * @example
 * const accounts = defineTable("accounts", {
 *   schema: z.object({ id: z.string(), balanceCents: z.number().int() }),
 *   key: "id",
 * });
 * @throws InvalidRequestError when an option is missing or unknown.
 */
export function defineTable<
  Schema extends Validator<unknown, object>,
  const Names extends KeyNames<KeyAttribute<SchemaOutput<Schema>>>,
>(
  name: string,
  options: SchemaTableOptions<Schema, Names>,
): Table<
  Without<SchemaOutput<Schema>, NamesIn<Names>>,
  { [Name in NamesIn<Names> & keyof SchemaOutput<Schema>]: SchemaOutput<Schema>[Name] },
  Without<SchemaInput<Schema>, NamesIn<Names>>,
  (Names extends readonly [infer First, ...unknown[]] ? First : NamesIn<Names>) & string
>;
/**
 * Defines a table by types alone. `Item` is a row without its key attributes. `Key` is the key
 * attributes, `{ id: string }`, or just the type of the partition key where its name does not
 * matter (`string` by default); rows then show their key attribute at run time only. A key of two
 * attributes does not say which is the partition key; `Partition` does, and queries need it.
 * @example
 * const accounts = defineTable<{ balanceCents: number }, { id: string }>("accounts");
 * const lines = defineTable<{ sku: string }, { order: string; line: number }, "order">("lines");
 * @throws InvalidRequestError when the name is empty.
 */
export function defineTable<
  Item extends object = Attributes,
  Key extends KeyValue | object = string,
  Partition extends keyof Key & string = never,
>(
  name: string,
  options?: TableOptions<Key, Named<Key, Partition>>,
): Table<Item, Key, Item, Named<Key, Partition>>;
export function defineTable(name: string, options: AnyTableOptions = {}): AnyTable {
  if (!isText(name)) throw new InvalidRequestError("name", "a table needs a name");
  checkOptions("", options, tableChecks);
  const { schema, key } = options;
  if (schema !== undefined) {
    const standard = schema["~standard"] as { readonly version?: unknown } | undefined;
    if (standard?.version !== 1) {
      throw new InvalidRequestError("schema", "must implement Standard Schema, version 1");
    }
    if (key === undefined)
      throw new InvalidRequestError("key", "a table with a schema needs `key`");
  }
  return {
    name,
    keyNames: key === undefined ? undefined : typeof key === "string" ? [key] : [...key],
    schema,
    validateReads: options.validateReads ?? false,
  };
}
