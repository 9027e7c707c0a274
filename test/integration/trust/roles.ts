/**
 * Somebody with exactly the rights of a role: a client of whose calls only those reach the stores
 * that the role's policies allow (infra/terraform/grants.json), judged on the wire as IAM would.
 */
import { type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type KinesisClient } from "@aws-sdk/client-kinesis";
import type { AwsPorts } from "../../../aws/ports.ts";
import { createAwsClients } from "../../../aws/clients.ts";
import { startCallRecorder } from "../../deploy/call-recorder.ts";
import { allows, readGrants, type Grant } from "../../deploy/grants.ts";
import type { LocalStores } from "../../harness/local-stores.ts";

const granted = readGrants();
const { oracle, replay, reaper, provision, readOnly, write, express, keepHouse } = granted;
const { feeds, seeFeeds, rest, mapping, split } = granted;

/** Functions have the rights of their mappings: it is one role. */
export const roles = {
  oracle: [...oracle, ...mapping],
  replay: [...replay, ...mapping],
  reaper,
  // Where there is no stream, nobody is granted one.
  housekeeping: [...replay, ...reaper, ...express].filter(({ on }) => on !== "stream"),
  splitter: split,
  provision,
  "policy read-only": [...readOnly, ...seeFeeds],
  "policy read-write": [...readOnly, ...seeFeeds, ...write],
  "policy express": express,
  "policy housekeeping": keepHouse,
  "policy feeds": feeds,
  api: [...readOnly, ...write, ...express, ...rest],
  "an express client": [...readOnly, ...seeFeeds, ...write, ...express],
  "a consumer of changes": [...readOnly, ...seeFeeds, ...feeds, ...mapping],
  "a client that keeps house": [...readOnly, ...seeFeeds, ...write, ...express, ...keepHouse],
  "a producer": write.filter(({ sid }) => sid === "Commit"),
  "a plain writer": [
    {
      sid: "Plain",
      on: "tables",
      actions: ["PutItem", "GetItem", "UpdateItem", "DeleteItem"].map((each) => `dynamodb:${each}`),
    },
  ],
} satisfies Record<string, readonly Grant[]>;

export type Role = keyof typeof roles;

export type Actor = {
  readonly ports: AwsPorts;
  readonly dynamodb: DynamoDBClient;
  readonly kinesis: KinesisClient;
  stop(): Promise<void>;
};

/**
 * @param tables those that the policies name, as Terraform names the registered ones.
 * @param has which of the role's grants it has; all, unless it says otherwise.
 */
export async function actorAs(
  role: Role,
  stores: LocalStores,
  tables: readonly string[],
  mixed: readonly string[] = [],
  has: (grant: Grant) => boolean = () => true,
): Promise<Actor> {
  const { logTable, controlTable, versionsTable } = stores.ports.names;
  const named = new Set([logTable, controlTable, versionsTable, ...tables, ...mixed]);
  const grants = roles[role].filter(has);
  const gate = await startCallRecorder(stores.servers.endpoint, stores.ports.names, {
    mixed,
    permits: (call, asked) =>
      asked.every((table) => named.has(table)) && grants.some((grant) => allows(grant, call)),
  });
  const ports = stores.openPorts({ endpoint: gate.url });
  const clients = createAwsClients({ ...stores.clientOptions, endpoint: gate.url });
  return {
    ports,
    dynamodb: (await clients.dynamodb()).client,
    kinesis: (await clients.kinesis()).client,
    async stop() {
      await clients.close();
      await gate.stop();
    },
  };
}
