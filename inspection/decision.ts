/**
 * What the logs say of one transaction id, without asking anybody to decide it: each log is read
 * from the id's own timestamp on, since no decision on it lies below.
 */
import { InvalidRequestError, SnapshotTooOldError } from "../core/errors.ts";
import type {
  CommittedVerdict,
  Decision,
  LogPosition,
  PreparedVerdict,
  Timestamp,
  TransactionId,
} from "../core/types.ts";
import { isDecision } from "../core/decision.ts";
import { blocksAfter, positionAtOrBelow } from "../engine/log/log-search.ts";
import { madeElsewhere, refuseLocal } from "../engine/outcome.ts";
import { transactionIdTimestamp } from "../schemas/transaction-id.ts";
import type { Deployment, ShardLog } from "./deployment.ts";
import { newestBlocks } from "./log-reading.ts";

/** Of one log. */
export type InLog = {
  readonly log: ShardLog;
  readonly prepared: Placed<PreparedVerdict> | undefined;
  readonly decision: Placed<Decision> | undefined;
  /** Answers that decide nothing. */
  readonly sentAgain: number;
  /** The winner of a conflict, if its block is still there. */
  readonly winner: Placed<CommittedVerdict> | undefined;
  /** The pages that may be read were not enough: `searchedTo` is how far the log was read. */
  readonly isPartial: boolean;
  readonly searchedTo: Timestamp;
};

export type Placed<Verdict> = {
  readonly position: LogPosition;
  readonly isClients: boolean;
  readonly verdict: Verdict;
};

export type Known = {
  readonly id: TransactionId;
  /** The newest timestamp that its maker had seen. */
  readonly madeAfter: Timestamp;
  readonly logs: readonly InLog[];
};

/** What is known of the whole. `open`: prepared, and not decided. */
export type Standing = "committed" | "aborted" | "open" | "undecided" | "unknown";

export function standingOf({ logs }: Known): Standing {
  const decisions = logs.flatMap(({ decision }) => (decision === undefined ? [] : [decision]));
  // A log that aborts decides the whole; one that commits knows that all of them have it.
  if (decisions.some(({ verdict }) => verdict.kind === "committed")) return "committed";
  if (decisions.length > 0) return "aborted";
  if (logs.some(({ isPartial }) => isPartial)) return "unknown";
  return logs.some(({ prepared }) => prepared !== undefined) ? "open" : "undecided";
}

/**
 * @throws InvalidRequestError for an id that no log here can have. SnapshotTooOldError when the
 *   logs no longer reach back so far.
 */
export async function decisionOn(
  deployment: Deployment,
  id: TransactionId,
  pagesMax: number,
): Promise<Known> {
  refuseLocal(id);
  const madeAfter = transactionIdTimestamp(id);
  const ends = await Promise.all(deployment.logs.map((log) => endOf(deployment, log)));
  const newest = Math.max(...ends.map(({ timestamp }) => timestamp)) as Timestamp;
  if (madeAfter > newest) throw madeElsewhere(id, newest);
  const logs = await Promise.all(
    deployment.logs.map((log, at) => {
      const end = ends[at] ?? emptyEnd;
      return searched(deployment, log, { id, madeAfter, end, pagesMax });
    }),
  );
  return { id, madeAfter, logs };
}

type End = { readonly position: LogPosition; readonly timestamp: Timestamp };
const emptyEnd: End = { position: 0 as LogPosition, timestamp: 0 as Timestamp };

async function endOf({ ports }: Deployment, log: ShardLog): Promise<End> {
  const [newest] = await newestBlocks(ports.log, log, { blocksMax: 1 });
  if (newest === undefined) {
    const watermark = await ports.control.readWatermark(log.shard);
    return { ...emptyEnd, timestamp: watermark?.timestamp ?? emptyEnd.timestamp };
  }
  const { position, block, fault } = newest;
  if (block !== undefined) return { position, timestamp: block.throughTimestamp };
  throw new InvalidRequestError("log", `the log of shard ${log.number} cannot be read: ${fault}`);
}

type Search = {
  readonly id: TransactionId;
  readonly madeAfter: Timestamp;
  readonly end: End;
  readonly pagesMax: number;
};

async function searched(
  { ports }: Deployment,
  log: ShardLog,
  { id, madeAfter, end, pagesMax }: Search,
): Promise<InLog> {
  const range = { above: madeAfter, through: end.position, hashes: log.hashes, call: {} };
  let prepared: InLog["prepared"];
  let decision: InLog["decision"];
  let sentAgain = 0;
  let searchedTo = madeAfter;
  let after = await firstOf(ports.log, log, range);
  let pages = 0;
  while (after < end.position && decision === undefined && pages < pagesMax) {
    pages += 1;
    for (const block of await blocksAfter(ports.log, log.shard, { ...range, after })) {
      after = block.position;
      searchedTo = block.throughTimestamp;
      for (const verdict of block.verdicts) {
        if (verdict.id !== id || decision !== undefined) continue;
        const place = { position: block.position, isClients: block.maker !== undefined };
        if (isDecision(verdict)) decision = { ...place, verdict };
        else if (verdict.kind === "prepared") prepared = { ...place, verdict };
        else sentAgain += 1;
      }
    }
  }
  const isPartial = decision === undefined && after < end.position;
  const winner = decision === undefined ? undefined : await winnerOver(ports.log, log, decision);
  return { log, prepared, decision, sentAgain, winner, isPartial, searchedTo };
}

type SearchedLog = Deployment["ports"]["log"];
type Range = Parameters<typeof positionAtOrBelow>[2];

/** In a log that has let go of what lies so far back there may be no word of the id left. */
async function firstOf(store: SearchedLog, log: ShardLog, range: Range): Promise<LogPosition> {
  if (range.through === 0) return 0 as LogPosition;
  return positionAtOrBelow(store, log.shard, range);
}

/** The commit at the timestamp that a conflict names, in the same log. */
async function winnerOver(
  store: SearchedLog,
  log: ShardLog,
  { position, verdict }: Placed<Decision>,
): Promise<InLog["winner"]> {
  if (verdict.kind !== "aborted" || verdict.reason.kind !== "conflict") return undefined;
  const { conflictTimestamp } = verdict.reason;
  const above = (conflictTimestamp - 1) as Timestamp;
  const range = { above, through: position, hashes: log.hashes, call: {} };
  try {
    const after = await positionAtOrBelow(store, log.shard, range);
    if (after >= position) return undefined;
    const [block] = await blocksAfter(store, log.shard, { ...range, after });
    for (const each of block?.verdicts ?? []) {
      if (each.kind !== "committed" || each.timestamp !== conflictTimestamp) continue;
      const isClients = block?.maker !== undefined;
      return { position: (after + 1) as LogPosition, isClients, verdict: each };
    }
    return undefined;
  } catch (error) {
    if (error instanceof SnapshotTooOldError) return undefined;
    throw error;
  }
}
