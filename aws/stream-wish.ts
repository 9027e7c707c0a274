/** What a deployment is to have of a stream, and how provisioning brings that about. */
import type { ShardId } from "../core/types.ts";
import type { KinesisHandle } from "./clients.ts";
import type { ShardEntry } from "./dynamodb-control-store.ts";
import {
  addShardOfTables,
  addShards,
  firstShards,
  leaveStream,
  type ShardParts,
  useStream,
} from "./first-shards.ts";

/** A stream; none (tables alone); or one that is to be taken away, which nobody uses any more. */
export type StreamWish = boolean | "closing";

type StreamPlan = {
  /** Default true. */
  readonly wish: StreamWish | undefined;
  /** For how long `"closing"` waits until the stream is drained. Default 0. */
  readonly drainMs: number | undefined;
  /** Its name. */
  readonly stream: string;
  readonly kinesis: () => Promise<KinesisHandle>;
  /** Which of the stream's open shards get an entry. */
  readonly entriesOf: (
    open: readonly ShardEntry[],
    listed: readonly ShardId[],
  ) => readonly ShardEntry[];
};

/**
 * Repeatable: a second run changes nothing.
 * @throws InvalidRequestError when there is to be none, and the one that is there is in use.
 */
export async function fulfilStreamWish(parts: ShardParts, plan: StreamPlan): Promise<void> {
  const { wish, stream } = plan;
  if (wish === false) {
    await addShardOfTables(parts);
    return;
  }
  const listed = await parts.control.shards();
  const kinesis = await plan.kinesis();
  const open = await firstShards(kinesis, { stream, listed });
  await addShards(parts, plan.entriesOf(open, listed));
  if (wish === "closing") await leaveStream(parts, plan.drainMs ?? 0);
  else await useStream(parts, { kinesis, stream });
}
