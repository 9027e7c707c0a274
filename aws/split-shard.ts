/**
 * Splits a shard while it runs (docs/protocol.md §10, Splitting a shard): a block of its log, the
 * fork, from which on the upper part of its range goes on in a log of its own.
 *
 *     prepared ── fork stands in the log ── entered in the map
 *     no effect   the shard is split        whoever comes later knows
 *
 * A run that is cut short before the fork has changed nothing, and the next one goes on with what
 * it has prepared. After it replay enters the fork, before its watermark passes it.
 */
import { InvalidRequestError, StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { ControlStore, StoredBlock } from "../core/ports.ts";
import { noSuchShard, shardIdOf, type ShardMap } from "../core/shard-map.ts";
import type { Fork, LogPosition, ShardId, ShardNumber, Watermark } from "../core/types.ts";
import type { KeyHashes } from "../schemas/key-hashes.ts";
import { decodeLogBlock } from "../schemas/log-block.ts";
import type { KinesisHandle } from "./clients.ts";
import { mapOf, type AwsControlStore, type ShardEntry } from "./dynamodb-control-store.ts";
import { covers, listKinesisShards } from "./kinesis-shards.ts";
import {
  decidingBlockBehind,
  placeOnce,
  watermarkOf,
  type ProvisioningParts,
} from "./provisioning-block.ts";

export type SplitParts = ProvisioningParts & {
  readonly control: Pick<
    AwsControlStore,
    "readWatermark" | "keyHasher" | "shardEntries" | "shardMap" | "prepareFork" | "completeEntry"
  > &
    Pick<ControlStore, "registry" | "enterFork">;
  /** Undefined for a deployment without a stream. */
  readonly carrier: { readonly kinesis: KinesisHandle; readonly stream: string } | undefined;
};

export type SplitRequest = {
  readonly shard: ShardNumber;
  /** Upper 32 bits of the first hash of a partition that moves; default: half of the range. */
  readonly at?: number | undefined;
};

export type Split = {
  readonly shard: ShardNumber;
  readonly id: ShardId;
  /** Where its range begins. */
  readonly from: number;
  /** Position of the fork in the other's log. */
  readonly forkedAt: LogPosition;
};

const hashKeyMax = 2n ** 128n - 1n;

/**
 * Returns once the shard is split, and the map says so.
 * @throws InvalidRequestError for what cannot be split; StoreError: run it again.
 */
export async function splitShard(parts: SplitParts, request: SplitRequest): Promise<Split> {
  const { control } = parts;
  const whole = await control.shardMap();
  await refuseMoving(parts);
  const parent = whole?.live(request.shard);
  if (parent === undefined) {
    throw noSuchShard(request.shard, whole);
  }
  // Before the entries are read: if the fork is not entered then, this lies below it (I7).
  const watermark = await watermarkOf(parts, parent.id);
  const entries = await control.shardEntries();
  const map = mapOf(entries);
  if (map?.live(request.shard) === undefined) {
    throw new StoreError("unavailable", "the map has changed; run it again");
  }
  const begun = entries.find(
    ({ forked }) => forked?.of === request.shard && forked.at === undefined,
  );
  const child = begun ?? (await newEntry(parts, { map, entries, request }));
  if (begun !== undefined && request.at !== undefined && request.at !== begun.from) {
    throw new InvalidRequestError(
      "at",
      `a split of shard ${request.shard} at ${hexOf(begun.from)} was begun and cut short; leave ` +
        "`at` out to end it first",
    );
  }
  const prepared = { ...child, forked: { of: request.shard, at: undefined } };
  const isOurs = await control.prepareFork(prepared, watermark);
  if (!isOurs && begun === undefined) {
    throw new StoreError("unavailable", "another split was begun at this moment; run it again");
  }
  const { number, from } = child;
  const fork = { shard: number, from };
  const forkedAt = await placeFork(parts, { parent: parent.id, fork, watermark });
  await control.enterFork(fork, { of: request.shard, at: forkedAt });
  await control.completeEntry(number);
  return { shard: number, id: child.shard, from, forkedAt };
}

async function refuseMoving({ control }: SplitParts): Promise<void> {
  const { tables } = await control.registry();
  const moving = tables.find(({ move }) => move !== undefined);
  if (moving === undefined) return;
  throw new InvalidRequestError(
    "table",
    `table "${moving.name}" is being moved, in each of the shards that there are; split this one ` +
      "once the move is done",
  );
}

async function newEntry(
  parts: SplitParts,
  {
    map,
    entries,
    request,
  }: {
    readonly map: ShardMap;
    readonly entries: readonly ShardEntry[];
    readonly request: SplitRequest;
  },
): Promise<ShardEntry> {
  const range = map.rangeOf(request.shard);
  const from = request.at ?? range.from + Math.floor((range.to - range.from) / 2);
  if (!Number.isInteger(from) || from <= range.from || from >= range.to) {
    throw new InvalidRequestError(
      "at",
      `shard ${request.shard} has the hashes from ${hexOf(range.from)} to ` +
        `${hexOf(range.to - 1)}, and is split at one between them; got ${hexOf(from)}`,
    );
  }
  const used = new Set(entries.map(({ number }) => number));
  if (entries.filter(({ ended }) => ended === undefined).length >= limits.shardsMax) {
    throw new InvalidRequestError(
      "shard",
      `the deployment has ${limits.shardsMax} shards (shardsMax), the most there may be`,
    );
  }
  const numbers = Array.from({ length: limits.shardNumbersMax }, (_, n) => n as ShardNumber);
  // None of an ended one either: no two logs have one name.
  const number = numbers.find((each) => !used.has(each));
  if (number === undefined) {
    throw new InvalidRequestError(
      "shard",
      `there have been ${limits.shardNumbersMax} shards (shardNumbersMax), those that were ` +
        "joined included, the most there may ever be",
    );
  }
  const parent = entries.find((entry) => entry.number === request.shard);
  if (parent === undefined)
    throw new StoreError("unavailable", "the map has changed; run it again");
  const startingHashKey = await hashKeyBeside(parts, parent, entries);
  return { shard: shardIdOf(number), number, from, startingHashKey };
}

/**
 * Of the same Kinesis shard, as its log goes on where the other's stands in the stream; and another
 * one than the other's, so that the stream's own splits can part them later.
 */
async function hashKeyBeside(
  { carrier }: SplitParts,
  parent: ShardEntry,
  entries: readonly ShardEntry[],
): Promise<string> {
  let end = hashKeyMax;
  if (carrier !== undefined) {
    const shards = await listKinesisShards(carrier.kinesis, carrier.stream);
    const carries = shards.find(
      (each) => each.lastSequenceNumber === undefined && covers(each, parent),
    );
    if (carries === undefined) {
      throw new StoreError("unavailable", `stream ${carrier.stream} shows no shard; try again`);
    }
    end = BigInt(carries.endingHashKey);
  }
  const own = BigInt(parent.startingHashKey);
  for (const { startingHashKey } of entries) {
    const other = BigInt(startingHashKey);
    if (other > own && other <= end) end = other - 1n;
  }
  return (own + (end - own + 1n) / 2n).toString();
}

/**
 * Puts the fork, unless it stands there already: above the watermark, or it were entered. What
 * waits for a vote at the fork is voted on in this log, and its outcome entered in the other one.
 */
function placeFork(
  parts: SplitParts,
  {
    parent: shard,
    fork,
    watermark,
  }: { readonly parent: ShardId; readonly fork: Fork; readonly watermark: Watermark },
): Promise<LogPosition> {
  const isIt = (stored: StoredBlock, hashes: KeyHashes): boolean => {
    const block = decodeLogBlock(stored.bytes, stored.position, hashes);
    if (block.fork?.shard === fork.shard) return true;
    if (block.handover === undefined || block.handover.kind === "takes") return false;
    // probe: split-meets-a-join
    throw new InvalidRequestError(
      "shard",
      `shard ${shard} is being joined to its neighbour; split that one once it is done`,
    );
  };
  return placeOnce(
    parts,
    { shard, watermark },
    {
      isIt,
      mayPut: () => refuseMoving(parts),
      follow: (end) => ({ ...decidingBlockBehind(end, parts.random), fork }),
    },
  );
}

/** As `tidemark shards` lists them. */
function hexOf(bound: number): string {
  return `0x${bound.toString(16).padStart(8, "0")}`;
}
