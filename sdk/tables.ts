/**
 * `tidemark/tables`: bringing tables that exist under Tidemark by one call, locally and on AWS. An
 * entry of its own, since an application that only runs transactions does not need it.
 * @module tidemark/tables
 */
import type { MoveProgress } from "../aws/move-registered.ts";
import type { AdoptedTable, RegisteredTable as Registered } from "../aws/register-tables.ts";
import { InvalidRequestError } from "../core/errors.ts";
import { tableAccesses } from "../core/table-access.ts";
import type { TableAccess } from "../core/types.ts";
import { publicError } from "../engine/public-error.ts";
import { checkClientOptions, type ClientOptions } from "./client-options.ts";
import {
  aBoolean,
  aFunction,
  aSignal,
  anHttpUrl,
  aText,
  type Checks,
  checkOptions,
  isText,
  oneOf,
} from "./check-options.ts";
import { target } from "./connect.ts";
import type { StackDescription } from "./discovery.ts";
import type { AnyTable } from "./table.ts";

export type { ClientOptions, MoveProgress, StackDescription };

/** A table to be registered. */
export type Registration = {
  readonly name: string;
  /** Keep superseded versions of its rows. Default: as registered; for a new table false. */
  readonly history?: boolean;
  /**
   * Who may write its items: `"transactional"` is transactions alone, `"mixed"` native operations
   * of DynamoDB beside them, without history. Default: as registered; for a new table
   * `"transactional"`. `npx tidemark move` changes it.
   */
  readonly access?: TableAccess;
  /**
   * Whether BASE transactions may use it (docs/base.md); it stays so. Default: as registered; for a
   * new table false. One that is in use already takes them some minutes later.
   */
  readonly base?: boolean;
  /**
   * How many items are looked at for attributes with Tidemark's own names: those of the first pages
   * (4 MB), all, or none. Default `"first"`, and `"none"` for a table that is registered already.
   */
  readonly look?: "first" | "all" | "none";
};

export const registrationChecks = {
  name: aText,
  history: aBoolean,
  access: oneOf(...tableAccesses),
  base: aBoolean,
  look: oneOf("first", "all", "none"),
} satisfies Checks<Registration>;

/** A table by its name, by its definition, or with how it is to be registered. */
export type TableToRegister = string | AnyTable | Registration;

/**
 * `move`: it is on its way to the other access, and how far (docs/adoption.md). `baseSince`: from
 * when on BASE transactions may use it, in microseconds since 1970; undefined: never.
 */
export type RegisteredTable = Pick<
  Registered,
  "name" | "partitionKey" | "sortKey" | "history" | "access" | "move" | "baseSince" | "looked"
>;

export type CheckedTable = Pick<Registered, "name" | "partitionKey" | "sortKey"> &
  Required<Pick<Registered, "looked">>;

/**
 * Registers tables of DynamoDB with a deployment: from then on transactions may use them. Keys and
 * indexes are taken from the tables' own descriptions. Repeatable; nothing is written to the tables
 * themselves. Clients that run already learn of a new table within a second. docs/adoption.md says
 * what plain readers and writers of such tables have to know.
 * @param options as for `createClient`.
 * @throws InvalidRequestError when the deployment or a table is missing, is registered with
 * another key or access, or has an item with an attribute of one of Tidemark's own names.
 * @example
 * await registerTables({ deployment: "prod" }, ["orders", { name: "accounts", history: true }]);
 */
export async function registerTables(
  options: ClientOptions,
  tables: readonly TableToRegister[],
): Promise<readonly RegisteredTable[]> {
  const wanted = checked(options, tables);
  try {
    const [{ adoptTables }, where] = await Promise.all([operator(), target(options)]);
    return await adoptTables({ ...where, ...callOptions(options) }, wanted);
  } catch (error) {
    throw publicError(error);
  }
}

export type MoveOptions = {
  /** Stops the move where it is; begun again, it goes on. */
  readonly signal?: AbortSignal;
  /** Told of each state that is entered, and meanwhile how long it still takes at least. */
  readonly onProgress?: (progress: MoveProgress) => void;
};

const moveChecks = { name: aText, access: oneOf(...tableAccesses) } satisfies Checks<Move>;
const moveOptionChecks = {
  signal: aSignal,
  onProgress: aFunction,
} satisfies Checks<MoveOptions>;

/** A table that is registered, and who shall write its items from now on. */
export type Move = { readonly name: string; readonly access: TableAccess };

/**
 * Moves a registered table that is in use from transactions alone to `"mixed"`, or back, which
 * takes a quarter of an hour or two. Transactions go on, but for a pause. Stopped or broken off, it
 * goes on when it is called again, or back when it is called with the other access. Native writers
 * may begin when it has resolved, and have to stop before it is called to take the table back:
 * docs/adoption.md.
 * @param options as for `createClient`.
 * @throws InvalidRequestError when the deployment or the table is missing, or the table has
 * history; UnavailableError when what is committed is not installed.
 * @example await moveTable({ deployment: "prod" }, { name: "orders", access: "mixed" });
 */
export async function moveTable(
  options: ClientOptions,
  table: Move,
  more: MoveOptions = {},
): Promise<RegisteredTable> {
  checkClientOptions(options);
  checkOptions("table", table, moveChecks);
  checkOptions("", more, moveOptionChecks);
  requireBoth(table);
  try {
    const { move } = await import("./move-table.ts");
    return await move(options, { ...table, ...more });
  } catch (error) {
    throw publicError(error);
  }
}

function requireBoth({ name, access }: Partial<Move>): void {
  if (name === undefined) throw new InvalidRequestError("table.name", "name the table");
  if (access !== undefined) return;
  throw new InvalidRequestError("table.access", 'say where to: "mixed" or "transactional"');
}

/**
 * Looks through all items of tables for attributes with Tidemark's own names, before they are
 * registered, and changes nothing. Reads each table once, eventually consistent.
 * @param options as for `createClient`.
 * @throws InvalidRequestError naming the key of such an item, or a table that is missing.
 * @example
 * await checkTables({ deployment: "prod" }, ["orders"]); // Throws if an item is in the way.
 */
export async function checkTables(
  options: ClientOptions,
  tables: readonly TableToRegister[],
): Promise<readonly CheckedTable[]> {
  const wanted = checked(options, tables);
  try {
    const [{ lookThroughTables }, where] = await Promise.all([operator(), target(options)]);
    return await lookThroughTables({ ...where, ...callOptions(options) }, wanted);
  } catch (error) {
    throw publicError(error);
  }
}

/**
 * What an embedded stack (`npx tidemark start`) says of itself at its one address: its deployment,
 * its region, and where it speaks DynamoDB and Kinesis. A plain AWS SDK client finds it so, to make
 * a table that is then registered, or to send natively; any credentials do.
 * @param endpoint as `createClient` takes it.
 * @throws UnavailableError when nothing answers in time, or not yet; InvalidRequestError when what
 * answers is no stack.
 * @example
 * const { region, endpoints } = await describeStack("http://127.0.0.1:4600");
 * const credentials = { accessKeyId: "local", secretAccessKey: "local" };
 * const plain = new DynamoDBClient({ region, endpoint: endpoints.dynamodb, credentials });
 */
export async function describeStack(endpoint: string): Promise<StackDescription> {
  const wanted = anHttpUrl(endpoint);
  if (wanted !== undefined) {
    throw new InvalidRequestError("endpoint", `\`endpoint\` must be ${wanted}`);
  }
  const { discover } = await import("./discovery.ts");
  return discover(endpoint);
}

const operator = () => import("../aws/register-tables.ts");

function callOptions({ credentials, callTriesMax, callTimeoutMs }: ClientOptions) {
  return { credentials, callTriesMax, callTimeoutMs };
}

function checked(options: ClientOptions, tables: unknown): readonly AdoptedTable[] {
  checkClientOptions(options);
  if (!Array.isArray(tables)) {
    throw new InvalidRequestError("tables", "`tables` must be an array of tables or their names");
  }
  return (tables as readonly TableToRegister[]).map(asked);
}

function asked(table: TableToRegister, index: number): AdoptedTable {
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
