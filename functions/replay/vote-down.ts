/**
 * Votes against what has been open for too long: its client is gone, or slow beyond what others
 * have to bear. A vote against is a request to abort, as `outcome(id)` makes one: by a record, or
 * by a block where there is no stream. The first vote stands, whoever's it is, so one too many does
 * no harm; and nobody waits for it here: the next run meets the decision.
 *
 * Time is the log's, from the prepared verdict to the newest one. A log that is quiet has none to
 * show, so the clock counts, too, by a longer bound, where the log was read to its end. A clock
 * that runs ahead aborts what might have committed; nothing rests on it.
 */
import { isStreamEnd } from "../../core/cursor.ts";
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { OpenTransaction } from "../../core/open-transactions.ts";
import type { CallOptions, Ports } from "../../core/ports.ts";
import type {
  AbortedVerdict,
  LogBlock,
  LogPosition,
  MakerNumber,
  ShardId,
  Timestamp,
} from "../../core/types.ts";
import { isDecidedIn } from "../../core/whole-outcome.ts";
import { CommitSender } from "../../engine/committing/commit-sender.ts";
import { InstallOutbox } from "../../engine/installing/install-outbox.ts";
import { encodeCommitRequest } from "../../schemas/commit-record.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { encodeLogBlock } from "../../schemas/log-block-encoding.ts";
import type { Observability } from "../shared/observability.ts";
import type { LogProgress } from "./progress.ts";

export type VoteDownWork = {
  readonly ports: Pick<Ports, "clock" | "random" | "stream" | "log">;
  readonly observability: Observability;
  readonly shard: ShardId;
  readonly hashes: KeyHashes;
  readonly call: CallOptions;
  /** What the registry says; of a log that has a cursor, the log does. */
  readonly streamless: () => Promise<boolean>;
  readonly progress: LogProgress;
  /** Of transactions over several shards (settle-parts.ts). */
  readonly settleParts: (open: readonly OpenTransaction[]) => Promise<void>;
  /** Wall clock before the log was read to its end; undefined: it goes on behind `place`. */
  readonly endReadMs: number | undefined;
};

/** A store that fails fails no run: what is installed is installed, and the next one votes. */
export async function voteDown(work: VoteDownWork): Promise<void> {
  const { metrics, log } = work.observability;
  const all = openForTooLong(work);
  // Of what is a part, another log may decide, or all of them.
  const isOwn = ({ prepared }: OpenTransaction): boolean =>
    isDecidedIn(work.hashes.shard, prepared);
  const parts = all.filter((opened) => !isOwn(opened));
  if (parts.length > 0) await work.settleParts(parts);
  const tooOld = all.filter(isOwn);
  const [oldest] = tooOld;
  if (oldest === undefined) return;
  try {
    const sent = await send(tooOld, work);
    metrics.count("VotedDown", sent);
    const { id, timestamp } = oldest.prepared;
    log.warn("nobody decides what was prepared: it is voted down", {
      shard: work.shard,
      transactions: tooOld.length,
      oldest: { transactionId: id, timestamp },
    });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    log.error("what was prepared and is not decided could not be voted down", {
      shard: work.shard,
      transactions: tooOld.length,
      reason: error.message,
    });
  }
}

function openForTooLong({
  ports: { clock },
  progress,
  endReadMs,
}: VoteDownWork): OpenTransaction[] {
  const { timestamp: newest } = progress.place;
  const byLog = newest - limits.openMicrosMax;
  // Everybody who writes in the shard waits for the end of a log that is closing.
  const patienceMs = progress.isClosing ? limits.openPatienceMsMax : limits.openByClockMsMax;
  const byClock = (clock.nowMs() - patienceMs) * 1_000;
  const before = endReadMs === undefined ? byLog : Math.max(byLog, byClock);
  const found: OpenTransaction[] = [];
  for (const opened of progress.open.all()) {
    if (opened.prepared.timestamp > before || found.length >= limits.votesDownMax) break;
    if (progress.asks(opened, clock.monotonicMs(), limits.voteAgainMs)) found.push(opened);
  }
  return found;
}

/** How many are on their way. */
async function send(tooOld: readonly OpenTransaction[], work: VoteDownWork): Promise<number> {
  const { cursor } = work.progress.place;
  const isStreamless = cursor === undefined ? await work.streamless() : isStreamEnd(cursor);
  return isStreamless ? await byBlock(tooOld, work) : await byRecords(tooOld, work);
}

async function byRecords(
  tooOld: readonly OpenTransaction[],
  { ports, shard, hashes, progress }: VoteDownWork,
): Promise<number> {
  const sender = new CommitSender(ports.stream, { shard, hashes }, new InstallOutbox());
  const requests = tooOld.map(({ prepared: { id } }) =>
    encodeCommitRequest({
      kind: "abort",
      id,
      isolation: "serializable",
      // No decision on it lies up to there, as whoever sends an id again has to make sure (I3).
      checkedTo: progress.place.timestamp,
      checks: [],
      payload: { kind: "none" },
    }),
  );
  const results = await Promise.all(requests.map((request) => sender.send(request)));
  const rejected = results.find((result) => result.kind === "rejected");
  if (rejected !== undefined) throw rejected.cause;
  return results.filter(({ kind }) => kind !== "throttled").length;
}

/** Behind the log's end as it was read; whoever has taken that position has gone on from there. */
async function byBlock(tooOld: readonly OpenTransaction[], work: VoteDownWork): Promise<number> {
  const { ports, shard, hashes, call, endReadMs } = work;
  if (endReadMs === undefined) return 0;
  const block = blockAgainst(tooOld, work);
  const stored = { position: block.position, bytes: encodeLogBlock(block, hashes) };
  const appended = await ports.log.append(shard, stored, {
    ...call,
    signBeforeMs: endReadMs + limits.expressTailAgeMsMax,
    dateMs: Math.max(ports.clock.nowMs(), block.throughTimestamp / 1_000),
  });
  return appended === "appended" ? tooOld.length : 0;
}

/**
 * As a client makes one of its own that aborts what it is asked for. It takes the log's time no
 * further than it must: no clock is needed for it.
 */
function blockAgainst(
  tooOld: readonly OpenTransaction[],
  { ports, progress }: VoteDownWork,
): LogBlock {
  const { position, timestamp, cursor } = progress.place;
  const verdicts = tooOld.map(({ prepared: { id } }, i): AbortedVerdict => {
    const at = (timestamp + 1 + i) as Timestamp;
    return { kind: "aborted", id, timestamp: at, reason: { kind: "probed" } };
  });
  const through = verdicts.at(-1)?.timestamp ?? timestamp;
  // 0 is provisioning's (core/block-order.ts).
  const number = Math.max(1, new DataView(ports.random.bytes(4).buffer).getUint32(0));
  const oldestOpen = progress.open.oldest?.position;
  return {
    position: (position + 1) as LogPosition,
    previousTimestamp: timestamp,
    throughTimestamp: through,
    cursor,
    arrivalMs: Math.floor(through / 1_000),
    rejectedRecords: 0,
    maker: { number: number as MakerNumber, installed: [] },
    ...(oldestOpen === undefined ? {} : { oldestOpen }),
    verdicts,
  };
}
