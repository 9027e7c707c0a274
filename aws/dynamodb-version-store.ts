/**
 * The non-persistent version store on DynamoDB (docs/protocol.md §1): superseded versions under
 * (key bytes, version), dropped by TTL. Losing an entry costs a reader a retry, never a wrong
 * answer.
 *
 * Two of DynamoDB's limits do not fit user items, and are met here: a partition key holds 2 KB
 * while a user's key may take 3 KB (long ones are replaced by their digest), and an item near 400
 * KB leaves no room for the entry around it (the rest goes into a second item, which is stored
 * first so that an entry is never seen without it).
 *
 * Paper: pH1 §4 (version store).
 */
import { createHash } from "node:crypto";
import { CorruptDataError, FrameError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { CallOptions, Clock, VersionEntry } from "../core/ports.ts";
import type { Item, Timestamp, Version } from "../core/types.ts";
import { encodeItem } from "../schemas/attribute-value.ts";
import { decodeItem } from "../schemas/attribute-value-reading.ts";
import { ByteWriter } from "../schemas/byte-writer.ts";
import { fromSdkItem, type SdkItem } from "./attribute-values.ts";
import type { ClientDynamoDb } from "./dynamodb.ts";
import { bytesOf, has, integerOf } from "./stored-attributes.ts";

export type VersionStoreParts = {
  readonly dynamodb: ClientDynamoDb;
  readonly clock: Clock;
  readonly table: string;
};

const digestMark = 0xff;
const restMark = 0xfe;

export async function save(
  parts: VersionStoreParts,
  entry: VersionEntry & { readonly keptMs: number },
  options: CallOptions | undefined,
): Promise<void> {
  const bytes = entry.item === undefined ? undefined : encodeItem(entry.item);
  const first = bytes?.subarray(0, limits.versionPartBytesMax);
  const rest = bytes?.subarray(limits.versionPartBytesMax);
  const identity = canonicalKey(entry.table, entry.key);
  const common: SdkItem = {
    version: { N: entry.version.toString() },
    expiresAt: {
      N: Math.ceil((parts.clock.nowMs() + entry.keptMs) / 1000).toString(),
    },
  };
  if (rest !== undefined && rest.length > 0) {
    const Item = { ...common, key: { B: restKey(identity) }, item: { B: rest } };
    await parts.dynamodb.put({ TableName: parts.table, Item }, options);
  }
  const Item: SdkItem = {
    ...common,
    key: { B: entryKey(identity) },
    next: { N: entry.next.toString() },
    ...(first === undefined ? {} : { item: { B: first } }),
    ...(bytes === undefined ? {} : { itemBytes: { N: bytes.length.toString() } }),
  };
  await parts.dynamodb.put({ TableName: parts.table, Item }, options);
}

export async function find(
  parts: VersionStoreParts,
  wanted: { readonly table: string; readonly key: Item; readonly at: Timestamp },
  options: CallOptions | undefined,
): Promise<VersionEntry | undefined> {
  const identity = canonicalKey(wanted.table, wanted.key);
  const page = await parts.dynamodb.query(
    {
      TableName: parts.table,
      ConsistentRead: true,
      ScanIndexForward: false,
      Limit: 1,
      KeyConditionExpression: "#key = :key AND #version <= :at",
      ExpressionAttributeNames: { "#key": "key", "#version": "version" },
      ExpressionAttributeValues: {
        ":key": { B: entryKey(identity) },
        ":at": { N: wanted.at.toString() },
      },
    },
    options,
  );
  const row = page.Items?.[0];
  if (row === undefined) return undefined;
  const item = fromSdkItem(row);
  const stored = { what: "version entry", item };
  const version = integerOf(stored, "version") as Version;
  const next = integerOf(stored, "next") as Version;
  if (next <= wanted.at) return undefined;
  const entry = { table: wanted.table, key: wanted.key, version, next };
  if (!has(stored, "item")) return { ...entry, item: undefined };
  const first = bytesOf(stored, "item");
  const length = integerOf(stored, "itemBytes");
  if (first.length === length) return { ...entry, item: decoded(first) };
  const rest = await readRest(parts, { identity, version }, options);
  // TTL may have taken the rest before the entry: then the version is gone.
  if (rest?.length !== length - first.length) return undefined;
  return { ...entry, item: decoded(Buffer.concat([first, rest])) };
}

/** @throws CorruptDataError when the stored bytes are no item. */
function decoded(bytes: Uint8Array): Item {
  try {
    return decodeItem(bytes);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    throw new CorruptDataError("version entry: the bytes are no item", { cause: error });
  }
}

async function readRest(
  parts: VersionStoreParts,
  of: { readonly identity: Uint8Array; readonly version: Version },
  options: CallOptions | undefined,
): Promise<Uint8Array | undefined> {
  const Key: SdkItem = {
    key: { B: restKey(of.identity) },
    version: { N: of.version.toString() },
  };
  const stored = await parts.dynamodb.get(
    { TableName: parts.table, ConsistentRead: true, Key },
    options,
  );
  if (stored === undefined) return undefined;
  return bytesOf({ what: "rest of a version entry", item: stored }, "item");
}

/**
 * Equal for equal keys whatever the order of their attributes and the spelling of their numbers.
 */
function canonicalKey(table: string, key: Item): Uint8Array {
  const writer = new ByteWriter(256);
  writer.sizedUtf8(table);
  writer.bytes(encodeItem(key));
  return writer.toBytes();
}

function entryKey(identity: Uint8Array): Uint8Array {
  return identity.length <= limits.partitionKeyBytesMax ? identity : marked(digestMark, identity);
}

function restKey(identity: Uint8Array): Uint8Array {
  return marked(restMark, identity);
}

/**
 * A mark and a SHA-256 digest, 33 bytes. No canonical key looks like one: beginning with either
 * mark, a table name of over a hundred bytes would have to follow.
 */
function marked(mark: number, identity: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(mark), createHash("sha256").update(identity).digest()]);
}
