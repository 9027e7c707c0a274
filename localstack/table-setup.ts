/** The tables that a stack is started with: how they are written down, and checked. */
import { InvalidRequestError } from "../core/errors.ts";
import { tableAccesses } from "../core/table-access.ts";
import type { KeyAttribute, TableAccess, TableDescription } from "../core/types.ts";
import type { IndexDefinition } from "../aws/create-tables.ts";
import { aBoolean, aText, type Checks, checkOptions, oneOf } from "../sdk/check-options.ts";
import type { IndexConfig, KeyConfig, TableConfig } from "../sdk/config.ts";

/** To be created unless it is there, and to be registered. */
export type TableSetup = Omit<TableDescription, "access" | "baseSince"> & {
  /** Missing: as it is registered; for a new one transactions alone. */
  readonly access?: TableAccess;
  /** Missing: as it is registered; for a new one false. */
  readonly base?: boolean;
  readonly indexes?: readonly IndexDefinition[];
};

/** DynamoDB's own rule. */
const tableName = /^[a-zA-Z0-9_.-]{3,255}$/;
const keyTypes = ["S", "N", "B"] as const;

/** Keys are looked at by `keyOf`, which says more. */
const aKey = (): undefined => undefined;

const indexChecks = {
  name: aText,
  partitionKey: aKey,
  sortKey: aKey,
} satisfies Checks<IndexConfig>;

const tableChecks = {
  ...indexChecks,
  history: aBoolean,
  access: oneOf(...tableAccesses),
  base: aBoolean,
  indexes: (value) => (Array.isArray(value) ? undefined : "an array"),
} satisfies Checks<TableConfig>;

/** How the command line takes a table. */
export const tableTextForm =
  "<table>:<partition key>[:<type>][,<sort key>[:<type>]], where a type is S (text, the " +
  "default), N (number) or B (bytes), such as orders:customer,placedAt:N";

/**
 * A table in the command line's form.
 * @throws InvalidRequestError that shows the form.
 */
export function tableFromText(text: string): TableSetup {
  const colon = text.indexOf(":");
  const name = text.slice(0, colon);
  const [partitionKey = "", sortKey, ...rest] = text.slice(colon + 1).split(",");
  if (colon < 1 || partitionKey === "" || rest.length > 0) {
    throw new InvalidRequestError("table", `"${text}" is not of the form ${tableTextForm}`);
  }
  return tableSetup({ name, partitionKey, ...(sortKey === undefined ? {} : { sortKey }) }, "table");
}

/**
 * A table of a configuration.
 * @param path what to call it in complaints.
 * @throws InvalidRequestError naming the field.
 */
export function tableSetup(table: TableConfig, path: string): TableSetup {
  requireObject(table, path, '{ name: "orders", partitionKey: "customer" }');
  checkOptions(path, table, tableChecks);
  const { name, history, access, base, indexes } = table as Partial<TableConfig>;
  if (typeof name !== "string" || !tableName.test(name)) {
    throw new InvalidRequestError(
      `${path}.name`,
      `${name === undefined ? "a table without a name" : `"${name}" is no table's name`}: a name ` +
        "has 3 to 255 letters, digits, underscores, dots and hyphens",
    );
  }
  const keys = keysOf(table, path);
  return {
    ...{ name, ...keys, history: history ?? false },
    ...(access === undefined ? {} : { access }),
    ...(base === undefined ? {} : { base }),
    ...(indexes === undefined
      ? {}
      : {
          indexes: indexes.map((index, at) => {
            const where = `${path}.indexes[${at}]`;
            requireObject(index, where, '{ name: "by-state", partitionKey: "state" }');
            checkOptions(where, index, indexChecks);
            return { name: index.name, ...keysOf(index, where) };
          }),
        }),
  };
}

function requireObject(value: unknown, field: string, example: string): void {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
  throw new InvalidRequestError(field, `\`${field}\` must be an object such as ${example}`);
}

type Keys = { readonly partitionKey: KeyAttribute; readonly sortKey?: KeyAttribute };

function keysOf(
  owner: { readonly partitionKey: KeyConfig; readonly sortKey?: KeyConfig },
  path: string,
): Keys {
  const partitionKey = keyOf(owner.partitionKey, `${path}.partitionKey`);
  if (owner.sortKey === undefined) return { partitionKey };
  const sortKey = keyOf(owner.sortKey, `${path}.sortKey`);
  if (sortKey.name !== partitionKey.name) return { partitionKey, sortKey };
  throw new InvalidRequestError(`${path}.sortKey`, "the sort key is another attribute than that");
}

function keyOf(key: KeyConfig, field: string): KeyAttribute {
  const { name: named, type: typed } = (
    typeof key === "object" ? key : {}
  ) as Partial<KeyAttribute>;
  const [name, type = "S", ...rest]: readonly unknown[] =
    typeof key === "string" ? key.split(":") : [named, typed];
  const known = keyTypes.find((each) => each === type);
  if (typeof name === "string" && name !== "" && known !== undefined && rest.length === 0) {
    return { name, type: known };
  }
  throw new InvalidRequestError(
    field,
    `\`${field}\` must be a name, or a name and its type S, N or B, such as "placedAt:N"`,
  );
}
