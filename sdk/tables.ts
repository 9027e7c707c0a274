/**
 * `tidemark/tables`: bringing tables that exist under Tidemark by one call, locally and on AWS. An
 * entry of its own, since an application that only runs transactions does not need it.
 */
import { InvalidRequestError } from "../core/errors.ts";
import type { TableDescription } from "../core/types.ts";
import { publicError } from "../engine/public-error.ts";
import { checkClientOptions, type ClientOptions } from "./client-options.ts";
import { checkOptions, isText } from "./check-options.ts";
import { target } from "./connect.ts";
import { type AnyTable, type Registration, registrationChecks } from "./table.ts";

export type { ClientOptions };

/** A table by its name, by its definition, or with whether its history is to be kept. */
export type TableToRegister = string | AnyTable | Registration;

export type RegisteredTable = Pick<
  TableDescription,
  "name" | "partitionKey" | "sortKey" | "history"
>;

/**
 * Registers tables of DynamoDB with a deployment: from then on transactions may use them. Keys and
 * indexes are taken from the tables' own descriptions. Repeatable; nothing is written to the tables
 * themselves. Clients that run already learn of a new table within a second. docs/adoption.md says
 * what plain readers and writers of such tables have to know.
 * @param options as for `createClient`.
 * @throws InvalidRequestError when the deployment or a table is missing, or is registered with
 * another key.
 */
export async function registerTables(
  options: ClientOptions,
  tables: readonly TableToRegister[],
): Promise<readonly RegisteredTable[]> {
  checkClientOptions(options);
  if (!Array.isArray(tables)) {
    throw new InvalidRequestError("tables", "`tables` must be an array of tables or their names");
  }
  const wanted = tables.map(asked);
  try {
    const [{ adoptTables }, where] = await Promise.all([
      import("../aws/register-tables.ts"),
      target(options),
    ]);
    const { credentials, callTriesMax, callTimeoutMs } = options;
    return await adoptTables({ ...where, credentials, callTriesMax, callTimeoutMs }, wanted);
  } catch (error) {
    throw publicError(error);
  }
}

function asked(table: TableToRegister, index: number): { readonly name: string } {
  if (typeof table === "string" && isText(table)) return { name: table };
  if (typeof table === "object" && "validateReads" in table) {
    const { name, keyNames } = table;
    return { name, ...(keyNames === undefined ? {} : { keyNames }) };
  }
  const path = `tables[${index}]`;
  checkOptions(path, table, registrationChecks);
  if (typeof table === "object" && isText(table.name)) return table;
  throw new InvalidRequestError(`${path}.name`, "name the table");
}
