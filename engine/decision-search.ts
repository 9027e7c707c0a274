/**
 * What has become of one id so far: in the tail, and below it in the log.
 *
 * A request may be sent only for an id that has no decision up to its `checkedTo`: an oracle
 * remembers ids for ten seconds of stream time, and would decide an older one again (I3). The tail
 * alone does not say so. It forgets what lies below the watermark and the oldest read timestamp in
 * use, and it begins anew where blocks have expired that this process has not read:
 *
 *   log      … ──── id aborted 105 ──────────── 200 ─────────── 300
 *   tail                                        └ floor ──────── newest: knows nothing of 105
 *   search       └ undecidedTo 100 ── read ────▶
 */
import type { CallOptions, ClientPorts } from "../core/ports.ts";
import type { Timestamp, TransactionId, Verdict } from "../core/types.ts";
import { blocksAbove } from "./log-search.ts";
import type { ShardSession } from "./shard-session.ts";

export type Decision = Exclude<Verdict, { kind: "stale" }>;

/** `gap`: the tail does not reach down to where the search stands. */
export type Found = Decision | "gap" | undefined;

export class DecisionSearch {
  readonly #log: ClientPorts["log"];
  readonly #session: ShardSession;
  readonly #id: TransactionId;
  /** No decision on the id lies at or below it. */
  #undecidedTo: Timestamp;
  #found: Decision | undefined;

  constructor(
    log: ClientPorts["log"],
    session: ShardSession,
    subject: { readonly id: TransactionId; readonly undecidedTo: Timestamp },
  ) {
    this.#log = log;
    this.#session = session;
    this.#id = subject.id;
    this.#undecidedTo = subject.undecidedTo;
  }

  /** The decision up to the tail's end. What is undefined stays so in this turn only. */
  look(): Found {
    const { tail } = this.#session.follower;
    this.#found ??= asDecision(tail.decision(this.#id));
    if (this.#found !== undefined) return this.#found;
    if (this.#undecidedTo < tail.floor) return "gap";
    this.#undecidedTo = tail.newest;
    return undefined;
  }

  /**
   * Reads the log between where the search stands and the tail.
   * @throws SnapshotTooOldError when the log's retention has passed.
   */
  async fill(call: CallOptions): Promise<void> {
    // probe: decision-searched-below-the-tail
    const { floor, floorPosition } = this.#session.follower.tail;
    const { hashes } = this.#session;
    const range = { above: this.#undecidedTo, through: floorPosition, hashes, call };
    for await (const block of blocksAbove(this.#log, this.#session.shard, range)) {
      const ofId = block.verdicts.find(({ kind, id }) => kind !== "stale" && id === this.#id);
      this.#found = asDecision(ofId);
      if (this.#found !== undefined) return;
    }
    this.#undecidedTo = floor;
  }
}

function asDecision(verdict: Verdict | undefined): Decision | undefined {
  return verdict === undefined || verdict.kind === "stale" ? undefined : verdict;
}
