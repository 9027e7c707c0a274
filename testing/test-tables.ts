/** Tables of a test cloud, from the definitions that an application has anyway. */
import { InvalidRequestError } from "../core/errors.ts";
import { tableAccesses } from "../core/table-access.ts";
import type { Item, KeyAttribute, TableAccess, TableDescription } from "../core/types.ts";
import {
  aBoolean,
  type Check,
  type Checks,
  checkOptions,
  isText,
  oneOf,
} from "../sdk/check-options.ts";
import type { AnyTable } from "../sdk/table.ts";
import { registeredTable, type TestTable } from "./deployment-options.ts";

const keyTypes = ["S", "N", "B"] as const satisfies readonly KeyAttribute["type"][];

export type TestTableOptions = {
  /** Default: what the definition names, as a text. */
  readonly partitionKey?: string | KeyAttribute;
  readonly sortKey?: string | KeyAttribute;
  /** Keep superseded versions. Default false. */
  readonly history?: boolean;
  /** `"mixed"`: plain DynamoDB writes beside transactions, as `cloud.dynamodb` makes them. */
  readonly access?: TableAccess;
  /** BASE transactions may use it. */
  readonly base?: boolean;
};

const aKey: Check<string | KeyAttribute> = (value) => {
  if (isText(value)) return undefined;
  const { name, type } = (value ?? {}) as { readonly name?: unknown; readonly type?: unknown };
  return isText(name) && keyTypes.includes(type as KeyAttribute["type"])
    ? undefined
    : 'an attribute\'s name, or { name, type } with the type "S", "N" or "B"';
};

const testTableChecks = {
  partitionKey: aKey,
  sortKey: aKey,
  history: aBoolean,
  access: oneOf(...tableAccesses),
  base: aBoolean,
} satisfies Checks<TestTableOptions>;

/**
 * A table to create: its keys are texts unless said otherwise.
 * @param table its name, or its definition.
 * @throws InvalidRequestError naming the option; and where neither it nor the definition says the
 * keys.
 * @example
 * const seats = testTable("seats", { partitionKey: { name: "seat", type: "N" }, history: true });
 */
export function testTable(table: string | AnyTable, options: TestTableOptions = {}): TestTable {
  checkOptions("", options, testTableChecks);
  const attribute = (key: string | KeyAttribute): KeyAttribute =>
    typeof key === "string" ? { name: key, type: "S" } : key;
  const named = typeof table === "string" ? { name: table } : table;
  const [partition, sort] = ("keyNames" in named && named.keyNames) || [];
  const { partitionKey = partition, history = false, access, base } = options;
  // A key that is described anew is described as a whole.
  const { sortKey = options.partitionKey === undefined ? sort : undefined } = options;
  if (partitionKey === undefined) {
    throw new InvalidRequestError(
      "partitionKey",
      `name the key of table ${named.name}: testTable("${named.name}", { partitionKey: "id" })`,
    );
  }
  return {
    name: named.name,
    partitionKey: attribute(partitionKey),
    ...(sortKey === undefined ? {} : { sortKey: attribute(sortKey) }),
    history,
    ...(access === undefined ? {} : { access }),
    ...(base === undefined ? {} : { base }),
  };
}

/**
 * What to create for a table. A definition of `defineTable` knows the names of its keys and not
 * their types: they are taken as texts.
 * @throws InvalidRequestError for a definition that names no keys.
 */
export function testTableOf(table: TestTable | AnyTable): TestTable {
  if ("partitionKey" in table) return table;
  if (table.keyNames !== undefined) return testTable(table);
  throw new InvalidRequestError(
    `tables.${table.name}`,
    `the definition of table ${table.name} names no key; give it \`key\`, or describe the table: ` +
      `testTable("${table.name}", { partitionKey: "id" })`,
  );
}

/** @throws InvalidRequestError for a table that the cloud does not have. */
export function describedTable(
  tables: readonly TestTable[],
  { name }: { readonly name: string },
): TableDescription {
  const found = tables.find((each) => each.name === name);
  if (found === undefined) {
    const known = tables.map((each) => each.name).join(", ");
    throw new InvalidRequestError("table", `the cloud has no table ${name}; it has ${known}`);
  }
  return registeredTable(found);
}

/**
 * A definition of `defineTable` does not say of which types its keys are, and a key of another one
 * is a mistake in the description of the table.
 * @throws InvalidRequestError that says how to describe it.
 */
export function assertKeyTypes(table: TableDescription, key: Item): void {
  const { partitionKey, sortKey } = table;
  for (const [option, attribute] of Object.entries({ partitionKey, sortKey })) {
    const value = attribute === undefined ? undefined : key[attribute.name];
    if (attribute === undefined || value === undefined || attribute.type in value) continue;
    const [given = ""] = Object.keys(value);
    throw new InvalidRequestError(
      `tables.${table.name}`,
      `"${attribute.name}" of table ${table.name} is of type ${given} here, and the cloud's ` +
        `table has it with type ${attribute.type}; keys are texts (S) unless it is described: ` +
        `testTable(table, { ${option}: { name: "${attribute.name}", type: "${given}" } })`,
    );
  }
}
