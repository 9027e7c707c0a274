/**
 * The records of BASE transactions: each change is one transaction over the records table, so that
 * of two processes that are at the same BASE transaction each step, and its end, is one's.
 */
import { assert } from "../../core/assert.ts";
import { CommitUnknownError, CorruptDataError, InvalidRequestError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue, TableDescription } from "../../core/types.ts";
import type { Guard, GuardOf, RunsTransactions } from "../attempts/guard.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";
import { waitBackoff } from "../backoff.ts";
import type { EngineCore } from "../engine-core.ts";
import type { BaseStepName, BodyTransaction } from "../types.ts";
import type { Signalled } from "./base-name.ts";
import {
  readingOnce,
  stateItem,
  stateKey,
  statesOf,
  toState,
  type BaseState,
} from "./base-state.ts";
import { cleanUp } from "./clean-up.ts";
import { failedHead, type HandlerFailure } from "./failures.ts";
import { HandlerChangedError } from "./handler-changed.ts";
import { ReservedError } from "./held.ts";
import { LockReader } from "./lock-reader.ts";
import { assertListable, entryOf, openKey, releasedEntryItem, type Listed } from "./open-list.ts";
import {
  headItem,
  isWaiting,
  notFailing,
  recordedIn,
  recordPartition,
  type BaseBeginning,
  type BaseHead,
  type LookedAt,
  type StepRecord,
} from "./record.ts";
import { allIn, headIn, recordsOf } from "./records.ts";
import { closureOf, releasedItem, type Closure } from "./release.ts";
import { BaseRequests } from "./requests.ts";
import { Patience, SeenReservations } from "./reservations.ts";
import { unreserved, writeLockItem, type LockPlace } from "./saline-locks.ts";
import { StepAttempt, type MadeStep, type StepTask } from "./step-attempt.ts";
import { assertKept } from "./step-end.ts";
import { isRefusedByStore } from "./step-errors.ts";
import type { Heed } from "./step-transaction.ts";
import { listedIn, lookedAt, lookedAtInTime, type Looked } from "./unreadable.ts";

export type Recorded = { readonly head: BaseHead; readonly steps: readonly StepRecord[] };

export type StepDone =
  | ({ readonly kind: "done" } & MadeStep)
  | { readonly kind: "overtaken"; readonly recorded: Recorded };

export type Unreleased = {
  readonly left: readonly string[];
  /** Of those. */
  readonly releasable: readonly string[];
};

export type BaseEnd = {
  readonly value: AttributeValue;
  readonly beginning: BaseBeginning;
  readonly steps: number;
};

/** How long one of its own transactions may take. */
const deadlineMs = 20_000;
const reservedBackoff = { baseMs: 20, capMs: 200 };

export class BaseStore {
  readonly #core: EngineCore;
  readonly #runner: RunsTransactions;
  readonly #seen: SeenReservations;
  readonly requests: BaseRequests;

  constructor(core: EngineCore, runner: RunsTransactions) {
    this.#core = core;
    this.#runner = runner;
    this.#seen = new SeenReservations(core.ports.clock);
    this.requests = new BaseRequests((options, task) => this.#raw(options, task), core.ports.clock);
  }

  get ports(): EngineCore["ports"] {
    return this.#core.ports;
  }

  get stepsHere(): Map<string, string> {
    return this.#core.stepsHere;
  }

  /** @throws InvalidRequestError where no table takes BASE transactions. */
  records(): TableDescription {
    return recordsOf(this.#core);
  }

  /** @throws what its body throws; UnavailableError, ConflictError: it is not committed. */
  async step(base: string, task: StepTask): Promise<StepDone> {
    const { clock, random } = this.ports;
    // Who holds items already may be what the others wait for.
    const patience = new Patience(clock);
    const heed = task.number === 1 ? { seen: this.#seen, patience } : undefined;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#step(base, { ...task, heed });
      } catch (error) {
        if (!(error instanceof ReservedError)) throw error;
        const wait = { backoff: reservedBackoff, attempt, signal: task.signal };
        await waitBackoff({ clock, random }, wait);
      }
    }
  }

  async #step(
    base: string,
    task: StepTask & { readonly heed: Heed | undefined },
  ): Promise<StepDone> {
    let newest: StepAttempt | undefined;
    const guard: GuardOf = (services, context) => {
      const parts = { context, services, records: this.records(), heed: task.heed };
      newest = new StepAttempt(base, task, parts);
      return newest;
    };
    const step = { base, name: task.name };
    const { made } = await this.#transact({ ...task, step }, guard, async () => {
      assert(newest !== undefined, "base: a step has a guard");
      await newest.run();
      return newest;
    });
    if (made !== undefined) return { kind: "done", ...made };
    const recorded = await this.load(base, task);
    if (recorded !== undefined) return { kind: "overtaken", recorded };
    throw new CorruptDataError(`BASE transaction ${base} was begun, and its record is gone`);
  }

  /** Its last commit: what it returns; and its release, if nothing that it depends on is open. */
  async end(base: string, { value, steps, beginning }: BaseEnd): Promise<void> {
    assertKept(`BASE transaction "${beginning.name}" returned`, value);
    await this.#raw({}, async (context, records) => {
      const head = await headIn(context, records, base);
      if (head === undefined || head.steps === 0) {
        throw new InvalidRequestError(
          "handler",
          `the handler "${beginning.name}" returned without a step: a BASE transaction begins ` +
            "with its first one",
        );
      }
      if (head.phase === "ended") return;
      if (head.steps !== steps) {
        throw new HandlerChangedError(
          `the handler "${beginning.name}" returned after ${steps} steps, and has made ` +
            `${head.steps} elsewhere: it does not take the same way again`,
        );
      }
      const lastMs = this.ports.clock.nowMs();
      const ended = { ...head, phase: "ended", result: value, lastMs } as const;
      context.putInto(records, headItem(base, ended));
      const state: BaseState = { base, phase: "ended", dependsOn: head.dependsOn };
      const closure = await releasedOrWaiting(context, { records, state, nowMs: lastMs });
      if (closure.kind === "ended") return;
      // probe: base-release-waits
      context.putInto(records, stateItem({ ...state, dependsOn: closure.dependsOn }));
      // Somebody has parked it, and it was through all the same: a runner releases it.
      if (head.phase === "parked") context.putInto(records, entryOf(base, ended));
    });
  }

  /**
   * Whether it is known to be released by now. A commit that nobody has answered is none: its id
   * would tell a caller of another transaction than his own, and the next look finds it.
   */
  async release(base: string, options: Signalled = {}): Promise<boolean> {
    try {
      return await this.#raw(options, async (context, records) => {
        const state = toState(base, await context.get(records.name, stateKey(base)));
        if (state.phase !== "ended") return state.phase === "released";
        const nowMs = this.ports.clock.nowMs();
        const closure = await releasedOrWaiting(context, { records, state, nowMs });
        return closure.kind === "ended";
      });
    } catch (error) {
      if (error instanceof CommitUnknownError) return false;
      throw error;
    }
  }

  /** As `release`, for who only looks: he may have no right to write, and others release it. */
  async seesReleased(base: string, options: Signalled = {}): Promise<boolean> {
    try {
      return await this.release(base, options);
    } catch (error) {
      if (isRefusedByStore(error)) return false;
      throw error;
    }
  }

  /** What is recorded; undefined: it has not begun, or its record has expired. */
  load(base: string, options: Signalled = {}): Promise<Recorded | undefined> {
    return this.#raw(options, async (context, records) => {
      return recordedIn(await allIn(context, records, { partition: recordPartition(base) }));
    });
  }

  /** All that are not released, in no particular order; and those that are to be cleaned up. */
  open(options: Signalled = {}): Promise<Listed> {
    return this.#raw(options, (context, records) =>
      listedIn((range) => allIn(context, records, range)),
    );
  }

  /** @throws CorruptDataError where its item in the list is strange, so that no runner finds it. */
  assertListed(base: string, options: Signalled = {}): Promise<void> {
    return this.#raw(options, async (context, records) => {
      const item = await context.get(records.name, openKey(base));
      if (item !== undefined) assertListable(item);
    });
  }

  /** Whole ones, of a few. @throws CorruptDataError where one of them is strange. */
  async heads(
    bases: readonly string[],
    options: Signalled = {},
  ): Promise<ReadonlyMap<string, BaseHead>> {
    const all = await this.#someHeads(bases, options);
    return new Map(
      all.map((each) => {
        if ("cause" in each) throw each.cause;
        return [each.base, each.head];
      }),
    );
  }

  /**
   * Heads of any number; of those that are gone, nothing; a strange one hides no other. A plain
   * read would miss what is not installed.
   */
  lookAt(
    bases: readonly string[],
    { isOver, ...options }: Signalled & { readonly isOver?: () => boolean } = {},
  ): Promise<Looked> {
    return lookedAtInTime(bases, (some) => this.#someHeads(some, options), isOver);
  }

  #someHeads(bases: readonly string[], options: Signalled): Promise<readonly LookedAt[]> {
    return this.#raw(options, (context, records) =>
      lookedAt(bases, (keys) =>
        context.batchGet(keys.map((key) => ({ table: records.name, key }))),
      ),
    );
  }

  /**
   * Those that are not released, at one moment, and which of them may be by now: of many that wait
   * for one nobody has to ask for each.
   */
  unreleased(bases: readonly string[], options: Signalled = {}): Promise<Unreleased> {
    return this.#raw(options, async (context, records) => {
      const readState = readingOnce(statesOf(context, records));
      const states = await Promise.all(bases.map(readState));
      const left = states.filter(({ phase }) => phase !== "released");
      const releasable: string[] = [];
      for (const state of left) {
        if (state.phase !== "ended") continue;
        const closure = await closureOf(state, readState);
        if (closure.kind === "ended") releasable.push(state.base);
      }
      return { left: left.map(({ base }) => base), releasable };
    });
  }

  /**
   * Takes over what nobody has been at for long, as it was seen; undefined: somebody has been
   * since, or it needs nobody.
   */
  claim(base: string, seen: Pick<BaseHead, "lastMs" | "steps">): Promise<Recorded | undefined> {
    return this.#changeHead(base, {}, (head, nowMs) => {
      const isOpen = head.phase === "running" || head.phase === "requested";
      const isAsSeen = head.lastMs === seen.lastMs && head.steps === seen.steps;
      // Of two that have seen it so one claims it, also where both clocks stand still.
      const lastMs = nowMs === seen.lastMs ? nowMs + 1 : nowMs;
      // From now on somebody is at it.
      return isOpen && isAsSeen ? { ...head, lastMs, restMs: undefined } : undefined;
    });
  }

  /** Notes that its handler has failed: then it rests, or is parked. */
  fail(
    base: string,
    { hadBegun, ...failed }: HandlerFailure & { readonly hadBegun: boolean },
  ): Promise<unknown> {
    const { random } = this.ports;
    return this.#changeHead(base, {}, (head, nowMs) => {
      // Of several that have taken up a request at once one may have begun it meanwhile.
      if (head.phase !== (hadBegun ? "running" : "requested")) return undefined;
      return failedHead(head, failed, { nowMs, random });
    });
  }

  /** Lets one that is parked go on; whether one was. */
  async resume(base: string): Promise<boolean> {
    const resumed = await this.#changeHead(base, {}, (head) => {
      if (head.phase !== "parked") return undefined;
      const phase = isWaiting(head) ? "requested" : "running";
      return { ...head, ...notFailing, phase, lastMs: 0 };
    });
    return resumed !== undefined;
  }

  /** Keeps items free of further BASE transactions for a while; not those that others keep. */
  async reserve(by: string, places: readonly LockPlace[], options: Signalled): Promise<void> {
    await this.#raw(options, async (context, records) => {
      const locks = new LockReader(context, records, this.ports.digest);
      const wanted = places.slice(0, limits.baseReservedItemsMax);
      const held = new Map(
        (await locks.writeLocks(wanted)).map(({ place, lock }) => [place, lock] as const),
      );
      // Each attempt's own: one that was long on its way must not put a moment that is past.
      const reservation = { by, untilMs: this.ports.clock.nowMs() + limits.baseReserveMs };
      for (const place of wanted) {
        const lock = held.get(place) ?? { table: "", key: {}, holds: [], reservation: unreserved };
        // Of many that wait for one item, one at a time says so.
        const isOthers = lock.reservation.by !== by;
        // mutant: reserves-over-others
        if (isOthers && this.#seen.stands(place, lock.reservation)) continue;
        context.putInto(records, writeLockItem(place, { ...lock, reservation }));
      }
    });
  }

  /** What nobody needs of one that is released. */
  clean(base: string, options: Signalled = {}): Promise<void> {
    return cleanUp((task) => this.#raw(options, task), {
      base,
      ports: this.ports,
      seen: this.#seen,
    });
  }

  #changeHead(
    base: string,
    options: Signalled,
    next: (head: BaseHead, nowMs: number) => BaseHead | undefined,
  ): Promise<Recorded | undefined> {
    return this.#raw(options, async (context, records) => {
      const before = await headIn(context, records, base);
      const head = before && next(before, this.ports.clock.nowMs());
      if (head === undefined) return undefined;
      context.putInto(records, headItem(base, head));
      const isParkedOrNot = before?.phase === "parked" || head.phase === "parked";
      if (isParkedOrNot) context.putInto(records, entryOf(base, head));
      const items = await allIn(context, records, { partition: recordPartition(base) });
      return { head, steps: recordedIn(items)?.steps ?? [] };
    });
  }

  /** Over the records table alone, which no BASE transaction locks. */
  async #raw<Result>(
    options: Signalled,
    task: (context: TransactionContext, records: TableDescription) => Promise<Result>,
  ): Promise<Result> {
    let at: TransactionContext | undefined;
    const guard: GuardOf = (_, context): Guard => {
      context.isGuarded = true;
      at = context;
      return { transaction: context, beforeCommit: () => Promise.resolve() };
    };
    return this.#transact(options, guard, () => {
      assert(at !== undefined, "base: its own transactions have a context");
      return task(at, this.records());
    });
  }

  async #transact<Result>(
    { signal, step }: Signalled & { readonly step?: BaseStepName },
    guard: GuardOf,
    body: (transaction: BodyTransaction) => Promise<Result>,
  ): Promise<Result> {
    const options = {
      ...({ attemptsMax: limits.baseAttemptsMax, deadlineMs, ack: "certified" } as const),
      ...(signal === undefined ? {} : { signal }),
    };
    const { result } = await this.#core.run(options, (call) =>
      this.#runner.transact(call, { options, body, codec: undefined, guard, step }),
    );
    return result;
  }
}

/**
 * Of all that has ended with it, at once. Nothing is written where it has to wait: many ask again
 * and again, and would be in each other's way.
 */
async function releasedOrWaiting(
  context: TransactionContext,
  {
    records,
    state,
    nowMs: releasedMs,
  }: { readonly records: TableDescription; readonly state: BaseState; readonly nowMs: number },
): Promise<Closure> {
  const closure = await closureOf(state, statesOf(context, records));
  if (closure.kind === "waits") return closure;
  for (const each of closure.all) {
    context.putInto(records, releasedItem(each));
    context.putInto(records, releasedEntryItem({ base: each.base, releasedMs }));
  }
  return closure;
}
