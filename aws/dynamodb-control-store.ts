/**
 * The control table: watermarks, shards, the registry of user tables, shared secrets, and what
 * replay leaves for the reaper and for operators (aws/control-tombstones.ts). A client reads it
 * only, and has a reader of its own. Layout: docs/protocol.md §1.
 */
import { StoreError } from "../core/errors.ts";
import { hashSecretBytes, KeyHasher } from "../core/key-hash.ts";
import { ShardMap } from "../core/shard-map.ts";
import type { CallOptions, ClientPorts, Clock, ControlStore } from "../core/ports.ts";
import { isSequenceNumber } from "../core/sequence-number.ts";
import type {
  Item,
  LogPosition,
  ShardId,
  ShardNumber,
  StreamCursor,
  Timestamp,
  Watermark,
} from "../core/types.ts";
import { createAbortedFencesQueue } from "./control-aborted.ts";
import {
  allOf,
  createControlReads,
  createControlTable,
  notExists,
  type ControlCondition,
} from "./control-table.ts";
import { createRegistryStore, readRegistry, type RegistryStore } from "./control-registry.ts";
import { createHouseTurns } from "./control-house-turn.ts";
import { createReaperStore } from "./control-tombstones.ts";
import type { ClientDynamoDb, DynamoDb } from "./dynamodb.ts";
import { bytesOf, corrupt, has, integerOf, textOf, type Stored } from "./stored-attributes.ts";

export type ControlReaderParts = { readonly dynamodb: ClientDynamoDb; readonly table: string };
export type ControlStoreParts = ControlReaderParts & {
  readonly dynamodb: DynamoDb;
  readonly clock: Clock;
};

/** A shard as the control table knows it. */
export type ShardEntry = {
  readonly shard: ShardId;
  readonly number: ShardNumber;
  /** Where its range of hashes of partitions begins (core/shard-map.ts). */
  readonly from: number;
  /**
   * A hash key of the stream, a decimal of up to 128 bits: its records are sent to exactly it, and
   * whichever Kinesis shard covers it carries them.
   */
  readonly startingHashKey: string;
};

/** The client's part of the port, and what the stream adapter needs of the same table. */
export type AwsControlReader = ClientPorts["control"] & {
  tables: ControlStore["tables"];
  shardEntries(options?: CallOptions): Promise<readonly ShardEntry[]>;
};

/** The port, and what only provisioning and the stream adapter need of the same table. */
export type AwsControlStore = ControlStore &
  RegistryStore &
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
  const hashers = new Map<ShardId, { readonly secret: Uint8Array; readonly number: ShardNumber }>();
  // By their numbers: the first shard comes first.
  const shardEntries: AwsControlReader["shardEntries"] = async (options) => {
    const items = await allOf(control, { pk: "shards" }, options);
    const entries = items.map((item): ShardEntry => {
      const stored = { what: "shard entry", item };
      const startingHashKey = textOf(stored, "startingHashKey");
      if (!/^\d{1,39}$/.test(startingHashKey)) throw corrupt(stored, "startingHashKey");
      const shard = textOf(stored, "sk") as ShardId;
      const secret = bytesOf(stored, "hashSecret");
      if (secret.length !== hashSecretBytes) throw corrupt(stored, "hashSecret");
      // Entries of before there were several shards name neither.
      const number = (has(stored, "number") ? integerOf(stored, "number") : 0) as ShardNumber;
      const from = has(stored, "from") ? integerOf(stored, "from") : 0;
      hashers.set(shard, { secret, number });
      return { shard, number, from, startingHashKey };
    });
    return entries.sort((a, b) => a.number - b.number);
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
    async shardMap(options) {
      const entries = await shardEntries(options);
      if (entries.length === 0) return undefined;
      return new ShardMap(entries.map(({ shard, number, from }) => ({ id: shard, number, from })));
    },
    async keyHasher(shard, options) {
      if (!hashers.has(shard)) await shardEntries(options);
      const hasher = hashers.get(shard);
      if (hasher !== undefined) return new KeyHasher(hasher.secret, hasher.number);
      throw new StoreError(
        "unavailable",
        `shard ${shard} is not in the control table; is it provisioned?`,
      );
    },
    registry: (options) => readRegistry(control, options),
    tables: async (options) => (await readRegistry(control, options)).tables,
  };
}

export function createDynamoDbControlStore(parts: ControlStoreParts): AwsControlStore {
  const control = createControlTable(parts.dynamodb, parts.table);
  return {
    ...createDynamoDbControlReader(parts),
    ...createReaperStore(control),
    ...createAbortedFencesQueue(control),
    ...createHouseTurns(control),
    ...createRegistryStore({ control, clock: parts.clock }),
    async advanceWatermark(shard, watermark, options) {
      // After a lost answer the SDK's own repeat finds the condition broken by its first success:
      // `false` then says no more than that the watermark stands at or above.
      const condition: ControlCondition = {
        expression: "attribute_not_exists(#position) OR #position < :position",
        names: { "#position": "position" },
        values: { ":position": { N: watermark.position.toString() } },
      };
      const key = watermarkKey(shard);
      const result = await control.put(key, fromWatermark(watermark), { ...options, condition });
      return result === "done";
    },
    async addShard({ shard, number, from, startingHashKey, hashSecret }, watermark, options) {
      // The watermark first: a shard that is listed must have one.
      const unlessThere = { ...options, condition: notExists };
      await control.put(watermarkKey(shard), fromWatermark(watermark), unlessThere);
      const entry = {
        startingHashKey: { S: startingHashKey },
        hashSecret: { B: hashSecret },
        number: { N: number.toString() },
        from: { N: from.toString() },
      };
      await control.put({ pk: "shards", sk: shard }, entry, unlessThere);
    },
    async secret(name, make, options) {
      const key = { pk: "secret", sk: name };
      let item = await control.get(key, options);
      if (item === undefined) {
        const unlessThere = { ...options, condition: notExists };
        await control.put(key, { bytes: { B: make() } }, unlessThere);
        // The first process made it; only the stored bytes are the secret.
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
