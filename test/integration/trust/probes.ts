/**
 * Whatever one may try on a deployment's stream and tables, under the words that docs/operations.md
 * has for it. What no role may do has a name, too, and no cell of the document has it.
 */
import {
  BatchGetItemCommand,
  DeleteItemCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  UpdateItemCommand,
  type AttributeValue,
} from "@aws-sdk/client-dynamodb";
import {
  DeleteStreamCommand,
  GetShardIteratorCommand,
  ListShardsCommand,
  PutRecordsCommand,
  SplitShardCommand,
} from "@aws-sdk/client-kinesis";
import type { LocalStores } from "../../harness/local-stores.ts";
import type { Actor } from "./roles.ts";

export type Scene = {
  readonly stores: LocalStores;
  /** Registered, with a partition key `pk`. */
  readonly table: string;
  /** The same, and mixed. Undefined where no role is tried on one. */
  readonly mixed?: string;
  /** Of somebody else, not registered. */
  readonly foreign: string;
};

export const columns = [
  "stream",
  "log",
  "control",
  "versions",
  "your tables",
  "mixed ones, too",
] as const;
export type Column = (typeof columns)[number];

type Key = Record<string, AttributeValue>;
type Probe = (actor: Actor, scene: Scene) => Promise<unknown>;
type Named = (scene: Scene) => string;

const get =
  (table: Named, key: Key): Probe =>
  ({ dynamodb }, scene) =>
    dynamodb.send(new GetItemCommand({ TableName: table(scene), Key: key }));
const put =
  (table: Named, key: Key): Probe =>
  ({ dynamodb }, scene) =>
    dynamodb.send(new PutItemCommand({ TableName: table(scene), Item: key }));
const drop =
  (table: Named, key: Key): Probe =>
  ({ dynamodb }, scene) =>
    dynamodb.send(new DeleteItemCommand({ TableName: table(scene), Key: key }));
const update =
  (table: Named, key: Key): Probe =>
  ({ dynamodb }, scene) =>
    dynamodb.send(
      new UpdateItemCommand({
        TableName: table(scene),
        Key: key,
        UpdateExpression: "SET #n = :n",
        ExpressionAttributeNames: { "#n": "n" },
        ExpressionAttributeValues: { ":n": { N: "1" } },
      }),
    );
const query =
  (table: Named, [name, value]: [string, AttributeValue]): Probe =>
  ({ dynamodb }, scene) =>
    dynamodb.send(
      new QueryCommand({
        TableName: table(scene),
        KeyConditionExpression: "#k = :k",
        ExpressionAttributeNames: { "#k": name },
        ExpressionAttributeValues: { ":k": value },
      }),
    );
/** One right under one name: half of it is none, and is an error. */
const both =
  (...probes: Probe[]): Probe =>
  async (actor, scene) => {
    const ends = await Promise.allSettled(probes.map((probe) => probe(actor, scene)));
    const failed = ends.flatMap((end) =>
      end.status === "rejected" ? [end.reason as unknown] : [],
    );
    if (failed.length === 0) return;
    if (failed.length === probes.length) throw failed[0];
    throw new Error("only a part of the right is granted", { cause: failed[0] });
  };

const log: Named = ({ stores }) => stores.ports.names.logTable;
const control: Named = ({ stores }) => stores.ports.names.controlTable;
const versions: Named = ({ stores }) => stores.ports.names.versionsTable;
const yours: Named = ({ table }) => table;
const mixed: Named = (scene) => scene.mixed ?? scene.table;
const foreign: Named = (scene) => scene.foreign;
const stream: Named = ({ stores }) => stores.ports.names.stream;

const text = (value: string): AttributeValue => ({ S: value });
/** A shard that is none, so that what is allowed breaks nothing. */
const shard = "shardId-of-a-probe";
const entry = (pk: string): Key => ({ pk: text(pk), sk: text("of a probe") });
const block = (partition: string): Key => ({ shard: text(partition), position: { N: "1" } });
const version: Key = { key: { B: new Uint8Array([1]) }, version: { N: "1" } };
const item: Key = { pk: text("of a probe") };

export const probes: Readonly<Record<Column, Readonly<Record<string, Probe>>>> = {
  stream: {
    lists: ({ kinesis }, scene) =>
      kinesis.send(new ListShardsCommand({ StreamName: stream(scene) })),
    reads: ({ kinesis }, scene) =>
      kinesis.send(
        new GetShardIteratorCommand({
          StreamName: stream(scene),
          ShardId: scene.stores.shard,
          ShardIteratorType: "LATEST",
        }),
      ),
    puts: ({ kinesis }, scene) => {
      const Records = [{ Data: new Uint8Array([0]), PartitionKey: "a" }];
      return kinesis.send(new PutRecordsCommand({ StreamName: stream(scene), Records }));
    },
    splits: ({ kinesis }, scene) =>
      kinesis.send(
        new SplitShardCommand({
          StreamName: stream(scene),
          ShardToSplit: scene.stores.shard,
          NewStartingHashKey: (2n ** 127n).toString(),
        }),
      ),
    deletes: ({ kinesis }, scene) =>
      kinesis.send(new DeleteStreamCommand({ StreamName: stream(scene) })),
  },
  log: {
    reads: get(log, block(shard)),
    queries: query(log, ["shard", text(shard)]),
    "appends blocks": put(log, block(shard)),
    "spills payloads": put(log, block("spill#of a probe")),
    deletes: drop(log, block(shard)),
    updates: update(log, block(shard)),
  },
  control: {
    "reads shards and registry": both(
      query(control, ["pk", text("shards")]),
      query(control, ["pk", text("registry")]),
    ),
    "reads watermarks": get(control, entry(`shard#${shard}`)),
    "moves watermarks": put(control, entry(`shard#${shard}`)),
    registers: put(control, entry("registry")),
    "queues tombstones and fences": both(
      put(control, entry("tombstones#of a probe")),
      put(control, entry("fences#of a probe")),
    ),
    "takes them off the queue": both(
      drop(control, entry("tombstones#of a probe")),
      drop(control, entry("fences#of a probe")),
    ),
    "saves dead letters": put(control, entry("dead-letters#of a probe")),
    "saves results of keys": put(control, entry("idempotency#of a probe")),
    "reads the secret": get(control, entry("secret")),
    "lists feeds": query(control, ["pk", text("feeds")]),
    "reads positions of feeds": get(control, entry("feed#of a probe")),
    "keeps positions of feeds": both(
      put(control, entry("feed#of a probe")),
      put(control, entry("feeds")),
    ),
    "takes turns": both(get(control, entry("house")), put(control, entry("house"))),
    "deletes shards": drop(control, entry("shards")),
    "updates watermarks": update(control, entry(`shard#${shard}`)),
  },
  versions: {
    reads: query(versions, ["key", { B: new Uint8Array([1]) }]),
    saves: put(versions, version),
    deletes: drop(versions, version),
    updates: update(versions, version),
  },
  "your tables": {
    "reads items": get(yours, item),
    "queries and scans": both(query(yours, ["pk", text("a")]), ({ dynamodb }, scene) =>
      dynamodb.send(new ScanCommand({ TableName: yours(scene) })),
    ),
    puts: put(yours, item),
    deletes: drop(yours, item),
    updates: update(yours, item),
    describes: ({ dynamodb }, scene) =>
      dynamodb.send(new DescribeTableCommand({ TableName: yours(scene) })),
    "deletes the table": ({ dynamodb }, scene) =>
      dynamodb.send(new DeleteTableCommand({ TableName: yours(scene) })),
    "reads others": get(foreign, item),
    "puts into others": put(foreign, item),
  },
  "mixed ones, too": {
    "reads batches": ({ dynamodb }, scene) =>
      dynamodb.send(
        new BatchGetItemCommand({ RequestItems: { [mixed(scene)]: { Keys: [item] } } }),
      ),
    deletes: drop(mixed, item),
    updates: update(mixed, item),
  },
};

/** What of a column an actor may do: everything else was denied. */
export async function admitted(actor: Actor, scene: Scene, column: Column): Promise<string[]> {
  const names: string[] = [];
  for (const [name, probe] of Object.entries(probes[column])) {
    try {
      await probe(actor, scene);
      names.push(name);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "AccessDeniedException") throw error;
    }
  }
  return names;
}
