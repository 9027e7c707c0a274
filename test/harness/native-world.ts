/**
 * One table on a real protocol server, with two AWS clients of either kind: one with the plugin and
 * one without, which sees what really stands there. Fences are planted by hand, and dealt with as a
 * transaction of the given fate would be.
 */
import { randomBytes } from "node:crypto";
import {
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
  type AttributeValue,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { createTables, type IndexDefinition } from "../../aws/create-tables.ts";
import type { NativeAddress } from "../../core/native-support.ts";
import { tidemarkNative } from "../../native/index.ts";
import { startFaultyProxy, type FaultyProxy } from "./faulty-proxy.ts";
import { localIdentity, startLocalServers } from "./local-servers.ts";

export type Attributes = Record<string, AttributeValue>;
export type Fate = "commits" | "aborts";

export type NativeWorld = {
  /** Mixed, with the keys `pk` and `sk`, both texts. */
  readonly table: string;
  /** Not mixed. */
  readonly otherTable: string;
  /** Whether it knows transactions and PartiQL, and shows what refuses a condition. */
  readonly isWhole: boolean;
  readonly native: DynamoDBClient;
  readonly document: DynamoDBDocumentClient;
  readonly plain: DynamoDBClient;
  /** What the clients send passes here. */
  readonly proxy: FaultyProxy;
  /** What was asked to be cleared, in order. */
  readonly cleared: NativeAddress[];
  key(): Attributes;
  stored(key: Attributes): Promise<Attributes | undefined>;
  store(item: Attributes): Promise<void>;
  /** A fence on what stands there, or a placeholder. What clears it does what its fate says. */
  fence(key: Attributes, fate: Fate): Promise<void>;
  stop(): Promise<void>;
};

export async function startNativeWorld(
  indexes: readonly IndexDefinition[] = [],
): Promise<NativeWorld> {
  const servers = await startLocalServers();
  const proxy = await startFaultyProxy(servers.endpoint.dynamodb);
  const suffix = randomBytes(4).toString("hex");
  const [table, otherTable] = [`native-${suffix}`, `other-${suffix}`];
  const partitionKey = { name: "pk", type: "S" } as const;
  const sortKey = { name: "sk", type: "S" } as const;
  await createTables({ ...localIdentity, endpoint: servers.endpoint }, [
    { name: table, partitionKey, sortKey, indexes },
    { name: otherTable, partitionKey, sortKey },
  ]);
  const connect = (): DynamoDBClient =>
    new DynamoDBClient({ ...localIdentity, endpoint: proxy.url, maxAttempts: 3 });
  const plain = new DynamoDBClient({ ...localIdentity, endpoint: servers.endpoint.dynamodb });
  const native = connect();
  const fates = new Map<string, Fate>();
  const cleared: NativeAddress[] = [];
  const stored = async (key: Attributes): Promise<Attributes | undefined> =>
    (await plain.send(new GetItemCommand({ TableName: table, Key: key, ConsistentRead: true })))
      .Item;
  const store = async (item: Attributes): Promise<void> => {
    await plain.send(new PutItemCommand({ TableName: table, Item: item }));
  };
  native.middlewareStack.use(
    tidemarkNative({
      tables: [{ name: table, partitionKey: "pk", sortKey: "sk" }],
      client: {
        async clearFence(at) {
          cleared.push(at);
          const key = at.key as Attributes;
          const item = await stored(key);
          if (item?.["_f"] === undefined) return false;
          const { _f, _n, _x, ...rest } = item;
          const keys = Object.keys(key).length;
          if (fates.get(JSON.stringify(key)) === "commits") {
            await store({ ...rest, _v: { N: "1700000000000001" }, by: { S: "transaction" } });
          } else if (Object.keys(rest).length === keys) {
            await plain.send(new DeleteItemCommand({ TableName: table, Key: key }));
          } else {
            await store({ ...rest, ...(_n === undefined ? {} : { _n }) });
          }
          return true;
        },
      },
    }),
  );
  let keys = 0;
  return {
    ...{ table, otherTable, native, plain, proxy, cleared, stored, store },
    isWhole: servers.dynamoDbLocal,
    document: DynamoDBDocumentClient.from(native),
    key() {
      keys += 1;
      return { pk: { S: `p${keys.toString()}` }, sk: { S: "s" } };
    },
    async fence(key, fate) {
      fates.set(JSON.stringify(key), fate);
      const isThere = (await stored(key)) !== undefined;
      await plain.send(
        new UpdateItemCommand({
          TableName: table,
          Key: key,
          UpdateExpression: isThere ? "SET #f = :f" : "SET #f = :f, #n = :f, #x = :x",
          ExpressionAttributeNames: { "#f": "_f", ...(isThere ? {} : { "#n": "_n", "#x": "_x" }) },
          ExpressionAttributeValues: {
            ":f": { B: new Uint8Array(16).fill(9) },
            ...(isThere ? {} : { ":x": { BOOL: true } }),
          },
        }),
      );
    },
    async stop() {
      native.destroy();
      plain.destroy();
      await proxy.stop();
      await servers.stop();
    },
  };
}
