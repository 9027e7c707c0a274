/**
 * The rules of certification (docs/protocol.md §3): what becomes of one request, as its log stands.
 * What commits or is prepared holds at the log's end, and crosses nothing that is open.
 *
 * Invariants: I4, I5. Paper: Centiman §3.1; Mediator §4.2 (what is prepared).
 */
import { assert } from "./assert.ts";
import type { PlannedCommit, SpilledPayload } from "./block-draft.ts";
import * as limits from "./limits.ts";
import type { OpenTransaction } from "./open-transactions.ts";
import type { OracleMemory } from "./oracle-memory.ts";
import {
  checkCount,
  checkWords,
  columnCode,
  tableFaults,
  writeCount,
  writeWords,
  type RequestBatch,
} from "./request-batch.ts";
import { isWholeRange, rangeBehind, type OwnRange } from "./shard-map.ts";
import { timestampZero, type LogBlock, type Timestamp, type TransactionId } from "./types.ts";
import { checksAt, hashesAt } from "./verdict-columns.ts";
import { outcomeCode } from "./verdict-kinds.ts";

export class Certification {
  readonly #memory: OracleMemory;
  #range: OwnRange;
  /** Of the last conflict: the number of the check, and the commit found there. */
  conflictCheck = 0;
  conflictTimestamp: Timestamp = timestampZero;
  /** What made the last one busy. */
  inTheWay = "" as TransactionId;

  /** @param range of the hashes of partitions that are this log's. */
  constructor(memory: OracleMemory, range: OwnRange) {
    this.#memory = memory;
    this.#range = range;
  }

  /** A block may have given a part of the range to another log, or all, or taken one's. */
  follow(block: Pick<LogBlock, "fork" | "handover">): void {
    this.#range = rangeBehind(block, this.#range);
  }

  /**
   * Rules 2 to 8, in their order. Gives the code of an outcome.
   * @param request undecided, and not open.
   */
  judge(
    requests: RequestBatch,
    request: number,
    {
      planned,
      payload,
    }: { readonly planned: PlannedCommit; readonly payload: SpilledPayload | undefined },
  ): number {
    const { writes, writesOf, parts } = planned;
    const checkedTo = requests.checkedTo[request] ?? 0;
    if (checkedTo > this.#memory.last) {
      // probe: oracle-checked-ahead
      return outcomeCode["checked-ahead"];
    }
    // mutant: certifies-beyond-its-memory
    if (checkedTo < this.#memory.floor) {
      // probe: oracle-stale-request
      return outcomeCode.stale;
    }
    if (requests.kinds[request] === columnCode.abort) {
      // probe: oracle-outcome-probed
      return outcomeCode.probed;
    }
    // What was not read for a decided id, which was forgotten since: only a forger's comes here.
    if (payload?.kind === "unreadable" || payload?.kind === "unread") {
      return outcomeCode["payload-unreadable"];
    }
    if (payload?.kind === "too-large") return outcomeCode["too-large"];
    if (isTooLarge(requests, request, planned)) return outcomeCode["too-large"];
    // mutant: writes-to-any-table
    const tableFault = writes.tableFaults[writesOf];
    if (tableFault === tableFaults.unknown) {
      // probe: oracle-table-unknown
      return outcomeCode["table-unknown"];
    }
    if (tableFault === tableFaults.differs) {
      // probe: oracle-table-differs
      return outcomeCode["table-differs"];
    }
    if (this.#writesElsewhere(planned)) return outcomeCode.elsewhere;
    // Nobody could ever say what became of it, and it would bar for good.
    const isOfNoShard = parts !== undefined && this.#range.mayName?.(parts) === false;
    if (isOfNoShard) return outcomeCode.elsewhere;
    if (this.#findConflict(requests, request, checkedTo)) return outcomeCode.conflict;
    const isPrepare = requests.kinds[request] === columnCode.prepare;
    const { open } = this.#memory;
    const inTheWay = open.size === 0 ? undefined : this.#findInTheWay(requests, request, planned);
    if (inTheWay !== undefined) {
      // probe: oracle-something-open-in-the-way
      this.inTheWay = inTheWay.prepared.id;
      return outcomeCode.busy;
    }
    return isPrepare ? outcomeCode.prepared : outcomeCode.committed;
  }

  /** Rule 6: whether a write lies outside of the shard, whose tail nobody there follows. */
  #writesElsewhere({ writes, writesOf }: PlannedCommit): boolean {
    const { from, to } = this.#range;
    if (isWholeRange(this.#range)) return false;
    const end = (writes.writeStart[writesOf + 1] ?? 0) * writeWords;
    for (let at = (writes.writeStart[writesOf] ?? 0) * writeWords; at < end; at += writeWords) {
      const partition = writes.writes[at + 2] ?? 0;
      if (partition < from || partition >= to) return true;
    }
    return false;
  }

  /** Rule 7: whether a check has a committed write in `(checkedTo, ts)`. */
  #findConflict(requests: RequestBatch, request: number, checkedTo: number): boolean {
    const { checks } = requests;
    const start = requests.checkStart[request] ?? 0;
    const end = requests.checkStart[request + 1] ?? 0;
    for (let check = start; check < end; check++) {
      const at = check * checkWords;
      const found = this.#memory.index.lookup(checks[at] ?? 0, checks[at + 1] ?? 0);
      // mutant: certifies-without-checks
      // mutant: checks-off-by-a-little
      if (found <= checkedTo) continue;
      assert(found <= this.#memory.last, "I4: the index knows nothing of the future");
      // probe: oracle-conflict
      this.conflictCheck = check - start;
      this.conflictTimestamp = found;
      return true;
    }
    return false;
  }

  /** Rule 8: what is open and reads or writes what the request writes, or writes what it reads. */
  #findInTheWay(
    requests: RequestBatch,
    request: number,
    { writes, writesOf }: PlannedCommit,
  ): OpenTransaction | undefined {
    const { open } = this.#memory;
    for (const check of checksAt(requests, request)) {
      const writer = open.writerOf(check);
      if (writer !== undefined) return writer;
    }
    const end = writes.writeStart[writesOf + 1] ?? 0;
    for (let write = writes.writeStart[writesOf] ?? 0; write < end; write++) {
      const found = open.inTheWayOf(hashesAt(writes, write));
      if (found !== undefined) return found;
    }
    if (requests.kinds[request] !== columnCode.prepare) return undefined;
    const hasRoom = open.hasRoomFor(checkCount(requests, request), writeCount(writes, writesOf));
    return hasRoom ? undefined : open.oldest;
  }
}

/**
 * By keys read plus keys written. A snapshot request checks what it writes: those are the same
 * keys.
 */
function isTooLarge(
  requests: RequestBatch,
  request: number,
  { writes, writesOf }: PlannedCommit,
): boolean {
  const checks = checkCount(requests, request);
  const written = writeCount(writes, writesOf);
  const isPrepare = requests.kinds[request] === columnCode.prepare;
  if (isPrepare && written > limits.preparedWritesMax) return true;
  const isSnapshot = requests.isolations[request] === columnCode.snapshot;
  const keys = isSnapshot ? Math.max(checks, written) : checks + written;
  return keys > limits.transactionKeysMax;
}
