/**
 * The control table: watermarks, shards, the registry of user tables, shared secrets, and what
 * replay leaves for the reaper and for operators (aws/control-tombstones.ts). A client reads it
 * only, and has a reader of its own. Layout: docs/protocol.md §1.
 */
import { CorruptDataError, InvalidRequestError, StoreError } from "../core/errors.ts";
import { hashSecretBytes } from "../core/key-hash.ts";
import type { CallOptions, ClientPorts, ControlStore } from "../core/ports.ts";
import { isSequenceNumber } from "../core/sequence-number.ts";
import type {
  AttributeValue,
  IndexKeyAttribute,
  Item,
  KeyAttribute,
  KeyType,
  LogPosition,
  ShardId,
  StreamCursor,
  TableDescription,
  Timestamp,
  Watermark,
} from "../core/types.ts";
import {
  allOf,
  createControlReads,
  createControlTable,
  notExists,
  type ControlCondition,
} from "./control-table.ts";
import { createReaperStore } from "./control-tombstones.ts";
import type { ClientDynamoDb, DynamoDb } from "./dynamodb.ts";
import {
  booleanOf,
  bytesOf,
  corrupt,
  has,
  integerOf,
  mapsOf,
  textOf,
  type Stored,
} from "./stored-attributes.ts";

export type ControlReaderParts = { readonly dynamodb: ClientDynamoDb; readonly table: string };
export type ControlStoreParts = ControlReaderParts & { readonly dynamodb: DynamoDb };

/** A shard as the control table knows it. */
export type ShardEntry = {
  readonly shard: ShardId;
  /**
   * Lowest hash key of its range, a decimal of up to 128 bits; a record sent to exactly it lands on
   * the shard.
   */
  readonly startingHashKey: string;
};

/** The client's part of the port, and what the stream adapter needs of the same table. */
export type AwsControlReader = ClientPorts["control"] & {
  shardEntries(options?: CallOptions): Promise<readonly ShardEntry[]>;
};

/** The port, and what only provisioning and the stream adapter need of the same table. */
export type AwsControlStore = ControlStore &
  AwsControlReader & {
    /**
     * Adds the shard, under 16 new secret bytes, and its first watermark, unless they are there.
     */
    addShard(
      entry: ShardEntry & { readonly hashSecret: Uint8Array },
      watermark: Watermark,
      options?: CallOptions,
    ): Promise<void>;
  };

export function createDynamoDbControlReader({
  dynamodb,
  table,
}: ControlReaderParts): AwsControlReader {
  const control = createControlReads(dynamodb, table);
  /** A shard's secret never changes. */
  const hashSecrets = new Map<ShardId, Uint8Array>();
  const shardEntries: AwsControlReader["shardEntries"] = async (options) => {
    const items = await allOf(control, { pk: "shards" }, options);
    return items.map((item) => {
      const stored = { what: "shard entry", item };
      const startingHashKey = textOf(stored, "startingHashKey");
      if (!/^\d{1,39}$/.test(startingHashKey)) throw corrupt(stored, "startingHashKey");
      const shard = textOf(stored, "sk") as ShardId;
      const hashSecret = bytesOf(stored, "hashSecret");
      if (hashSecret.length !== hashSecretBytes) throw corrupt(stored, "hashSecret");
      hashSecrets.set(shard, hashSecret);
      return { shard, startingHashKey };
    });
  };
  return {
    idempotencyTable: {
      name: table,
      partitionKey: { name: "pk", type: "S" },
      sortKey: { name: "sk", type: "S" },
      history: false,
      access: "transactional",
    },
    async readWatermark(shard, options) {
      const item = await control.get(watermarkKey(shard), options);
      if (item === undefined) return undefined;
      return toWatermark({ what: `watermark of ${shard}`, item });
    },
    shardEntries,
    shards: async (options) => (await shardEntries(options)).map(({ shard }) => shard),
    async hashSecret(shard, options) {
      if (!hashSecrets.has(shard)) await shardEntries(options);
      const hashSecret = hashSecrets.get(shard);
      if (hashSecret !== undefined) return hashSecret;
      throw new StoreError(
        "unavailable",
        `shard ${shard} is not in the control table; is it provisioned?`,
      );
    },
    async tables(options) {
      const items = await allOf(control, { pk: "registry" }, options);
      return items.map((item) => toDescription({ what: "table registry", item }));
    },
  };
}

export function createDynamoDbControlStore(parts: ControlStoreParts): AwsControlStore {
  const control = createControlTable(parts.dynamodb, parts.table);
  return {
    ...createDynamoDbControlReader(parts),
    ...createReaperStore(control),
    async advanceWatermark(shard, watermark, options) {
      // After a lost answer the SDK's own repeat finds the condition broken by its first success:
      // `false` then says no more than that the watermark stands at or above.
      const condition: ControlCondition = {
        expression: "attribute_not_exists(#position) OR #position < :position",
        names: { "#position": "position" },
        values: { ":position": { N: watermark.position.toString() } },
      };
      const key = watermarkKey(shard);
      const result = await control.put(key, fromWatermark(watermark), options, condition);
      return result === "done";
    },
    async addShard({ shard, startingHashKey, hashSecret }, watermark, options) {
      // The watermark first: a shard that is listed must have one.
      await control.put(watermarkKey(shard), fromWatermark(watermark), options, notExists);
      const entry = { startingHashKey: { S: startingHashKey }, hashSecret: { B: hashSecret } };
      await control.put({ pk: "shards", sk: shard }, entry, options, notExists);
    },
    async registerTable(table, options) {
      const key = { pk: "registry", sk: table.name };
      const result = await control.put(key, fromDescription(table), options, sameKey(table));
      if (result === "done") return;
      throw new InvalidRequestError(
        "table",
        `table "${table.name}" is registered with another key; a key cannot change`,
      );
    },
    async secret(name, make, options) {
      const key = { pk: "secret", sk: name };
      let item = await control.get(key, options);
      if (item === undefined) {
        await control.put(key, { bytes: { B: make() } }, options, notExists);
        // Whoever came first made it; only the stored bytes are the secret.
        item = await control.get(key, options);
      }
      if (item === undefined) throw new StoreError("unavailable", `secret "${name}" vanished`);
      return bytesOf({ what: `secret "${name}"`, item }, "bytes");
    },
  };
}

function watermarkKey(shard: ShardId): { pk: string; sk: string } {
  return { pk: `shard#${shard}`, sk: "watermark" };
}

function fromWatermark({ position, timestamp, cursor }: Watermark): Item {
  const requestsDone = cursor?.requestsDone;
  return {
    position: { N: position.toString() },
    timestamp: { N: timestamp.toString() },
    ...(cursor === undefined ? {} : { cursorSequence: { S: cursor.sequenceNumber } }),
    ...(typeof requestsDone === "number"
      ? { cursorRequestsDone: { N: requestsDone.toString() } }
      : {}),
  };
}

function toWatermark(stored: Stored): Watermark {
  return {
    position: integerOf(stored, "position") as LogPosition,
    timestamp: integerOf(stored, "timestamp") as Timestamp,
    cursor: has(stored, "cursorSequence") ? toCursor(stored) : undefined,
  };
}

function toCursor(stored: Stored): StreamCursor {
  const sequenceNumber = textOf(stored, "cursorSequence");
  if (!isSequenceNumber(sequenceNumber)) throw corrupt(stored, "cursorSequence");
  const partial = has(stored, "cursorRequestsDone");
  return {
    sequenceNumber,
    requestsDone: partial ? integerOf(stored, "cursorRequestsDone") : "all",
  };
}

function fromDescription(table: TableDescription): Item {
  return {
    partitionKeyName: { S: table.partitionKey.name },
    partitionKeyType: { S: table.partitionKey.type },
    ...(table.sortKey === undefined
      ? {}
      : { sortKeyName: { S: table.sortKey.name }, sortKeyType: { S: table.sortKey.type } }),
    ...(table.indexKeys === undefined
      ? {}
      : { indexKeys: { L: table.indexKeys.map(fromIndexKey) } }),
    history: { BOOL: table.history },
    access: { S: table.access },
  };
}

function fromIndexKey({ name, type, role }: IndexKeyAttribute): AttributeValue {
  return { M: { name: { S: name }, type: { S: type }, role: { S: role } } };
}

function toIndexKey(stored: Stored): IndexKeyAttribute {
  const role = textOf(stored, "role");
  if (role !== "partition" && role !== "sort") throw corrupt(stored, "role");
  return { name: textOf(stored, "name"), type: keyTypeOf(stored, "type"), role };
}

/** Holds for a table not yet registered, or registered with this very key. */
function sameKey({ partitionKey, sortKey }: TableDescription): ControlCondition {
  const sort = sortKey === undefined ? "attribute_not_exists(#sn)" : "#sn = :sn AND #st = :st";
  return {
    expression: `attribute_not_exists(#pn) OR (#pn = :pn AND #pt = :pt AND ${sort})`,
    names: {
      "#pn": "partitionKeyName",
      "#pt": "partitionKeyType",
      "#sn": "sortKeyName",
      ...(sortKey === undefined ? {} : { "#st": "sortKeyType" }),
    },
    values: {
      ":pn": { S: partitionKey.name },
      ":pt": { S: partitionKey.type },
      ...(sortKey === undefined ? {} : { ":sn": { S: sortKey.name }, ":st": { S: sortKey.type } }),
    },
  };
}

function toDescription(stored: Stored): TableDescription {
  const name = textOf(stored, "sk");
  const access = textOf(stored, "access");
  if (access !== "transactional") {
    throw new CorruptDataError(
      `table registry: "${name}" has the access mode "${access}", which this version does not know`,
    );
  }
  const description = {
    name,
    partitionKey: toKeyAttribute(stored, "partitionKey"),
    ...(has(stored, "indexKeys") ? { indexKeys: mapsOf(stored, "indexKeys").map(toIndexKey) } : {}),
    history: booleanOf(stored, "history"),
    access,
  } as const;
  if (!has(stored, "sortKeyName")) return description;
  return { ...description, sortKey: toKeyAttribute(stored, "sortKey") };
}

function toKeyAttribute(stored: Stored, prefix: "partitionKey" | "sortKey"): KeyAttribute {
  return { name: textOf(stored, `${prefix}Name`), type: keyTypeOf(stored, `${prefix}Type`) };
}

function keyTypeOf(stored: Stored, name: string): KeyType {
  const type = textOf(stored, name);
  if (type !== "S" && type !== "N" && type !== "B") throw corrupt(stored, name);
  return type;
}
