/** What the blocks of a stretch of time have decided, in numbers. Pure. */
import { provisioningNumber } from "../core/block-order.ts";
import type {
  AbortReason,
  CommittedVerdict,
  LogBlock,
  TransactionId,
  Verdict,
} from "../core/types.ts";
import type { ReadBlock } from "./log-reading.ts";

export type Tally = {
  /** What the numbers are of; shorter than was asked for where there were too many blocks. */
  readonly spanMs: number;
  readonly blocks: number;
  readonly bytes: number;
  /** Blocks by who has made them. */
  readonly byOracle: number;
  readonly byClients: number;
  /** Clients that have made some. */
  readonly makers: number;
  readonly committed: Ways;
  /** Ids of those over several shards: each has a verdict in every one of its logs. */
  readonly partIds: ReadonlySet<TransactionId>;
  /** By their ids, for the same reason. */
  readonly aborted: ReadonlyMap<TransactionId, AbortReason["kind"]>;
  readonly prepared: number;
  readonly stale: number;
  readonly busy: number;
  readonly rejectedRecords: number;
};

/** Transactions by how they came to be committed. */
export type Ways = {
  /** By the stream and the oracle. */
  readonly stream: number;
  /** By a block of the client's own. */
  readonly express: number;
  /** By a vote: what touches mixed tables. */
  readonly vote: number;
  /** Parts of transactions over several shards. */
  readonly part: number;
};

export function wayOf(verdict: CommittedVerdict, isClients: boolean): keyof Ways {
  if (verdict.placed !== undefined) return "part";
  if (verdict.payload.kind === "prepared") return "vote";
  return isClients ? "express" : "stream";
}

/**
 * A block that opens or closes the stream, or splits or joins shards. Its verdict stands for no
 * transaction, and its times say nothing of when it was put: it is dated by the block before.
 */
export function isProvisioning({ maker }: LogBlock): boolean {
  return maker?.number === provisioningNumber;
}

/** How long the oldest of some blocks has stood there, as far as any of them tells. */
export function oldestAgeMs(reads: readonly ReadBlock[], nowMs: number): number {
  const dated = reads.find(({ block }) => block === undefined || !isProvisioning(block))?.block;
  if (dated === undefined) return 0;
  // A block that decides nothing is dated by its arrival alone.
  return Math.max(0, nowMs - Math.max(dated.throughTimestamp / 1_000, dated.arrivalMs));
}

export function tallied(
  reads: readonly ReadBlock[],
  { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
): Tally {
  const ways = { stream: 0, express: 0, vote: 0, part: 0 };
  const aborted = new Map<TransactionId, AbortReason["kind"]>();
  const others = { prepared: 0, stale: 0, busy: 0 };
  const partIds = new Set<TransactionId>();
  const makers = new Set<number>();
  const counts = { blocks: 0, bytes: 0, byOracle: 0, byClients: 0, rejectedRecords: 0 };
  let reachesBack = false;
  let oldestMs = nowMs;
  for (const { block, bytes, position } of reads) {
    if (block === undefined) continue;
    const madeMs = block.throughTimestamp / 1_000;
    if (madeMs < sinceMs) {
      reachesBack = true;
      continue;
    }
    oldestMs = Math.min(oldestMs, madeMs);
    if (position === 1) reachesBack = true;
    counts.blocks += 1;
    counts.bytes += bytes;
    counts.rejectedRecords += block.rejectedRecords;
    if (isProvisioning(block)) continue;
    if (block.maker === undefined) counts.byOracle += 1;
    else {
      counts.byClients += 1;
      makers.add(block.maker.number);
    }
    for (const verdict of block.verdicts) count(verdict, block.maker !== undefined);
  }
  const spanMs = reachesBack || counts.blocks === 0 ? nowMs - sinceMs : nowMs - oldestMs;
  return { ...counts, ...others, spanMs, makers: makers.size, committed: ways, partIds, aborted };

  function count(verdict: Verdict, isClients: boolean): void {
    switch (verdict.kind) {
      case "committed":
        ways[wayOf(verdict, isClients)] += 1;
        if (verdict.placed !== undefined) partIds.add(verdict.id);
        return;
      case "aborted":
        aborted.set(verdict.id, verdict.reason.kind);
        return;
      case "prepared":
      case "stale":
      case "busy":
        others[verdict.kind] += 1;
    }
  }
}

/** Of all shards together; a transaction over several counts once. */
export function transactionsIn(tallies: readonly Pick<Tally, "committed" | "partIds">[]): number {
  const parts = new Set(tallies.flatMap(({ partIds }) => [...partIds]));
  const others = tallies.map(
    ({ committed }) => committed.stream + committed.express + committed.vote,
  );
  return others.reduce((sum, each) => sum + each, parts.size);
}
