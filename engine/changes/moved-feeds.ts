/**
 * Moves and removes the positions of consumers, for an operator. Both take the feed's next turn, so
 * they need not wait for whoever is at it: his next put is refused, and he begins again where the
 * feed was moved to. I11 (feed-hold.ts).
 *
 *     consumer   take 7 ── put 8: at 30 ───────────── put 9: refused ── take 10: from 10 on
 *     operator                          put 9: at 10
 */
import { InvalidRequestError, UnavailableError } from "../../core/errors.ts";
import type { FeedState, FeedStore } from "../../core/feed-port.ts";
import * as limits from "../../core/limits.ts";
import { ChangeFeed, type FeedParts } from "./changes.ts";
import { isHeld } from "./feed-hold.ts";
import { withSuccess } from "./feed-notes.ts";
import { parsePosition, positionText } from "./position.ts";
import type { ChangePosition, ChangesOptions, FeedMove, MovesFeeds, RemovedFeed } from "./types.ts";

export class MovedFeeds implements MovesFeeds {
  readonly #parts: FeedParts;
  readonly #feeds: FeedStore;

  constructor(parts: FeedParts, feeds: FeedStore) {
    this.#parts = parts;
    this.#feeds = feeds;
  }

  async move(name: string, { to, again }: Parameters<MovesFeeds["move"]>[1]): Promise<FeedMove> {
    await this.#there(name);
    const place = await this.#readable(to);
    const resetMs = this.#parts.core.ports.clock.nowMs();
    const before = await this.#put(name, (state) => ({
      ...state,
      ...{ position: positionText(place), holder: undefined, heldUntilMs: 0 },
      notes: state.notes && { ...withSuccess(state.notes), resetMs },
      // mutant: feed-moved-does-all-again
      round: (state.round ?? 0) + (again ? 1 : 0),
    }));
    return {
      to: place,
      before: before.position === undefined ? undefined : parsePosition(before.position),
      holder: this.#holderOf(before),
    };
  }

  #holderOf(state: FeedState): string | undefined {
    if (!isHeld(state, this.#parts.core.ports.clock.nowMs())) return undefined;
    // probe: operator-meets-held-feed
    return state.holder;
  }

  async remove(name: string): Promise<RemovedFeed> {
    await this.#there(name);
    let held: RemovedFeed = { kind: "removed" };
    await this.#put(name, (state) => {
      const { heldUntilMs, round = 0, isListed } = state;
      const holder = this.#holderOf(state);
      if (holder !== undefined) {
        held = { kind: "held", holder, heldUntilMs };
        return undefined;
      }
      // The turn stays, or one who is asleep would take the next feed of that name for his own.
      const over = { position: undefined, holder: undefined, heldUntilMs: 0, notes: undefined };
      // What the next one does once it has not done yet.
      return { ...over, turn: state.turn, isListed, isRemoved: true, round: round + 1 };
    });
    return held;
  }

  /** @throws InvalidRequestError where there is none of that name. */
  async #there(name: string): Promise<FeedState> {
    const state = await this.#feeds.read(name);
    if (state !== undefined && state.isRemoved !== true) return state;
    throw new InvalidRequestError("name", `there is no feed "${name}"`);
  }

  /**
   * Where a consumer would go on, having read what it would read first.
   * @throws ChangesExpiredError where that is no longer there; InvalidRequestError for a place in
   * the future.
   */
  async #readable(to: ChangesOptions["from"]): Promise<ChangePosition> {
    const all = {
      tables: undefined,
      before: false,
      mixed: "only-logged",
      signal: undefined,
    } as const;
    const feed = new ChangeFeed(
      { ...this.#parts, placeField: "to" },
      { ...all, from: to, pollMs: limits.changesPollMsDefault },
    );
    const looks = feed.looks();
    try {
      await looks.next();
      const { position } = feed;
      await looks.next();
      if (position === undefined) throw new UnavailableError("the feed has not begun");
      return position;
    } finally {
      await looks.return(undefined);
    }
  }

  /**
   * Takes the next turn with what becomes of the state, which may be changed meanwhile.
   * @param become undefined: it stays.
   * @returns what stood there.
   */
  async #put(
    name: string,
    become: (state: FeedState) => FeedState | undefined,
  ): Promise<FeedState> {
    for (let tries = 0; tries < limits.feedMoveTriesMax; tries += 1) {
      const before = await this.#there(name);
      const next = become(before);
      if (next === undefined) return before;
      const state = { ...next, turn: before.turn + 1 };
      if (await this.#feeds.put(name, state)) return before;
      const there = await this.#feeds.read(name);
      // A lost answer of its own, or somebody who has put the very same.
      const isOwn = there?.turn === state.turn && there.holder === undefined;
      if (isOwn && there.position === state.position && there.round === state.round) return before;
    }
    throw new UnavailableError(`the feed "${name}" is put again and again; try once more`);
  }
}
