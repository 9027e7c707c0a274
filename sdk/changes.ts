/** The change feed as applications have it: rows in place of items, and positions as text. */
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { Timestamp } from "../core/types.ts";
import type {
  Changes as EngineChanges,
  ChangesOptions as EngineOptions,
  ConsumeOptions as EngineConsumeOptions,
} from "../engine/changes/types.ts";
import { parsePosition, positionText } from "../engine/changes/position.ts";
import type { ClientEngine } from "../engine/types.ts";
import { publicError } from "../engine/public-error.ts";
import {
  aBoolean,
  aSignal,
  type Check,
  checkOptions,
  type Checks,
  integerIn,
  oneOf,
} from "./check-options.ts";
import { changedRows } from "./changed-rows.ts";
import { momentMicros, type Moment } from "./call-options.ts";
import type { MarshallOptions } from "./marshall.ts";
import type { Numbers } from "./numbers.ts";
import type { ChangedRows, ChangeHandler, Changes, FeedContext } from "./row-changes.ts";
import type { AnyTable } from "./table.ts";

export type ChangesOptions = {
  /**
   * Where to begin: behind a position that the feed has given, at a moment, with what is committed
   * from now on, or with the oldest that log and stream still have. Default `"now"`.
   */
  readonly from?: Moment | string;
  /** Only changes of these tables. Default: of all. */
  readonly tables?: readonly AnyTable[];
  /**
   * Whether rows say what stood there before, which takes a read of history for each. Of a table
   * without history nobody knows: named in `tables`, it is refused. Default false.
   */
  readonly before?: boolean;
  /** Milliseconds between two looks at a log that showed nothing new. Default 250. */
  readonly pollMs?: number;
  /** Ends the feed: the iterator throws the signal's reason. */
  readonly signal?: AbortSignal;
};

/** A named consumer, whose position the deployment keeps. */
export type ConsumeOptions = Omit<ChangesOptions, "from"> & {
  /** Of the consumer: 1 to 64 letters, digits, dots, dashes and underscores. */
  readonly name: string;
  /** Where it begins for the first time, as in `changes`. Default `"now"`. */
  readonly first?: Moment | string;
  /**
   * `"caught-up"` ends it once all is handled that there is, and at once if another process is at
   * it; `"stopped"` with its signal alone. Default `"stopped"`.
   */
  readonly until?: "stopped" | "caught-up";
};

const aPlace: Check<NonNullable<ChangesOptions["from"]>> = (value) =>
  placeOf(value) === undefined
    ? '"now", "oldest", a date, a commit timestamp, or a position that the feed has given'
    : undefined;

const someTables: Check<readonly AnyTable[]> = (value) =>
  Array.isArray(value) && value.length > 0 && value.every(isTable)
    ? undefined
    : "an array of tables, made by defineTable, and not empty";

const aFeedName: Check<string> = (value) =>
  typeof value === "string" && /^[\w.-]+$/.test(value) && value.length <= limits.feedNameLengthMax
    ? undefined
    : `1 to ${limits.feedNameLengthMax} letters, digits, dots, dashes and underscores`;

const wishChecks = {
  tables: someTables,
  before: aBoolean,
  pollMs: integerIn({ min: 1, max: limits.changesPollMsMax }),
  signal: aSignal,
};

export const changesChecks = { from: aPlace, ...wishChecks } satisfies Checks<ChangesOptions>;

export const consumeChecks = {
  name: aFeedName,
  first: aPlace,
  until: oneOf("stopped", "caught-up"),
  ...wishChecks,
} satisfies Checks<ConsumeOptions>;

/** @throws InvalidRequestError naming the option that is missing, unknown or wrong. */
function engineConsumeOptions(options: ConsumeOptions): EngineConsumeOptions {
  checkOptions("", options, consumeChecks);
  const { name, first = "now", until = "stopped" } = options as Partial<ConsumeOptions>;
  if (name === undefined) throw new InvalidRequestError("name", "a consumer needs a `name`");
  return { ...wishOf(options), name, until, first: placeOf(first) ?? "now" };
}

function wishOf(options: Omit<ChangesOptions, "from">): Omit<EngineOptions, "from"> {
  return {
    tables: options.tables?.map(({ name }) => name),
    before: options.before ?? false,
    pollMs: options.pollMs ?? limits.changesPollMsDefault,
    signal: options.signal,
  };
}

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

function isTable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "name" in value && "keyNames" in value;
}

/** Undefined for what is none. */
function placeOf(from: unknown): EngineOptions["from"] | undefined {
  if (from === "now" || from === "oldest") return from;
  if (typeof from !== "string") {
    const micros = momentMicros(from);
    // What is committed at that very timestamp is still to come.
    return micros && { timestamp: (micros - 1) as Timestamp };
  }
  return parsePosition(from);
}

type ConsumerParts = {
  readonly engine: () => Promise<Pick<ClientEngine, "consume">>;
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
  if (typeof handle !== "function") {
    throw new InvalidRequestError("handle", "the last argument must be an async function");
  }
  const engine = await parts.engine();
  await engine.consume(wish, (changes) => {
    const change = changedRows(changes, parts);
    // mutant: feed-once-of-all-changes
    const idempotencyKey = `feed:${wish.name}:${change.position}`;
    const once = onlyOnce((body) => parts.once(idempotencyKey, body));
    return handle(change, { once } as FeedContext);
  });
}

type Once = (body: Parameters<FeedContext["once"]>[0]) => ReturnType<FeedContext["once"]>;

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
