/**
 * Begins to join a shard to its neighbour below while both run (docs/protocol.md §10, Joining
 * shards): a block of its log says that it is closing. From there on it takes nothing new; replay
 * brings it to its end, and has the neighbour take the range (functions/replay/end-log.ts).
 *
 *     prepared ── closing stands in the log ── ended ── taken by the neighbour ── in the map
 *     no effect   goes on by itself from here
 */
import { InvalidRequestError } from "../core/errors.ts";
import type { StoredBlock } from "../core/ports.ts";
import { noSuchShard, type ShardEntry as MappedShard, type ShardMap } from "../core/shard-map.ts";
import type { ShardNumber } from "../core/types.ts";
import { decodeLogBlockHeader } from "../schemas/log-block.ts";
import type { AwsControlStore } from "./dynamodb-control-store.ts";
import {
  decidingBlockBehind,
  placeOnce,
  watermarkOf,
  type ProvisioningParts,
} from "./provisioning-block.ts";

export type CloseParts = ProvisioningParts & {
  readonly control: Pick<
    AwsControlStore,
    "readWatermark" | "keyHasher" | "shardMap" | "prepareJoin"
  >;
};

export type JoinRequest = {
  readonly shard: ShardNumber;
  /** To be sure of it: the one whose range ends where the shard's begins. */
  readonly into?: ShardNumber | undefined;
};

/**
 * The shard, if it can be joined; with its end, if it was.
 * @throws InvalidRequestError for what cannot be joined.
 */
export async function joinableShard(
  { control }: Pick<CloseParts, "control">,
  { shard: number, into }: JoinRequest,
): Promise<MappedShard> {
  const map = await control.shardMap();
  const entry = map?.get(number);
  if (map === undefined || entry === undefined) {
    throw noSuchShard(number, map);
  }
  const { ended } = entry;
  if (ended === undefined) refuseNoNeighbours(map, { shard: number, into });
  else refuseOtherHeir(number, { heir: ended.heir, into });
  return entry;
}

/**
 * Returns once the shard's log is closing, or has ended.
 * @throws as `joinableShard`; StoreError: run it again.
 */
export async function closeShard(parts: CloseParts, request: JoinRequest): Promise<void> {
  const { control } = parts;
  const before = await joinableShard(parts, request);
  // Before the map is read: if the end is not entered then, all of it lies above (I7).
  const watermark = await watermarkOf(parts, before.id);
  const { id, ended } = await joinableShard(parts, request);
  if (ended !== undefined) return;
  await control.prepareJoin(request.shard);
  await placeOnce(
    parts,
    { shard: id, watermark },
    {
      isIt: isClosing,
      follow: (end) => ({
        ...decidingBlockBehind(end, parts.random),
        handover: { kind: "closing" },
      }),
    },
  );
}

function isClosing({ bytes, position }: StoredBlock): boolean {
  const { handover } = decodeLogBlockHeader(bytes, position);
  return handover !== undefined && handover.kind !== "takes";
}

function refuseNoNeighbours(map: ShardMap, { shard, into }: JoinRequest): void {
  const below = map.below(shard);
  if (below === undefined) {
    const [, above] = map.entries;
    throw new InvalidRequestError(
      "shard",
      `shard ${shard} has the lowest hashes, and a shard is joined to the one below it; ` +
        (above === undefined
          ? "the deployment has no other one"
          : `join shard ${above.number}, which is the next one above`),
    );
  }
  refuseOtherHeir(shard, { heir: below.number, into });
}

function refuseOtherHeir(
  shard: ShardNumber,
  { heir, into }: Pick<JoinRequest, "into"> & { readonly heir: ShardNumber },
): void {
  if (into === undefined || into === heir) return;
  throw new InvalidRequestError(
    "into",
    `shard ${shard} is joined to shard ${heir}, whose hashes come right below its own; got ` +
      `${into}: join shards one by one, the upper one of two neighbours each time`,
  );
}
