/**
 * What one express block commits (docs/adr/0013-express-commit.md): transactions of a process that
 * hold at the log's end, in their order, as far as they have room beside one another. Pure.
 *
 * Each of them has been checked up to the log's end by itself; that says nothing of the others.
 * What reads or scans where one before it in the same block writes waits for the next block, and is
 * checked against this one as against any other of the log. So the block is the one that an oracle
 * would have made of them (I4, I5), less its refusals.
 *
 * One that has read what another is about to write (docs/protocol.md §9) stands behind that one, if
 * nothing between them writes there: an oracle would commit the same of the two, in two blocks.
 */
import { assert } from "../../core/assert.ts";
import * as limits from "../../core/limits.ts";
import type {
  BlockMaker,
  CommitRequest,
  KeyHash,
  LogBlock,
  LogPosition,
  PreparedVerdict,
  ShardNumber,
  Stamp,
  StreamCursor,
  Timestamp,
  TransactionId,
  Verdict,
  WholeOutcome,
  WriteHashes,
} from "../../core/types.ts";
import { OpenTransactions } from "../../core/open-transactions.ts";
import { isDecidedIn, stampsFor } from "../../core/whole-outcome.ts";
import {
  ClientBlockSize,
  type SizedCommit,
  type SizedDecision,
  type SizedVote,
} from "../../schemas/client-block-size.ts";

/** Of a read: the transaction that is about to write the key as it was read. */
export type ReadFrom = { readonly key: KeyHash; readonly from: TransactionId };

/**
 * A transaction to be committed or prepared, the vote for one that is, or an id that must not be
 * committed any more.
 */
export type ExpressRequest = Pick<CommitRequest, "kind" | "vote" | "parts" | "whole"> & {
  readonly id: TransactionId;
  /** Keys, partitions and tables in which nothing may have been written since. */
  readonly checks: readonly KeyHash[];
  /** In the payload's order. */
  readonly writes: readonly WriteHashes[];
  /** It lies in the block, or was spilled for this very id; of a vote or an abort there is none. */
  readonly payload: CommitRequest["payload"];
  /** What it has read from others that are not decided; none by default. */
  readonly readFrom?: () => readonly ReadFrom[];
};

const nothingOpen = new OpenTransactions();

/** Whatever a clock says: no block of ours is one that nobody takes (core/block-order.ts). */
const nowMax = limits.timestampMax - limits.blockVerdictsMax;

/** Where the log ends: the block stands at the next position. */
export type BlockBefore = {
  readonly open: OpenTransactions;
  readonly position: LogPosition;
  readonly newest: Timestamp;
  readonly cursor: StreamCursor | undefined;
};

export type BlockPlan = {
  readonly block: LogBlock;
  /** For each request whether the block commits it. */
  readonly isIn: readonly boolean[];
};

/**
 * Whether any block has room for it, as every one has for a vote; else its payload is spilled, or
 * it goes by the stream.
 */
export function fitsBlock(request: Omit<ExpressRequest, "id">): boolean {
  const sized = sizedOf({ ...request, id: "" as TransactionId }, nothingOpen);
  return sized === undefined || new ClientBlockSize(0).fits(sized);
}

/**
 * @param requests one at least; each fits a block, and has been checked up to the log's end.
 * @param parts.nowMicros microseconds since the epoch; timestamps are `max(last + 1, now)`.
 * @param parts.maker what it says is installed is left out where it leaves the first no room.
 * @param parts.shard whose log it is. Default: the first one.
 */
export function planBlock(
  requests: readonly ExpressRequest[],
  parts: {
    readonly log: BlockBefore;
    readonly nowMicros: number;
    readonly maker: BlockMaker;
    readonly shard?: ShardNumber;
  },
): BlockPlan {
  const { log, nowMicros, shard = 0 as ShardNumber } = parts;
  const [first] = requests;
  assert(first !== undefined && fitsBlock(first), "express: a block commits something");
  const { open } = log;
  const oldestOpen = open.oldest?.position;
  // mutant: express-position-guessed
  const position = (log.position + 1) as LogPosition;
  const { size, maker } = roomFor(first, parts);
  const verdicts: Verdict[] = [];
  const decided = new Set<TransactionId>();
  /** The last writer of each key, and of something under each partition and table. */
  const written = new Map<KeyHash, TransactionId>();
  let last = log.newest;
  const isIn = requests.map((request) => {
    const sized = sizedOf(request, open);
    // A vote on what is not open any more: the log says what has become of it.
    if (sized === undefined || !size.fits(sized)) return false;
    // To ask to abort a part has no effect on it: it may be committed by now.
    const prepared = open.get(request.id)?.prepared;
    if (request.kind === "abort" && prepared && !isDecidedIn(shard, prepared)) return false;
    // Whoever asks for an id learns what became of it once the block stands in the log (I3).
    if (decided.has(request.id)) return false;
    // mutant: express-block-conflicts-with-itself
    if (isOvertaken(request, written) || isBarred(request, open)) return false;
    size.add(sized);
    decided.add(request.id);
    const counted = countedOf(request) ?? 0;
    // mutant: express-time-runs-back
    last = Math.max(last + 1, Math.min(nowMicros, nowMax), counted) as Timestamp;
    const verdict = verdictOf(request, sized, { open, timestamp: last, shard });
    verdicts.push(verdict);
    open.fold(verdict, position);
    if (verdict.kind !== "committed") return true;
    for (const { table, partition, key } of verdict.writes) {
      for (const hash of [table, partition, key]) written.set(hash, request.id);
    }
    return true;
  });
  // The tail's own: it folds the block once that stands in the log.
  open.undo();
  return {
    isIn,
    block: {
      position,
      previousTimestamp: log.newest,
      throughTimestamp: last,
      // mutant: express-moves-cursor
      cursor: log.cursor,
      arrivalMs: Math.floor(last / 1_000),
      rejectedRecords: 0,
      maker,
      ...(oldestOpen === undefined ? {} : { oldestOpen }),
      verdicts,
    },
  };
}

/**
 * Whether a key that it has read is written by another in the block before it.
 * @param written the last writer of each key.
 */
function isOvertaken(
  { checks, readFrom }: ExpressRequest,
  written: ReadonlyMap<KeyHash, TransactionId>,
): boolean {
  // By number: another check, of a predicate, may happen to have the hash of such a key.
  const known = new Map<KeyHash, number>();
  for (const { key, from } of readFrom?.() ?? []) {
    // mutant: express-without-predecessors
    if (written.get(key) !== from) return true;
    // probe: express-chained-in-one-block
    known.set(key, (known.get(key) ?? 0) + 1);
  }
  return checks.some((check) => {
    if (!written.has(check)) return false;
    const left = known.get(check) ?? 0;
    known.set(check, left - 1);
    return left <= 0;
  });
}

/** Whether something open stands in its way. As an oracle's rule 8. */
export function isBarred(request: Omit<ExpressRequest, "id">, open: OpenTransactions): boolean {
  if (request.kind !== "commit" && request.kind !== "prepare") return false;
  const { checks, writes } = request;
  if (open.inTheWay(checks, writes) !== undefined) return true;
  return request.kind === "prepare" && !open.hasRoomFor(checks.length, writes.length);
}

/** What became of the whole, of a request that enters it in one of its logs. */
function wholeOf({ vote, whole }: ExpressRequest): WholeOutcome | undefined {
  return vote?.whole ?? whole;
}

/** At which the whole counts, of one that is committed. */
function countedOf(request: ExpressRequest): Timestamp | undefined {
  const whole = wholeOf(request);
  return whole?.kind === "committed" ? whole.timestamp : undefined;
}

/** Those that the log holds of the vote: all, where that decides; else those of its part. */
function stampsOf(
  request: ExpressRequest,
  { shard, prepared }: { readonly shard: ShardNumber; readonly prepared: PreparedVerdict },
): readonly Stamp[] | undefined {
  const whole = wholeOf(request);
  const stamps = whole?.kind === "committed" ? whole.stamps : undefined;
  if (stamps === undefined || isDecidedIn(shard, prepared)) return stamps;
  // mutant: enters-without-stamps
  return stampsFor(shard, prepared, stamps);
}

/** In the block, once it is known to have room there. */
function verdictOf(
  request: ExpressRequest,
  sized: SizedDecision,
  {
    open,
    timestamp,
    shard,
  }: {
    readonly open: OpenTransactions;
    readonly timestamp: Timestamp;
    readonly shard: ShardNumber;
  },
): Verdict {
  const { kind, id, vote, checks, parts } = request;
  if (sized === "abort") {
    // probe: express-outcome-asked
    return { kind: "aborted", id, timestamp, reason: { kind: "probed" } };
  }
  const { writes } = sized;
  if ("stamps" in sized) {
    const opened = open.get(id);
    assert(opened !== undefined, "express: a vote is on what is open");
    const payload = { kind: "prepared", position: opened.position } as const;
    const counted = countedOf(request);
    if (counted !== undefined) {
      // mutant: counts-where-placed
      const at = counted;
      const of = { shard, prepared: opened.prepared };
      const voted = stampsOf(request, of);
      return {
        ...{ kind: "committed", id, timestamp: at, placed: timestamp, writes, payload },
        ...(voted === undefined ? {} : { stamps: voted }),
      };
    }
    assert(vote !== undefined, "express: what is no part is voted on");
    return { kind: "committed", id, timestamp, writes, payload, stamps: vote.stamps };
  }
  const { payload } = sized;
  if (kind === "prepare") {
    const named = parts === undefined ? {} : { parts };
    return { kind: "prepared", id, timestamp, checks, writes, payload, ...named };
  }
  return { kind: "committed", id, timestamp, writes, payload };
}

function roomFor(
  first: ExpressRequest,
  { maker, log }: { readonly maker: BlockMaker; readonly log: BlockBefore },
): { readonly size: ClientBlockSize; readonly maker: BlockMaker } {
  const size = new ClientBlockSize(maker.installed.length);
  const sized = sizedOf(first, log.open);
  if (sized === undefined || size.fits(sized)) return { size, maker };
  return { size: new ClientBlockSize(0), maker: { ...maker, installed: [] } };
}

/** Undefined: a vote on what is not open. */
function sizedOf(request: ExpressRequest, open: OpenTransactions): SizedDecision | undefined {
  const { kind, payload, checks, vote, parts } = request;
  if (kind === "abort") return "abort";
  if (kind === "vote" || kind === "settle") {
    const writes = open.get(request.id)?.prepared.writes;
    if (writes === undefined) return undefined;
    const whole = wholeOf(request);
    if (whole?.kind === "aborted") return "abort";
    const stamps = (whole?.stamps ?? vote?.stamps ?? []).length;
    return fitted({ writes, stamps });
  }
  assert(payload.kind !== "none" || parts !== undefined, "express: what writes has a payload");
  const counted = kind === "prepare" ? { checks: checks.length } : {};
  const named = parts === undefined ? {} : { parts: parts.length };
  return fitted({ writes: request.writes.map(asInBlock), payload, ...counted, ...named });
}

/** As an oracle's: without sort keys where no block would hold it with them. */
function fitted<Sized extends SizedCommit | SizedVote>(sized: Sized): Sized {
  if (new ClientBlockSize(0).fits(sized)) return sized;
  return { ...sized, writes: sized.writes.map((write) => ({ ...write, sortKey: undefined })) };
}

/** Whose key happens to hash as its partition stands there as if it had no sort key. */
function asInBlock(write: WriteHashes): WriteHashes {
  return write.partition === write.key ? { ...write, sortKey: undefined } : write;
}
