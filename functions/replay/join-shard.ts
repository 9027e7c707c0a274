/**
 * Joins a shard to its neighbour below while both run, as an operator does (docs/protocol.md §10,
 * Joining shards). Its log is closed, and then replay, which runs here as well, brings it to its
 * end: so those who write there wait for some puts, and not for the next run of the function.
 *
 * Cut short before the log is closing, nothing has happened; after that it goes on by itself, with
 * the next run of replay or of this.
 */
import {
  closeShard,
  joinableShard,
  type CloseParts,
  type JoinRequest,
} from "../../aws/join-shard.ts";
import type { AwsControlStore } from "../../aws/dynamodb-control-store.ts";
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Ports } from "../../core/ports.ts";
import type { ShardEnd } from "../../core/shard-map.ts";
import type { ShardId, ShardNumber } from "../../core/types.ts";
import type { Observability } from "../shared/observability.ts";
import { createReplayService } from "./service.ts";

export type JoinParts = {
  readonly ports: Ports & CloseParts & { readonly control: AwsControlStore };
  readonly observability: Observability;
};

export type Join = {
  readonly shard: ShardNumber;
  readonly id: ShardId;
  /** Where its range begins, which is its neighbour's now. */
  readonly from: number;
} & ShardEnd;

/**
 * Returns once the neighbour has the range, and the map says so.
 * @throws InvalidRequestError for what cannot be joined; StoreError: run it again.
 */
export async function joinShard(
  { ports, observability }: JoinParts,
  request: JoinRequest,
): Promise<Join> {
  const { clock, control } = ports;
  const { shard } = request;
  const ownInstallMs = limits.joinInstallPatienceMs;
  const replay = createReplayService(ports, observability, { ownInstallMs });
  const untilMs = clock.monotonicMs() + limits.joinMsMax;
  const remainingMs = (): number => untilMs - clock.monotonicMs() + limits.replayReserveMs;
  const { id, from } = await joinableShard(ports, request);
  const bringOn = async (): Promise<void> => {
    const map = await control.shardMap();
    // What its log's past commits the other shards' replay installs.
    const past = map?.lineageOf(shard).flatMap((each) => map.get(each.shard)?.id ?? []) ?? [];
    for (const each of [...past, id]) {
      await replay.handle({ shard: each, records: [] }, { remainingMs });
    }
  };
  // What replay is behind by nobody need wait for.
  await bringOn();
  await closeShard(ports, request);
  let failure: unknown;
  while (clock.monotonicMs() < untilMs) {
    const ended = (await control.shardMap())?.get(shard)?.ended;
    if (ended !== undefined) {
      await control.completeEntry(shard);
      return { shard, id, from, ...ended };
    }
    try {
      await bringOn();
      failure = undefined;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      failure = error;
    }
    const isOver = (await control.shardMap())?.live(shard) === undefined;
    if (!isOver) await clock.sleep(limits.handoverPauseMs);
  }
  throw new StoreError(
    "unavailable",
    `shard ${shard} is closing, and has not come to its end in ${limits.joinMsMax} ms: what is ` +
      "open in it is not settled, or replay cannot install what it has committed; that goes on, " +
      "and this may be run again",
    { cause: failure },
  );
}
