/**
 * Fills a fresh embedded stack: the deployment's stream and system tables, then the tables that it
 * was started with, and the sample tables.
 * All of it may be repeated; rows are put only once per data folder, and never over others, since
 * afterwards they are the user's.
 */
import { createAwsClients } from "../aws/clients.ts";
import { createTables } from "../aws/create-tables.ts";
import { provisionDeployment, type ProvisionOptions } from "../aws/provision.ts";
import { adoptTables, registeredTables } from "../aws/register-tables.ts";
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { ShardId, TableDescription } from "../core/types.ts";
import type { DataFolder } from "./data-folder.ts";
import type { StackEndpoints } from "./process-messages.ts";
import { sampleRows, sampleTables } from "./sample-tables.ts";
import { StackError } from "./stack-error.ts";
import type { TableSetup } from "./table-setup.ts";

/**
 * Makes the deployment's tables and, if it is to have one, its stream; may be repeated on one that
 * is there.
 */
export type Provision = (target: {
  readonly deployment: string;
  readonly region: string;
  readonly endpoints: StackEndpoints;
  readonly sampleTables: boolean;
  readonly tables: readonly TableSetup[];
  /** False: tables alone. */
  readonly stream: boolean;
  /** Undefined: as many as it has; 1 of a new deployment. */
  readonly shards: number | undefined;
  readonly dataFolder: DataFolder | undefined;
}) => Promise<Provisioned>;

export type Provisioned = {
  /** All that are registered: those that it was given first, in their order. */
  readonly registered: readonly TableDescription[];
  readonly shards: number;
};

/** Explicit, so that a developer's own credentials are never even read. */
const localCredentials = { accessKeyId: "local", secretAccessKey: "local" };

export const provisionStack: Provision = async (target) => {
  const { deployment, region, endpoints, stream, shards, dataFolder } = target;
  const aws = {
    region,
    endpoint: endpoints,
    credentials: localCredentials,
  };
  const made = await makeDeployment({ ...aws, deployment, stream, shards });
  const own = new Set(target.tables.map(({ name }) => name));
  const samples = target.sampleTables ? sampleTables.filter(({ name }) => !own.has(name)) : [];
  await makeTables(aws, { deployment, tables: [...samples, ...target.tables] });
  for (const table of samples) {
    if (dataFolder?.filledTables.includes(table.name) === true) continue;
    await putRows(aws, table);
    dataFolder?.tableFilled(table.name);
  }
  const registered = await registeredTables({ ...aws, deployment });
  const isOwn = ({ name }: TableDescription): boolean => own.has(name);
  const given = [...own].flatMap((name) => registered.filter((table) => table.name === name));
  const others = registered.filter((table) => !isOwn(table));
  return { registered: [...given, ...others], shards: made.length };
};

/** @throws StreamInUse when it is to do without a stream, and has one. */
async function makeDeployment(options: ProvisionOptions): Promise<readonly ShardId[]> {
  try {
    return await provisionDeployment(options);
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    if (error.field === "shards") {
      const remedy = "start without --shards, or name another folder with --data <folder>";
      throw new StackError("config", `${error.message}; ${remedy}`, { cause: error });
    }
    const remedy = "start without --tables-only, or name another folder with --data <folder>";
    throw new StreamInUse("config", `${error.message}; ${remedy}`, { cause: error });
  }
}

/** The stream has to be closed, and drained by replay, before a stack does without it. */
export class StreamInUse extends StackError {}

/**
 * Closes the stream of a stack whose functions run, and waits until nobody needs it.
 * @throws InvalidRequestError when replay does not get there.
 */
export async function closeStackStream({
  deployment,
  region,
  endpoints,
}: Pick<Parameters<Provision>[0], "deployment" | "region" | "endpoints">): Promise<void> {
  const aws = { region, endpoint: endpoints, credentials: localCredentials };
  const drainMs = limits.stackDrainMsMax;
  await provisionDeployment({ ...aws, deployment, stream: "closing", drainMs });
}

/** @throws StackError when a table is there already with another key. */
async function makeTables(
  aws: Parameters<typeof createAwsClients>[0],
  { deployment, tables }: { readonly deployment: string; readonly tables: readonly TableSetup[] },
): Promise<void> {
  try {
    await createTables(aws, tables);
    await adoptTables(
      { ...aws, deployment },
      tables.map(({ name, history, access, base }) => ({ name, history, access, base })),
    );
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    // What says how to go on by itself.
    if (error.field === "access") {
      const remedy = "it needs a running stack: start without --mixed, or `access`, for this table";
      throw new StackError("config", `${error.message}; ${remedy}`, { cause: error });
    }
    if (error.field === "base") {
      const remedy = "start without --base and --mixed, or `base` and `access`, for this table";
      throw new StackError("config", `${error.message}; ${remedy}`, { cause: error });
    }
    if (error.field !== "table" && error.field !== "key") {
      throw new StackError("config", error.message, { cause: error });
    }
    const remedy = "delete the table, name another, or another folder with --data <folder>";
    throw new StackError("config", `${error.message}; ${remedy}`, { cause: error });
  }
}

/**
 * A row whose key is taken stays as it is: it is the user's, or an interrupted start has put it.
 */
async function putRows(
  options: Parameters<typeof createAwsClients>[0],
  table: TableSetup,
): Promise<void> {
  const clients = createAwsClients(options);
  try {
    const { client, sdk } = await clients.dynamodb();
    const puts = sampleRows(table.name).map(
      (row) =>
        new sdk.PutItemCommand({
          TableName: table.name,
          Item: { ...row } as never,
          ConditionExpression: "attribute_not_exists(#key)",
          ExpressionAttributeNames: { "#key": table.partitionKey.name },
        }),
    );
    await Promise.all(
      puts.map(async (put) => {
        await client.send(put).catch((error: unknown) => {
          if (!(error instanceof sdk.ConditionalCheckFailedException)) throw error;
        });
      }),
    );
  } finally {
    await clients.close();
  }
}
