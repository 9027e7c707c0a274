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
 *
 * So the log is read upward from there before the tail is asked, and the first decision stands. The
 * order matters against hostile producers: an id can be read from the log, and once the oracle has
 * forgotten it, have another decision, which the tail shows, while the first one lies below.
 */
import type { CallOptions } from "../../core/ports.ts";
import { isDecision } from "../../core/decision.ts";
import type { Answer } from "../../core/types.ts";
import type { Found, SearchState } from "./log-searches.ts";
import type { ShardSession } from "../shard-session.ts";

export class DecisionSearch {
  readonly #session: ShardSession;
  readonly #state: SearchState;

  readonly #takesPrepared: boolean;

  /** @param takesPrepared whether that the id is prepared is an answer, too. */
  constructor(session: ShardSession, state: SearchState, takesPrepared = false) {
    this.#session = session;
    this.#state = state;
    this.#takesPrepared = takesPrepared;
  }

  /**
   * The first decision up to the tail's end. What is undefined stays so in this turn only. The tail
   * is asked only where nothing below it can come before its answer.
   */
  look(): Found {
    const state = this.#state;
    if (state.found !== undefined) return state.found;
    const { tail } = this.#session.follower;
    if (state.undecidedTo < tail.floor) return "gap";
    state.found = tail.decision(state.id);
    if (state.found !== undefined) return state.found;
    state.undecidedTo = tail.newest;
    state.position = tail.position;
    // What is open the tail knows, however far back it was prepared.
    return this.#takesPrepared ? tail.open.get(state.id)?.prepared : undefined;
  }

  /** What came of the request that was sent after a look had found nothing. */
  note(answer: Answer): void {
    if (isDecision(answer)) this.#state.found ??= answer;
  }

  /**
   * Reads the log between where the search stands and the tail.
   * @throws SnapshotTooOldError when the log's retention has passed.
   * @throws UnavailableError when there is more than so many pages of it.
   */
  fill(call: CallOptions, pagesMax: number): Promise<void> {
    // probe: decision-searched-below-the-tail
    return this.#session.searching((searches) =>
      searches.fill(this.#state, {
        gap: () => (this.look() === "gap" ? this.#session.follower.tail : undefined),
        pagesMax,
        call,
      }),
    );
  }
}
