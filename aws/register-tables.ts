/**
 * The registry of user tables, as an operator changes it: SDKs and functions learn their keys from
 * there. The tables exist, and what keys they and their indexes have their own descriptions say.
 */
import { InvalidRequestError, StoreError } from "../core/errors.ts";
import type { Clock } from "../core/ports.ts";
import { isBaseRecordsTable, recordsAreOwn } from "../core/own-tables.ts";
import { accessAfter } from "../core/table-access.ts";
import type { KeyAttribute, TableAccess, TableDescription, WantedTable } from "../core/types.ts";
import { encodeIndexes } from "../schemas/described-indexes.ts";
import { ensureBaseRecords } from "./base-records.ts";
import { withAwsClients, type AwsClientOptions, type DynamoDbHandle } from "./clients.ts";
import {
  describeTable,
  keyAttributes,
  type DescribedTable,
  type KeyPair,
} from "./described-table.ts";
import { createDynamoDb } from "./dynamodb.ts";
import {
  createDynamoDbControlReader,
  createDynamoDbControlStore,
} from "./dynamodb-control-store.ts";
import { assertUsersTable, deploymentNames } from "./names.ts";
import { lookForReservedNames, type Look, type Looked } from "./reserved-names.ts";
import { systemClock } from "./system.ts";

export type RegistryOptions = AwsClientOptions & {
  readonly deployment: string;
  readonly clock?: Clock | undefined;
};

export type AdoptedTable = {
  readonly name: string;
  /** Undefined: as it is registered; false for a new one. */
  readonly history?: boolean | undefined;
  /** Undefined: as it is registered; `"transactional"` for a new one. */
  readonly access?: TableAccess | undefined;
  /** For BASE transactions. Undefined: as it is registered; false for a new one. */
  readonly base?: boolean | undefined;
  /** Checked, where the caller knows them: partition key, then sort key. */
  readonly keyNames?: readonly string[] | undefined;
  /** Whether items have reserved names, if the table is new to the registry. Default `"first"`. */
  readonly look?: Look | undefined;
};

export type RegisteredTable = TableDescription & {
  /** What was looked through for reserved names; undefined: nothing. */
  readonly looked?: Looked;
};

/**
 * Registers tables by name, or registers them anew; those that are not named stay as they are.
 * @returns what is registered now.
 * @throws InvalidRequestError when the deployment or a table is missing, a table is Tidemark's own,
 * is registered with another key, or has items with reserved names.
 * @throws StoreError when a call fails.
 */
export async function adoptTables(
  options: RegistryOptions,
  tables: readonly AdoptedTable[],
): Promise<readonly RegisteredTable[]> {
  // Says so where there is no deployment, before any table is looked at.
  const before = await registryByName(options);
  return register(
    options,
    tables.map(({ keyNames, look, ...table }) => ({
      ...table,
      before: before.get(table.name),
      key: keyNames?.map((each) => ({ name: each })),
      // A table that is registered again, at every start of an application, costs no scan.
      look: look ?? (before.has(table.name) ? "none" : "first"),
    })),
  );
}

/**
 * Looks through all items for reserved names, and registers nothing; needs no deployment.
 * @throws InvalidRequestError when a table is missing, is Tidemark's own, has another key than is
 * said, or has such items. StoreError.
 */
export async function lookThroughTables(
  options: AwsClientOptions,
  tables: readonly Pick<AdoptedTable, "name" | "keyNames">[],
): Promise<readonly (KeyPair & { readonly name: string; readonly looked: Looked })[]> {
  return withAwsClients(options, async (clients) => {
    const handle = await clients.dynamodb();
    const looked = [];
    for (const { name, keyNames } of tables) {
      assertNamedByUser(name);
      const key = keyNames?.map((each) => ({ name: each }));
      const table = await described(handle, { name, key });
      looked.push({ ...table, looked: await lookForReservedNames(handle, table, "all") });
    }
    return looked;
  });
}

/**
 * The same for tables whose whole key the caller knows, in a deployment that is there.
 * @throws as `adoptTables`.
 */
export async function registerTables(
  options: RegistryOptions,
  tables: readonly WantedTable[],
): Promise<readonly TableDescription[]> {
  const before = await registryByName(options);
  return register(
    options,
    tables.map((table) => ({
      ...table,
      before: before.get(table.name),
      key: keyAttributes(table),
      look: "none",
    })),
  );
}

/**
 * The registry, in no particular order.
 * @throws InvalidRequestError when there is no such deployment. StoreError.
 */
export async function registeredTables(
  options: RegistryOptions,
): Promise<readonly TableDescription[]> {
  const { controlTable: table } = deploymentNames(options.deployment);
  return withAwsClients(options, async (clients) => {
    try {
      const dynamodb = createDynamoDb(clients.dynamodb);
      return await createDynamoDbControlReader({ dynamodb, table }).tables();
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "ResourceNotFoundException")) throw error;
      throw new InvalidRequestError(
        "deployment",
        `there is no deployment "${options.deployment}" here: its table ${table} does not exist; ` +
          "look at the deployment's name, the region and the account",
      );
    }
  });
}

async function registryByName(
  options: RegistryOptions,
): Promise<ReadonlyMap<string, TableDescription>> {
  return new Map((await registeredTables(options)).map((table) => [table.name, table]));
}

/** Tidemark itself registers what holds the records of BASE transactions (base-records.ts). */
function assertNamedByUser(name: string): void {
  assertUsersTable(name);
  if (isBaseRecordsTable(name)) throw recordsAreOwn(name);
}

type Asked = {
  readonly name: string;
  readonly history?: boolean | undefined;
  readonly access?: TableAccess | undefined;
  readonly base?: boolean | undefined;
  /** As far as the caller knows it. */
  readonly key: readonly KnownKey[] | undefined;
};

type KnownKey = { readonly name: string; readonly type?: KeyAttribute["type"] };

/** Every table is looked at before the first is registered. */
async function register(
  options: RegistryOptions,
  tables: readonly (Asked & {
    readonly look: Look;
    /** What is registered. */
    readonly before: TableDescription | undefined;
  })[],
): Promise<readonly RegisteredTable[]> {
  const { clock = systemClock } = options;
  const { controlTable } = deploymentNames(options.deployment);
  return withAwsClients(options, async (clients) => {
    const dynamodb = createDynamoDb(clients.dynamodb);
    const control = createDynamoDbControlStore({ dynamodb, clock, table: controlTable });
    const handle = await clients.dynamodb();
    for (const { name } of tables) assertNamedByUser(name);
    const wanted: { readonly table: WantedTable; readonly looked: Looked | undefined }[] = [];
    for (const { look, before, ...asked } of tables) {
      const table = await described(handle, asked);
      accessAfter(before, table);
      const looked = look === "none" ? undefined : await lookForReservedNames(handle, table, look);
      wanted.push({ table, looked });
    }
    if (wanted.some(({ table }) => table.base === true)) {
      await ensureBaseRecords({ dynamodb: handle, control, clock }, controlTable);
    }
    const registered: RegisteredTable[] = [];
    for (const { table, looked } of wanted) {
      const now = await control.registerTable(table);
      registered.push({ ...now, ...(looked === undefined ? {} : { looked }) });
    }
    return registered;
  });
}

async function described(
  dynamodb: DynamoDbHandle,
  { name, history, access, base, key }: Asked,
): Promise<WantedTable> {
  const found = await describeTable(dynamodb, name);
  if (found === undefined) {
    throw new InvalidRequestError("table", `table "${name}" does not exist; create it first`);
  }
  if (key !== undefined) assertKey(name, { found, known: key });
  const { partitionKey, sortKey, indexKeys, indexNames, indexes } = found;
  return {
    name,
    partitionKey,
    ...(sortKey === undefined ? {} : { sortKey }),
    ...(indexNames.length === 0
      ? {}
      : { indexKeys, indexNames, indexDescriptions: encodeIndexes(indexes) }),
    history,
    access,
    base,
  };
}

type KeyAtHand = { readonly found: DescribedTable; readonly known: readonly KnownKey[] };

function assertKey(table: string, { found, known }: KeyAtHand): void {
  const typed = known.some(({ type }) => type !== undefined);
  const textOf = (keys: readonly KnownKey[]): string =>
    keys.map(({ name, type }) => (typed ? `${name} (${type ?? "?"})` : name)).join(", ");
  const [stored, stated] = [textOf(keyAttributes(found)), textOf(known)];
  if (stored === stated) return;
  throw new InvalidRequestError(
    "key",
    `table "${table}" has the key ${stored}, and is defined with ${stated}`,
  );
}
