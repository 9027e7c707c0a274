/**
 * One item over time: as it is stored, what is committed and not installed, what is open on it, the
 * versions that are kept, and the commits that the log still tells of.
 */
import { toSdkItem } from "../aws/attribute-values.ts";
import { createClientDynamoDb } from "../aws/dynamodb.ts";
import { versionIn } from "../aws/stored-item.ts";
import {
  attribute,
  fenceAttribute,
  keyNamesOf,
  markAttribute,
  nonceAttribute,
  withoutReserved,
} from "../core/attributes.ts";
import type {
  Item,
  LogPosition,
  TableDescription,
  TransactionId,
  Timestamp,
  Version,
  WriteHashes,
} from "../core/types.ts";
import type { Allowed } from "./allowed.ts";
import type { Deployment, ShardLog } from "./deployment.ts";
import { holdersOf, type Holders } from "./holders.ts";
import { newestBlocks, type ReadBlock } from "./log-reading.ts";
import type { Names } from "./names.ts";
import { wayOf, type Ways } from "./tally.ts";

/** The item as its table holds it. */
export type StoredNow = {
  readonly state: "item" | "tombstone" | "placeholder" | "absent";
  /** Undefined unless there is an item. */
  readonly item: Item | undefined;
  /** 0: nobody's commit. */
  readonly version: Version;
  /** Of an aware native write, or of a commit by one call. */
  readonly nonce: string | undefined;
  /** The transaction that is about to write it, or was. */
  readonly fence: string | undefined;
};

/**
 * `stored`: as it stands. `pending`: committed, and not there yet. `kept`: superseded, for reads of
 * the past. `logged`: superseded, and only the log tells of it.
 */
export type VersionState = "stored" | "pending" | "kept" | "logged";

export type ItemVersion = {
  readonly version: Version;
  readonly state: VersionState;
  /** Undefined: no block that was looked through tells of it. */
  readonly commit:
    | { readonly id: TransactionId; readonly position: LogPosition; readonly way: keyof Ways }
    | undefined;
  /** What it is: undefined where nothing is known of that. */
  readonly content: { readonly item: Item | undefined } | undefined;
};

export type OpenOnItem = {
  readonly id: TransactionId;
  readonly since: Timestamp;
  readonly does: "writes" | "reads";
};

export type ItemHistory = {
  readonly table: TableDescription;
  readonly key: Item;
  readonly log: ShardLog;
  readonly hashes: WriteHashes;
  readonly stored: StoredNow;
  /** By falling version. */
  readonly versions: readonly ItemVersion[];
  readonly open: readonly OpenOnItem[];
  /** Open BASE transactions that have written or read it. */
  readonly held: Allowed<Holders>;
  /** How far back the log was looked through; undefined: to its beginning. */
  readonly lookedTo: Timestamp | undefined;
};

export type Asked = {
  readonly table: TableDescription;
  readonly key: Item;
  readonly versionsMax: number;
  readonly blocksMax: number;
};

export async function itemHistory(
  deployment: Deployment,
  names: Names,
  asked: Asked,
): Promise<ItemHistory> {
  const { table, key } = asked;
  const [any] = deployment.logs;
  const hashes = any?.hashes.item(keyNamesOf(table), key);
  const number = hashes && deployment.map.at(hashes.partition).number;
  const log = deployment.logs.find((each) => each.number === number);
  if (hashes === undefined || log === undefined) throw new Error("a deployment has a shard");
  const blocks = await newestBlocks(deployment.ports.log, log, { blocksMax: asked.blocksMax });
  // Behind the log: what is committed above the version that this shows is not installed.
  const stored = await storedNow(deployment, asked);
  const kept = await keptVersions(deployment, asked, stored.version);
  const { versionsMax } = asked;
  const logged = await loggedVersions({ log, blocks, names, hashes, versionsMax }, stored.version);
  const all = new Map<Version, ItemVersion>();
  for (const each of [...logged, ...kept, ...storedVersion(stored)]) {
    const known = all.get(each.version);
    all.set(each.version, {
      ...each,
      commit: each.commit ?? known?.commit,
      content: each.content ?? known?.content,
    });
  }
  const oldest = blocks.at(-1);
  return {
    ...{ table, key, log, hashes, stored },
    versions: [...all.values()].sort((a, b) => b.version - a.version).slice(0, asked.versionsMax),
    open: openOn(blocks, hashes),
    held: await holdersOf(deployment, asked),
    lookedTo:
      oldest === undefined || oldest.position === 1 ? undefined : oldest.block?.previousTimestamp,
  };
}

async function storedNow({ clients }: Deployment, { table, key }: Asked): Promise<StoredNow> {
  const raw = await createClientDynamoDb(clients.dynamodb).get({
    TableName: table.name,
    Key: toSdkItem(key),
    ConsistentRead: true,
  });
  const nothing = { item: undefined, nonce: undefined, fence: undefined };
  if (raw === undefined) return { ...nothing, state: "absent", version: 0 as Version };
  const version = versionIn(raw, () => ({ table: table.name, key }));
  const mark = attribute(raw, markAttribute);
  const isMarked = mark !== undefined && "BOOL" in mark && mark.BOOL;
  const nonce = attribute(raw, nonceAttribute);
  const fence = attribute(raw, fenceAttribute);
  const marked = table.access === "mixed" ? "placeholder" : "tombstone";
  return {
    state: isMarked ? marked : "item",
    item: isMarked ? undefined : withoutReserved(raw),
    version,
    nonce: nonce !== undefined && "B" in nonce ? Buffer.from(nonce.B).toString("hex") : undefined,
    fence: fence !== undefined && "S" in fence ? fence.S : undefined,
  };
}

function storedVersion({ state, item, version }: StoredNow): readonly ItemVersion[] {
  if (version === 0) return [];
  const content = { item: state === "item" ? item : undefined };
  return [{ version, state: "stored", commit: undefined, content }];
}

/** Back from the one that stands, each to the one before. */
async function keptVersions(
  { ports }: Deployment,
  { table, key, versionsMax }: Asked,
  from: Version,
): Promise<readonly ItemVersion[]> {
  const hasHistory = table.history || table.historyKeptUntilMs !== undefined;
  const found: ItemVersion[] = [];
  let version = from;
  while (hasHistory && version > 0 && found.length < versionsMax) {
    const entry = await ports.versions.find(table.name, key, (version - 1) as Timestamp);
    if (entry === undefined) break;
    version = entry.version;
    const content = { item: entry.item };
    found.push({ version, state: "kept", commit: undefined, content });
  }
  return found;
}

type Looked = {
  readonly log: ShardLog;
  readonly blocks: readonly ReadBlock[];
  readonly names: Names;
  readonly hashes: WriteHashes;
  readonly versionsMax: number;
};

async function loggedVersions(
  { log, blocks, names, hashes, versionsMax }: Looked,
  stored: Version,
): Promise<readonly ItemVersion[]> {
  const found: ItemVersion[] = [];
  for (const { block, position } of blocks) {
    for (const verdict of block?.verdicts ?? []) {
      if (verdict.kind !== "committed") continue;
      if (!verdict.writes.some(({ key }) => key === hashes.key)) continue;
      if (found.length === versionsMax) return found;
      const named = await names.writes(log, verdict);
      const write =
        named.kind === "named" ? named.writes.find(({ hash }) => hash === hashes.key) : undefined;
      const { id, timestamp: version } = verdict;
      found.push({
        version,
        state: version > stored ? "pending" : "logged",
        commit: { id, position, way: wayOf(verdict, block?.maker !== undefined) },
        content: write === undefined ? undefined : { item: write.item },
      });
    }
  }
  return found;
}

function openOn(blocks: readonly ReadBlock[], hashes: WriteHashes): readonly OpenOnItem[] {
  const open = new Map<TransactionId, OpenOnItem>();
  const { table, partition, key } = hashes;
  for (const verdict of [...blocks].reverse().flatMap(({ block }) => block?.verdicts ?? [])) {
    const { id } = verdict;
    if (verdict.kind === "committed" || verdict.kind === "aborted") open.delete(id);
    if (verdict.kind !== "prepared") continue;
    const isWritten = verdict.writes.some((each) => each.key === key);
    const isRead = [table, partition, key].some((each) => verdict.checks.includes(each));
    if (!isWritten && !isRead) continue;
    open.set(id, { id, since: verdict.timestamp, does: isWritten ? "writes" : "reads" });
  }
  return [...open.values()];
}
