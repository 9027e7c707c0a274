/**
 * The control table: watermarks, shards, the registry of user tables, shared secrets, and what
 * replay leaves for the reaper and for operators (aws/control-tombstones.ts). A client reads it
 * only, and has a reader of its own. Layout: docs/protocol.md §1.
 */
import { CorruptDataError, StoreError } from "../core/errors.ts";
import { hashSecretBytes, KeyHasher } from "../core/key-hash.ts";
import * as limits from "../core/limits.ts";
import { shardEndOf, ShardMap, type ShardEnd } from "../core/shard-map.ts";
import type { CallOptions, ClientPorts, Clock, CommitLog, ControlStore } from "../core/ports.ts";
import { isSequenceNumber } from "../core/sequence-number.ts";
import type {
  Item,
  Lineage,
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
  type ControlKey,
  type ControlReads,
  type ControlTable,
} from "./control-table.ts";
import { createRegistryStore, readRegistry, type RegistryStore } from "./control-registry.ts";
import { createHouseTurns } from "./control-house-turn.ts";
import { createReaperStore } from "./control-tombstones.ts";
import type { ClientDynamoDb, DynamoDb } from "./dynamodb.ts";
import { bytesOf, corrupt, has, integerOf, textOf, type Stored } from "./stored-attributes.ts";

export type ControlReaderParts = {
  readonly dynamodb: ClientDynamoDb;
  readonly table: string;
  /** Told of the pasts of logs; undefined: whoever asks reads no log. */
  readonly log?: Pick<CommitLog, "continues">;
};
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
  /** The fork that it begins with. While that is prepared, the block is not known yet. */
  readonly forked?: { readonly of: ShardNumber; readonly at: LogPosition | undefined };
  /** It is about to be joined to its neighbour, or was. */
  readonly joins?: true;
  readonly ended?: ShardEnd;
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
    /**
     * Adds a shard that is to be split off, under the secret of all, with the other's watermark. It
     * is in no map before `enterFork`. False: there is one of that number.
     */
    prepareFork(
      entry: ShardEntry & { readonly forked: { readonly of: ShardNumber } },
      watermark: Watermark,
      options?: CallOptions,
    ): Promise<boolean>;
    /** Writes into the shard's own entry what was entered, so that nobody need look beside it. */
    completeEntry(number: ShardNumber, options?: CallOptions): Promise<void>;
    /** Says that the shard is to be joined to its neighbour; without it `enterJoin` refuses. */
    prepareJoin(number: ShardNumber, options?: CallOptions): Promise<void>;
  };

export function createDynamoDbControlReader({
  dynamodb,
  table,
  log,
}: ControlReaderParts): AwsControlReader {
  const control = createControlReads(dynamodb, table);
  /** A shard's secret never changes, nor does its past. */
  const hashers = new Map<
    ShardId,
    { readonly secret: Uint8Array; readonly number: ShardNumber; readonly lineage: Lineage }
  >();
  // By their numbers: the first shard comes first.
  const shardEntries: AwsControlReader["shardEntries"] = async (options) => {
    const { entries, map } = await fittingEntries(control, options);
    for (const { shard, number, hashSecret: secret, forked } of entries) {
      if (forked !== undefined && forked.at === undefined) continue;
      const lineage = map?.lineageOf(number) ?? [];
      const past = lineage.at(-1);
      const id = past && map?.get(past.shard)?.id;
      if (past !== undefined && id !== undefined) {
        log?.continues(shard, { shard: id, through: past.through });
      }
      hashers.set(shard, { secret, number, lineage });
    }
    return entries.map(({ hashSecret: _secret, ...entry }) => entry);
  };
  const mappedEntries = async (options: CallOptions | undefined): Promise<readonly ShardEntry[]> =>
    (await shardEntries(options)).filter(isInMap);
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
    shards: async (options) => (await mappedEntries(options)).map(({ shard }) => shard),
    shardMap: async (options) => mapOf(await shardEntries(options)),
    async keyHasher(shard, options) {
      if (!hashers.has(shard)) await shardEntries(options);
      const hasher = hashers.get(shard);
      if (hasher !== undefined) {
        return new KeyHasher(hasher.secret, hasher.number, hasher.lineage);
      }
      throw new StoreError(
        "unavailable",
        `shard ${shard} is not in the control table's map; is it provisioned, or about to be ` +
          "split off?",
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
      const condition = belowPosition(watermark);
      const key = watermarkKey(shard);
      const result = await control.put(key, fromWatermark(watermark), { ...options, condition });
      return result === "done";
    },
    async addShard({ shard, ...entry }, watermark, options) {
      // The watermark first: a shard that is listed must have one.
      const unlessThere = { ...options, condition: notExists };
      await control.put(watermarkKey(shard), fromWatermark(watermark), unlessThere);
      await control.put({ pk: "shards", sk: shard }, fromShardEntry(entry), unlessThere);
    },
    ...createMapChanges(control),
    shardNumbers: async (options) =>
      (await allOf(control, { pk: "shards" }, options)).map((item) => toShardEntry(item).number),
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

type MapChanges = Pick<
  AwsControlStore,
  "prepareFork" | "enterFork" | "prepareJoin" | "enterJoin" | "completeEntry"
>;

/** What splits and joins of shards change. */
function createMapChanges(control: ControlTable): MapChanges {
  return {
    async prepareFork({ shard, ...entry }, watermark, options) {
      const [first] = await allOf(control, { pk: "shards" }, options);
      if (first === undefined) throw new StoreError("unavailable", "there is no shard to split");
      const { hashSecret } = toShardEntry(first);
      const key = { pk: "shards", sk: shard };
      const stored = fromShardEntry({ ...entry, hashSecret });
      const unlessThere = { ...options, condition: notExists };
      const isNew = (await control.put(key, stored, unlessThere)) === "done";
      // Before its watermark: by its entry the number is this log's, or another's.
      if (!isNew && !(await isPartOf(control, { key, of: entry.forked.of }, options))) return false;
      // Of one that was prepared before it may be old: it goes on to here.
      const below = { ...options, condition: belowPosition(watermark) };
      await control.put(watermarkKey(shard), fromWatermark(watermark), below);
      return isNew;
    },
    async enterFork({ shard: number, from }, { of, at }, options) {
      const items = await allOf(control, { pk: "shards" }, options);
      const entry = items.map(toShardEntry).find((each) => each.number === number);
      if (entry?.forked?.of !== of) {
        throw new CorruptDataError(
          `block ${at} of shard ${of}'s log splits it, and nobody has prepared that: the control ` +
            `table has no entry of shard ${number} as a part of it (docs/operations.md, Shards)`,
        );
      }
      const fork = { at: { N: at.toString() }, from: { N: from.toString() } };
      const unlessThere = { ...options, condition: notExists };
      await control.put(forkKey(entry.shard), fork, unlessThere);
    },
    async enterJoin(taken, by, options) {
      const items = await allOf(control, { pk: "shards" }, options);
      const entry = items.map(toShardEntry).find((each) => each.number === taken.shard);
      if (entry?.joins !== true) {
        throw new CorruptDataError(
          `block ${by.at} of shard ${by.heir}'s log takes the range of shard ${taken.shard}, and ` +
            "nobody has prepared that: the control table's entry of it says nothing of a join " +
            "(docs/operations.md, Shards)",
        );
      }
      const unlessThere = { ...options, condition: notExists };
      await control.put(endKey(entry.shard), fromShardEnd(shardEndOf(taken, by)), unlessThere);
    },
    prepareJoin: (number, options) =>
      rewriteEntry(control, number, (entry) => ({ ...entry, joins: true as const }), options),
    completeEntry: (number, options) =>
      rewriteEntry(control, number, (entry) => withEntered(control, entry, options), options),
  };
}

/** Holds while nothing stands there, or a lower watermark. */
function belowPosition({ position }: Watermark): ControlCondition {
  return {
    expression: "attribute_not_exists(#position) OR #position < :position",
    names: { "#position": "position" },
    values: { ":position": { N: position.toString() } },
  };
}

/** Whether the number was given to a part of that shard. */
async function isPartOf(
  control: ControlReads,
  { key, of }: { readonly key: ControlKey; readonly of: ShardNumber },
  options: CallOptions | undefined,
): Promise<boolean> {
  const item = await control.get(key, options);
  return item !== undefined && toShardEntry(item).forked?.of === of;
}

/** What a shard's entry says only ever grows; two at once must not lose each other's. */
async function rewriteEntry(
  control: ControlTable,
  number: ShardNumber,
  change: (entry: StoredShard) => StoredShard | Promise<StoredShard>,
  options: CallOptions | undefined,
): Promise<void> {
  const items = await allOf(control, { pk: "shards" }, options);
  const before = items.map(toShardEntry).find((each) => each.number === number);
  if (before === undefined) return;
  const { shard, ...entry } = await change(before);
  const condition = sameEntry(before);
  const result = await control.put({ pk: "shards", sk: shard }, fromShardEntry(entry), {
    ...options,
    condition,
  });
  if (result === "done") return;
  const now = await control.get({ pk: "shards", sk: shard }, options);
  const isThere = now !== undefined && saysAll(toShardEntry({ ...now, sk: { S: shard } }), entry);
  if (!isThere)
    throw new StoreError("unavailable", `shard ${number}'s entry was changed; try again`);
}

function saysAll(stored: ShardEntry, { forked, joins, ended }: Omit<ShardEntry, "shard">): boolean {
  const isForked = forked?.at === undefined || stored.forked?.at === forked.at;
  return isForked && stored.joins === joins && (ended === undefined || stored.ended !== undefined);
}

/** Holds while a shard's entry says no more than it did. */
function sameEntry({ forked, joins, ended }: ShardEntry): ControlCondition {
  const missing = [
    ...(forked?.at === undefined ? ["forkedAt"] : []),
    ...(joins === undefined ? ["joins"] : []),
    ...(ended === undefined ? ["endedAt"] : []),
  ];
  return {
    expression: [
      "attribute_exists(#sk)",
      ...missing.map((name) => `attribute_not_exists(#${name})`),
    ].join(" AND "),
    names: { "#sk": "sk", ...Object.fromEntries(missing.map((name) => [`#${name}`, name])) },
  };
}

/** What is entered meanwhile may be read of one shard and not of another. */
async function fittingEntries(
  control: ControlReads,
  options: CallOptions | undefined,
): Promise<{ readonly entries: readonly StoredShard[]; readonly map: ShardMap | undefined }> {
  for (let tries = 1; ; tries += 1) {
    const items = await allOf(control, { pk: "shards" }, options);
    const stored = items.map(toShardEntry).sort((a, b) => a.number - b.number);
    const entries = await Promise.all(stored.map((entry) => withEntered(control, entry, options)));
    // Else whether they fit together is asked by whoever goes by the map. One may have been joined
    // to another that was split off since they were listed.
    const isAsked = entries.some(({ forked, ended }) => (forked ?? ended) !== undefined);
    try {
      return { entries, map: isAsked ? mapOf(entries) : undefined };
    } catch (error) {
      if (!(error instanceof CorruptDataError) || tries >= limits.mapReadTriesMax) throw error;
    }
  }
}

/**
 * Where the log of a shard begins that was split off, and ends that was joined, as whoever met that
 * has said it. Beside its watermark: replay may write that, and not the shards' entries, in which
 * the secret is.
 */
async function withEntered(
  control: ControlReads,
  entry: StoredShard,
  options: CallOptions | undefined,
): Promise<StoredShard> {
  const known = await withFork(control, entry, options);
  if (known.joins !== true || known.ended !== undefined) return known;
  const item = await control.get(endKey(entry.shard), options);
  if (item === undefined) return known;
  return { ...known, ended: toShardEnd({ what: `end of ${entry.shard}`, item }) };
}

async function withFork(
  control: ControlReads,
  entry: StoredShard,
  options: CallOptions | undefined,
): Promise<StoredShard> {
  const { forked } = entry;
  if (forked === undefined || forked.at !== undefined) return entry;
  const item = await control.get(forkKey(entry.shard), options);
  if (item === undefined) return entry;
  const stored = { what: `fork of ${entry.shard}`, item };
  const at = integerOf(stored, "at") as LogPosition;
  return { ...entry, from: integerOf(stored, "from"), forked: { of: forked.of, at } };
}

function forkKey(shard: ShardId): { pk: string; sk: string } {
  return { pk: `shard#${shard}`, sk: "fork" };
}

function endKey(shard: ShardId): { pk: string; sk: string } {
  return { pk: `shard#${shard}`, sk: "end" };
}

/** A shard that is about to be split off is in no map yet. */
export function isInMap({ forked }: ShardEntry): boolean {
  return forked === undefined || forked.at !== undefined;
}

/** Undefined: there is no shard yet. */
export function mapOf(entries: readonly ShardEntry[]): ShardMap | undefined {
  const mapped = entries.filter(isInMap).map(({ shard: id, number, from, ...more }) => {
    const { forked, joins, ended } = more;
    const joining = joins === undefined ? {} : { joins };
    const entry = { id, number, from, ...joining, ...(ended === undefined ? {} : { ended }) };
    if (forked?.at === undefined) return entry;
    return { ...entry, forked: { of: forked.of, at: forked.at } };
  });
  return mapped.length === 0 ? undefined : new ShardMap(mapped);
}

type StoredShard = ShardEntry & { readonly hashSecret: Uint8Array };

function fromShardEntry(entry: Omit<StoredShard, "shard">): Item {
  const { number, from, startingHashKey, hashSecret, forked, joins, ended } = entry;
  const at = forked?.at;
  return {
    startingHashKey: { S: startingHashKey },
    hashSecret: { B: hashSecret },
    number: { N: number.toString() },
    from: { N: from.toString() },
    ...(forked === undefined ? {} : { forkedOf: { N: forked.of.toString() } }),
    ...(at === undefined ? {} : { forkedAt: { N: at.toString() } }),
    ...(joins === undefined ? {} : { joins: { BOOL: joins } }),
    ...(ended === undefined ? {} : fromShardEnd(ended)),
  };
}

function fromShardEnd({ at, through, to, heir, takenAt }: ShardEnd): Item {
  return {
    endedAt: { N: at.toString() },
    endedThrough: { N: through.toString() },
    endedTo: { N: to.toString() },
    heir: { N: heir.toString() },
    takenAt: { N: takenAt.toString() },
  };
}

function toShardEnd(stored: Stored): ShardEnd {
  return {
    at: integerOf(stored, "endedAt") as LogPosition,
    through: integerOf(stored, "endedThrough") as Timestamp,
    to: integerOf(stored, "endedTo"),
    heir: integerOf(stored, "heir") as ShardNumber,
    takenAt: integerOf(stored, "takenAt") as LogPosition,
  };
}

function toShardEntry(item: Item): StoredShard {
  const stored = { what: "shard entry", item };
  const startingHashKey = textOf(stored, "startingHashKey");
  if (!/^\d{1,39}$/.test(startingHashKey)) throw corrupt(stored, "startingHashKey");
  const shard = textOf(stored, "sk") as ShardId;
  const hashSecret = bytesOf(stored, "hashSecret");
  if (hashSecret.length !== hashSecretBytes) throw corrupt(stored, "hashSecret");
  // Entries of before there were several shards name neither.
  const number = (has(stored, "number") ? integerOf(stored, "number") : 0) as ShardNumber;
  const from = has(stored, "from") ? integerOf(stored, "from") : 0;
  const entry = {
    ...{ shard, number, from, startingHashKey, hashSecret },
    ...(has(stored, "joins") ? { joins: true as const } : {}),
    ...(has(stored, "endedAt") ? { ended: toShardEnd(stored) } : {}),
  };
  if (!has(stored, "forkedOf")) return entry;
  const at = has(stored, "forkedAt") ? integerOf(stored, "forkedAt") : undefined;
  const of = integerOf(stored, "forkedOf") as ShardNumber;
  return { ...entry, forked: { of, at: at as LogPosition | undefined } };
}

function watermarkKey(shard: ShardId): { pk: string; sk: string } {
  return { pk: `shard#${shard}`, sk: "watermark" };
}

function fromWatermark({ position, timestamp, cursor, forkedAt }: Watermark): Item {
  const requestsDone = cursor?.requestsDone;
  return {
    position: { N: position.toString() },
    timestamp: { N: timestamp.toString() },
    ...(forkedAt === undefined ? {} : { forkedAt: { N: forkedAt.toString() } }),
    ...(cursor === undefined ? {} : { cursorSequence: { S: cursor.sequenceNumber } }),
    ...(typeof requestsDone === "number"
      ? { cursorRequestsDone: { N: requestsDone.toString() } }
      : {}),
  };
}

function toWatermark(stored: Stored): Watermark {
  const forkedAt = has(stored, "forkedAt") ? integerOf(stored, "forkedAt") : undefined;
  return {
    position: integerOf(stored, "position") as LogPosition,
    timestamp: integerOf(stored, "timestamp") as Timestamp,
    cursor: has(stored, "cursorSequence") ? toCursor(stored) : undefined,
    ...(forkedAt === undefined ? {} : { forkedAt: forkedAt as LogPosition }),
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
