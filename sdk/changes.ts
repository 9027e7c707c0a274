/** The change feed as applications have it: rows in place of items, and positions as text. */
import { InvalidRequestError } from "../core/errors.ts";
import { positionText } from "../engine/changes/position.ts";
import type {
  Changes as EngineChanges,
  ChangesOptions as EngineOptions,
} from "../engine/changes/types.ts";
import { publicError } from "../engine/public-error.ts";
import type { ClientEngine } from "../engine/types.ts";
import { changedRows } from "./changed-rows.ts";
import {
  changesChecks,
  checkHandler,
  engineConsumeOptions,
  placeOf,
  wishOf,
  type ChangesOptions,
  type ConsumeOptions,
} from "./changes-options.ts";
import { checkOptions } from "./check-options.ts";
import type { Handles } from "./handles.ts";
import type { MarshallOptions } from "./marshall.ts";
import type { Numbers } from "./numbers.ts";
import type { ChangedRows, ChangeHandler, Changes, FeedContext } from "./row-changes.ts";

type Parts = {
  readonly start: (options: EngineOptions) => Promise<EngineChanges>;
  readonly marshall: MarshallOptions;
  readonly numbers: Numbers;
};

export class ChangeIterable implements Changes {
  readonly #parts: Parts;
  readonly #options: EngineOptions;
  #feed: EngineChanges | undefined;
  #isIterated = false;

  /** @throws InvalidRequestError naming the option that is unknown or wrong. */
  constructor(options: ChangesOptions, parts: Parts) {
    checkOptions("", options, changesChecks);
    this.#parts = parts;
    this.#options = { ...wishOf(options), from: placeOf(options.from ?? "now") ?? "now" };
  }

  get position(): string | undefined {
    const position = this.#feed?.position;
    return position && positionText(position);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChangedRows> {
    if (this.#isIterated) {
      throw new InvalidRequestError(
        "changes",
        "a feed is iterated once: call `changes` again, from its `position`",
      );
    }
    this.#isIterated = true;
    try {
      this.#feed = await this.#parts.start(this.#options);
      for await (const changes of this.#feed) yield changedRows(changes, this.#parts);
    } catch (error) {
      throw publicError(error);
    }
  }
}

type ConsumerParts = {
  readonly begin: () => Promise<{
    readonly engine: Pick<ClientEngine, "consume">;
    readonly handles: Pick<Handles, "outside">;
  }>;
  readonly once: (
    idempotencyKey: string,
    body: Parameters<FeedContext["once"]>[0],
  ) => ReturnType<FeedContext["once"]>;
  readonly marshall: MarshallOptions;
  readonly numbers: Numbers;
};

/** @throws as `Client.consume`. */
export async function consume(
  options: ConsumeOptions,
  handle: ChangeHandler,
  parts: ConsumerParts,
): Promise<void> {
  const wish = engineConsumeOptions(options);
  checkHandler(handle);
  const { engine, handles } = await parts.begin();
  await engine.consume(wish, (changes, { round }) => {
    const change = changedRows(changes, parts);
    // mutant: feed-once-of-all-changes
    const idempotencyKey = `feed:${inRound(wish.name, round)}:${change.position}`;
    const once = onlyOnce((body) => parts.once(idempotencyKey, body));
    // It goes on for longer than a body by which it was begun, and its position is kept whatever
    // becomes of that.
    return handles.outside(() =>
      awaitingOnce(once, (awaited) => handle(change, { once: awaited } as FeedContext)),
    );
  });
}

/** The first round has the keys that it always had. */
function inRound(name: string, round: number): string {
  return round === 0 ? name : `${name}:${round}`;
}

type Once = (body: Parameters<FeedContext["once"]>[0]) => ReturnType<FeedContext["once"]>;

/**
 * One that forgets an `await` would otherwise have handled a change whose transaction may yet fail,
 * and which then never comes again.
 * @throws what the handler throws; InvalidRequestError where it returns before its `once` has.
 */
async function awaitingOnce(once: Once, handle: (once: Once) => Promise<void>): Promise<void> {
  const underWay = new Set<Promise<unknown>>();
  let isOver = false;
  const awaited: Once = (body) => {
    if (isOver) return Promise.reject(lateOnce());
    const made = once(body).finally(() => underWay.delete(made));
    underWay.add(made);
    // Also where nobody waits for it: the handler's own error says so.
    made.catch(() => undefined);
    return made;
  };
  try {
    await handle(awaited);
    if (underWay.size > 0) throw lateOnce();
  } finally {
    isOver = true;
    await Promise.allSettled(underWay);
  }
}

function lateOnce(): InvalidRequestError {
  return new InvalidRequestError("once", "the handler ended before its `once` had: `await` it");
}

/** A second body would find the entry of the first, and never run. A failed one may come again. */
function onlyOnce(transact: Once): Once {
  let isUsed = false;
  return async (body) => {
    if (isUsed) {
      throw new InvalidRequestError(
        "once",
        "a change has one transaction of `once`: do in it all that is to be done once",
      );
    }
    isUsed = true;
    try {
      return await transact(body);
    } catch (error) {
      isUsed = false;
      throw error;
    }
  };
}
