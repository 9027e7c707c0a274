/**
 * How far replay has come with a log. There are two places: all commits up to `place` are in their
 * tables, and the watermark may stand wherever nothing below is open any more:
 *
 *     watermark ──── prepared, open ──── commits ──── place ──── the log's end
 *                    └ passed when the log has decided it
 *
 * A transaction counts where it is decided, so an open one holds up no commit, and is itself no
 * commit yet. But who begins at the watermark has to meet the decision of whatever was prepared
 * below it: so the watermark stays below what is open (I7).
 *
 * While a log is closing the watermark stays before the block that says so: who begins there learns
 * of it (end-log.ts).
 *
 * A process remembers both places from one invocation to the next, so that what lies between them
 * is read and looked at once. Another process begins at the watermark and repeats that much; what
 * is open for long is voted down (vote-down.ts).
 */
import { CorruptDataError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { OpenTransactions, type OpenTransaction } from "../../core/open-transactions.ts";
import type { CallOptions, Ports, StoredBlock } from "../../core/ports.ts";
import type {
  LogBlock,
  LogPosition,
  PreparedVerdict,
  ShardId,
  TransactionId,
  Watermark,
} from "../../core/types.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { placeBehind } from "./following.ts";
import type { LogReading } from "./log-ahead.ts";
import type { VotedDown } from "./voted.ts";

export class LogProgress {
  #watermark: Watermark;
  #place: Watermark;
  #open = new OpenTransactions();
  /** Whether it has folded a block: then it knows all that is open. */
  #hasBegun = false;
  /** The place before each block that has opened one which is open still. */
  readonly #before = new Map<LogPosition, Watermark>();
  /** Before the block by which the log is closing, until it has ended. */
  #closingFrom: Watermark | undefined;
  /** Votes against that are on their way, by the monotonic time at which each was sent. */
  readonly #asked = new Map<TransactionId, number>();

  constructor(watermark: Watermark) {
    this.#watermark = watermark;
    this.#place = watermark;
  }

  /** The stored watermark, as far as it is known. */
  get watermark(): Watermark {
    return this.#watermark;
  }

  /** Behind the newest block that is folded. */
  get place(): Watermark {
    return this.#place;
  }

  get open(): Pick<OpenTransactions, "all" | "get" | "oldest" | "size"> {
    return this.#open;
  }

  /** Whether the log is to end once nothing in it is open. */
  get isClosing(): boolean {
    return this.#closingFrom !== undefined;
  }

  /** Whether what is known is worth something to who finds the watermark there: then it goes on. */
  goesOnFrom(watermark: Watermark): boolean {
    const { position } = watermark;
    if (position < this.#watermark.position || position > this.#place.position) return false;
    this.#watermark = watermark;
    return true;
  }

  /**
   * The watermark may stand between a prepared verdict and its vote. Where the block behind it says
   * so, what was prepared is read: once, since whoever goes on from there remembers it. What cannot
   * be read is not known; a vote says by itself where its payload lies.
   * @param next the block that is folded next.
   */
  async learnOpen(
    { oldestOpen, position }: Pick<LogBlock, "oldestOpen" | "position">,
    { log, shard, hashes, call }: Omit<LogReading, "isTimeUp">,
  ): Promise<void> {
    if (this.#hasBegun || oldestOpen === undefined) return;
    const open = new OpenTransactions();
    let at = (oldestOpen - 1) as LogPosition;
    // What somebody names who lies must not cost the reading of a whole log.
    for (let pages = 0; pages < limits.openPagesMax; pages++) {
      const page = await log.readAfter(shard, at, call);
      for (const stored of page.blocks) {
        if (stored.position >= position) {
          open.mark();
          this.#open = open;
          return;
        }
        // With a hole in it, what was decided there would seem to be open for ever.
        const block = stored.position === at + 1 ? decodedOrNot(stored, hashes) : undefined;
        if (block === undefined) return;
        for (const verdict of block.verdicts) open.fold(verdict, block.position);
        at = block.position;
      }
      if (page.complete) return;
    }
  }

  /** The next block; what it commits is loaded. */
  fold(block: LogBlock): void {
    const { position, verdicts, handover } = block;
    this.#hasBegun = true;
    if (handover?.kind === "closing") this.#closingFrom ??= this.#place;
    if (handover?.kind === "ended") this.#closingFrom = undefined;
    for (const verdict of verdicts) {
      this.#open.fold(verdict, position);
      if (verdict.kind === "committed" || verdict.kind === "aborted") {
        this.#asked.delete(verdict.id);
      }
    }
    this.#open.mark();
    if (verdicts.some(({ kind }) => kind === "prepared")) this.#before.set(position, this.#place);
    this.#place = placeBehind(block, this.#place);
    const oldest = this.#open.oldest?.position ?? Number.POSITIVE_INFINITY;
    for (const opened of this.#before.keys()) {
      if (opened >= oldest) break;
      this.#before.delete(opened);
    }
  }

  /** What is open and the block votes down. It is folded after that. */
  votedDownBy({ verdicts }: LogBlock): readonly VotedDown[] {
    const here = new Map<TransactionId, PreparedVerdict>();
    const decided = new Set<TransactionId>();
    const found: VotedDown[] = [];
    for (const verdict of verdicts) {
      const { kind, id } = verdict;
      if (kind === "prepared") here.set(id, verdict);
      if (kind !== "committed" && kind !== "aborted") continue;
      const prepared = this.#open.get(id)?.prepared ?? here.get(id);
      const isOpen = prepared !== undefined && !decided.has(id);
      if (kind === "aborted" && isOpen && mayHaveFences(prepared)) {
        found.push({ prepared, through: verdict.timestamp });
      }
      // The first vote stands, whatever somebody writes behind it.
      decided.add(id);
    }
    return found;
  }

  /** Where the watermark may stand once all is installed; undefined: where it stands. */
  get passable(): Watermark | undefined {
    const { oldest } = this.#open;
    const settled = oldest === undefined ? this.#place : this.#before.get(oldest.position);
    const closing = this.#closingFrom;
    // mutant: watermark-passes-a-closing
    const isBeyond = closing !== undefined && settled !== undefined;
    const place = isBeyond && settled.position > closing.position ? closing : settled;
    return place !== undefined && place.position > this.#watermark.position ? place : undefined;
  }

  advanced(watermark: Watermark): void {
    this.#watermark = watermark;
  }

  /** Whether to ask for an abort: not while an answer may be on its way. */
  asks({ prepared: { id } }: OpenTransaction, nowMs: number, patienceMs: number): boolean {
    const askedMs = this.#asked.get(id);
    if (askedMs !== undefined && nowMs - askedMs < patienceMs) return false;
    this.#asked.set(id, nowMs);
    return true;
  }
}

function decodedOrNot(stored: StoredBlock, hashes: KeyHashes): LogBlock | undefined {
  try {
    return decodeBlock(stored, hashes);
  } catch (error) {
    if (error instanceof CorruptDataError) return undefined;
    throw error;
  }
}

/** Where the last invocation stopped, unless somebody else has gone further. */
export async function progressFrom(
  before: LogProgress | undefined,
  at: Pick<Ports, "control"> & { readonly shard: ShardId; readonly call: CallOptions },
): Promise<LogProgress> {
  const watermark = await at.control.readWatermark(at.shard, at.call);
  if (watermark === undefined) {
    throw new CorruptDataError(
      `shard ${at.shard} has no watermark; provision the deployment first`,
    );
  }
  return before?.goesOnFrom(watermark) === true ? before : new LogProgress(watermark);
}

/** Of parts only those of a transaction that votes: the others write no mixed tables. */
function mayHaveFences({ parts, payload }: PreparedVerdict): boolean {
  if (payload.kind === "none") return false;
  return parts === undefined || parts.some(({ stamps = 0 }) => stamps > 0);
}
