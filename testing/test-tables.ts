/** Tables of a test cloud, from the definitions that an application has anyway. */
import { InvalidRequestError } from "../core/errors.ts";
import type { Item, TableDescription } from "../core/types.ts";
import type { AnyTable } from "../sdk/table.ts";
import { registeredTable, type TestTable } from "./test-deployment.ts";

/**
 * What to create for a table. A definition of `defineTable` knows the names of its keys and not
 * their types: they are taken as texts.
 * @throws InvalidRequestError for a definition that names no keys.
 */
export function testTableOf(table: TestTable | AnyTable): TestTable {
  if ("partitionKey" in table) return table;
  const [partition, sort] = table.keyNames ?? [];
  if (partition === undefined) {
    throw new InvalidRequestError(
      `tables.${table.name}`,
      `the definition of table ${table.name} names no key; give it \`key\`, or describe the ` +
        "table: " +
        `testTable("${table.name}", { partitionKey: "id" })`,
    );
  }
  return {
    name: table.name,
    partitionKey: { name: partition, type: "S" },
    ...(sort === undefined ? {} : { sortKey: { name: sort, type: "S" } }),
  };
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
