/**
 * The change feed: every committed transaction once, whole, in commit order, from a position on;
 * a BASE transaction is one, and counts where it is released. It reads the log and the payloads as
 * replay does, holds nothing that others need, and writes nothing but for a request that brings up
 * a quiet log (merged-logs.ts).
 */
import { ChangesExpiredError, SnapshotTooOldError } from "../../core/errors.ts";
import type { Item, PayloadTable, Timestamp } from "../../core/types.ts";
import type { StepRecord } from "../base/record.ts";
import { recordsOf } from "../base/records.ts";
import type { Call } from "../call.ts";
import type { EngineCore } from "../engine-core.ts";
import { PayloadGoneError } from "../log/payload-loader.ts";
import type { Reader, SnapshotOptions } from "../types.ts";
import { nowIn, oldestIn } from "./change-begin.ts";
import { baseSigns } from "./base-signs.ts";
import { checkPlace, checkTables, checkTablesAnew } from "./check-begin.ts";
import { CommitWrites, type Write, type Writes } from "./commit-writes.ts";
import { mayHaveWritten, stepInLogs, stepsBefore, type RecordedBase } from "./earlier-steps.ts";
import { HeldSteps, type HeldStep } from "./held-steps.ts";
import { inFeedOrder, MergedLogs, type MergedCommit } from "./merged-logs.ts";
import type {
  ChangedItem,
  ChangePosition,
  Changes,
  ChangesOptions,
  CommittedChanges,
} from "./types.ts";

export type TakeSnapshot = <Result>(
  options: SnapshotOptions,
  body: (snapshot: Reader) => Promise<Result>,
) => Promise<{ readonly result: Result }>;

/** What a feed reads by. */
export type FeedParts = {
  readonly core: EngineCore;
  readonly snapshot: TakeSnapshot;
  readonly recordedBase: RecordedBase;
  /** What the caller has named the place by where it begins, for errors. Default `from`. */
  readonly placeField?: string;
};

export class ChangeFeed implements Changes {
  readonly #core: EngineCore;
  readonly #snapshot: TakeSnapshot;
  readonly #recordedBase: RecordedBase;
  readonly #options: ChangesOptions;
  readonly #placeField: string;
  readonly #writes: CommitWrites;
  readonly #held = new HeldSteps();
  #position: ChangePosition | undefined;

  constructor(
    { core, snapshot, recordedBase, placeField = "from" }: FeedParts,
    options: ChangesOptions,
  ) {
    this.#core = core;
    this.#snapshot = snapshot;
    this.#recordedBase = recordedBase;
    this.#options = options;
    this.#placeField = placeField;
    this.#writes = new CommitWrites(core, options.tables);
    if (typeof options.from !== "string") this.#position = options.from;
  }

  get position(): ChangePosition | undefined {
    return this.#position;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<CommittedChanges> {
    for await (const look of this.looks()) if (typeof look === "object") yield look;
  }

  /**
   * What is given; `passed` each time when the position has moved on without, from the beginning
   * on; `caught-up` each time when all has been given that there is. Whoever keeps positions needs
   * to hear of them where nothing comes that was asked for: others may commit all the time.
   */
  async *looks(): AsyncGenerator<CommittedChanges | "passed" | "caught-up"> {
    const { pollMs, signal } = this.#options;
    const { clock } = this.#core.ports;
    const logs = await this.#run((call) => this.#begin(call));
    // mutant: feed-begins-at-a-later-now
    yield "passed";
    for (;;) {
      const found = await this.#run((call) => this.#next(logs, call));
      this.#writes.readOn();
      for (const commit of found) {
        const { id, timestamp } = commit;
        const { writes, bases } = await this.#given(commit);
        const items = await this.#before([...writes.values()], timestamp);
        this.#position = { timestamp, id };
        const change = { position: this.#position, id, timestamp, bases, items };
        yield items.length > 0 ? change : "passed";
      }
      this.#position = logs.position;
      const goesOn = found.length > 0 || logs.hasMore;
      yield goesOn || logs.holds ? "passed" : "caught-up";
      if (!goesOn) await clock.sleep(pollMs, signal);
    }
  }

  #run<T>(task: (call: Call) => Promise<T>): Promise<T> {
    const { signal } = this.#options;
    return this.#core.run(signal === undefined ? {} : { signal }, task);
  }

  async #begin(call: Call): Promise<MergedLogs> {
    const { ports } = this.#core;
    const { sessions } = await this.#core.services(call);
    await checkTablesAnew(this.#core.registry, this.#options, call);
    const { from } = this.#options;
    const field = this.#placeField;
    if (typeof from !== "string") await checkPlace(from, { ports, sessions, call, field });
    const after = await (async (): Promise<ChangePosition> => {
      if (from === "now") return { timestamp: await nowIn(ports, sessions, call) };
      if (from === "oldest") return { timestamp: await oldestIn(ports, sessions, call) };
      return from;
    })();
    this.#position = after;
    return this.#readable(() => MergedLogs.begin(ports, sessions, { after, call }), call);
  }

  /** @throws InvalidRequestError for a table that it cannot follow any more. */
  async #next(logs: MergedLogs, call: Call): Promise<readonly MergedCommit[]> {
    if (this.#options.tables !== undefined) {
      const { registry } = await this.#core.services(call);
      checkTables(registry, this.#options);
    }
    return this.#readable(() => logs.next(call), call);
  }

  /** @throws ChangesExpiredError where a log no longer reaches so far; what the task throws. */
  async #readable<T>(read: () => Promise<T>, call: Call): Promise<T> {
    try {
      return await read();
    } catch (error) {
      const isGone = error instanceof SnapshotTooOldError || error instanceof PayloadGoneError;
      throw isGone ? await this.#expired(call, error) : error;
    }
  }

  /** What all see from the commit on: what it has written, and those that it releases. */
  async #given(
    commit: MergedCommit,
  ): Promise<{ readonly writes: Writes; readonly bases: readonly string[] }> {
    const { items, records } = await this.#run((call) =>
      this.#readable(() => this.#writes.of(commit, call), call),
    );
    const { step, released } = baseSigns(records);
    const { id, timestamp } = commit;
    // mutant: feed-gives-open-steps
    if (step === undefined && released.length === 0) return { writes: items, bases: [] };
    if (step !== undefined)
      this.#held.add(step.base, { ...step, at: { timestamp, id }, writes: items });
    const steps: HeldStep[] = [];
    for (const base of released) {
      steps.push(...(await this.#behind(timestamp, () => this.#stepsOf(base))));
    }
    steps.sort((a, b) => inFeedOrder(a.at, b.at));
    return { writes: new Map(steps.flatMap(({ writes }) => [...writes])), bases: released };
  }

  /** Those of a released BASE transaction, as far as they have written what is asked for. */
  async #stepsOf(base: string): Promise<readonly HeldStep[]> {
    const held = this.#held.take(base);
    const { tables } = this.#options;
    const { registry } = this.#core;
    // A feed may have begun weeks before a table that it is asked for took BASE transactions.
    await this.#run((call) => this.#core.services(call));
    const isNothingAsked = tables?.every((name) => registry.find(name)?.baseSince === undefined);
    const [first] = held;
    // mutant: feed-forgets-earlier-steps
    if (first?.number === 1 || isNothingAsked === true) return held;
    const recorded = await this.#recordedBase(base, this.#options);
    const earlier = recorded && stepsBefore(recorded, first?.number ?? Infinity);
    if (earlier === undefined) throw await this.#run((call) => this.#expired(call, undefined));
    const missing = earlier.filter((step) => mayHaveWritten(step, tables));
    const found: HeldStep[] = [];
    for (const step of missing) found.push(await this.#run((call) => this.#step(base, step, call)));
    return [...found, ...held];
  }

  /** Where steps are no longer to be had, what comes behind the release is. */
  async #behind<T>(release: Timestamp, task: () => Promise<T>): Promise<T> {
    try {
      return await task();
    } catch (error) {
      if (!(error instanceof ChangesExpiredError) || error.oldest > release) throw error;
      throw new ChangesExpiredError(release, { cause: error });
    }
  }

  async #step(base: string, step: StepRecord, call: Call): Promise<HeldStep> {
    const { ports } = this.#core;
    const { sessions } = await this.#core.services(call);
    const at = { ports, sessions, writes: this.#writes, records: recordsOf(this.#core) };
    return this.#readable(() => stepInLogs(at, base, { step, call }), call);
  }

  async #expired(call: Call, cause: Error | undefined): Promise<ChangesExpiredError> {
    const { sessions } = await this.#core.services(call);
    const oldest = await oldestIn(this.#core.ports, sessions, call);
    return new ChangesExpiredError(oldest, { cause });
  }

  async #before(writes: readonly Write[], timestamp: Timestamp): Promise<readonly ChangedItem[]> {
    const asked = this.#options.before ? writes.filter(({ table }) => this.#hasPast(table)) : [];
    const found = new Map<Write, Item | undefined>();
    if (asked.length > 0) {
      const before = await this.#stoodAt((timestamp - 1) as Timestamp, asked);
      for (const [i, write] of asked.entries()) found.set(write, before[i]);
    }
    return writes.map((write) => {
      const { table, key, item } = write;
      return { table: table.name, key, after: item, before: found.get(write) };
    });
  }

  /** Also of what was written before the table had it: asking what stood then is refused. */
  #hasPast({ name, history }: PayloadTable): boolean {
    return history || this.#core.registry.find(name)?.history === true;
  }

  /** @throws SnapshotTooOldError, which no other try mends, where that is not kept any more. */
  async #stoodAt(
    asOf: Timestamp,
    writes: readonly Write[],
  ): Promise<readonly (Item | undefined)[]> {
    const keys = writes.map(({ table, key }) => ({ table: table.name, key }));
    const { signal } = this.#options;
    const options = signal === undefined ? { asOf } : { asOf, signal };
    try {
      const { result } = await this.#snapshot(options, (reader) => reader.batchGet(keys));
      return result;
    } catch (error) {
      if (!(error instanceof SnapshotTooOldError) || error.retryable) throw error;
      throw new SnapshotTooOldError(
        `nobody knows any more what stood before the change at ${asOf + 1}: ${error.message}; ` +
          "leave `before` out, or begin at a later position",
        { retryable: false },
      );
    }
  }
}
