/**
 * One look of a runner at what is open: it releases what can be, cleans up, goes on with what
 * nobody is at, and then begins what is asked for, the oldest first. What fails with one of them
 * keeps it from none of the others.
 */
import { CorruptDataError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Clock } from "../../core/ports.ts";
import type { BodyTransaction } from "../types.ts";
import { partsOf } from "./base-name.ts";
import { restOf } from "./failures.ts";
import { byAge, type OpenEntry } from "./open-list.ts";
import type { ShownHead } from "./record.ts";
import { waitsForOpen } from "./release.ts";
import type { BaseStore, Recorded } from "./store.ts";
import type { Tell } from "./troubles.ts";
import type { HandlerDefinition, RunnerOptions } from "./types.ts";

/** Two clients' clocks may be wrong in opposite directions. */
const clockMarginMs = 2 * limits.clientClockErrorMsMax;

export type Here = {
  /** Whether its handler runs in this process, or has, and it waits for its release. */
  isAt(base: string): boolean;
  isEnding(base: string): boolean;
  /** No further one may run here. */
  isFull(): boolean;
  takeOver(
    base: string,
    over: {
      readonly definition: HandlerDefinition<BodyTransaction>;
      readonly recorded: Recorded;
      readonly tell: Tell;
    },
  ): void;
};

type Look = {
  readonly options: RunnerOptions<BodyTransaction>;
  readonly tell: Tell;
  readonly parked: ReadonlySet<string>;
  /** What failed with one of them, so far. */
  readonly met: unknown[];
};

/** When a record was first seen as it is, by the monotonic clock. */
type Seen = Pick<ShownHead, "lastMs" | "steps"> & { readonly sinceMs: number };

export class Lookout {
  readonly #store: BaseStore;
  readonly #clock: Clock;
  readonly #here: Here;
  /** Those that somebody is at, as far as their records say. */
  #seen = new Map<string, Seen>();

  constructor(parts: { readonly store: BaseStore; readonly clock: Clock; readonly here: Here }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#here = parts.here;
  }

  /**
   * Whether something is left that this runner could go on with.
   * @throws what was met first, once all had their turn.
   */
  async around(of: Pick<Look, "options" | "tell">): Promise<boolean> {
    const { open, released, strange } = await this.#store.open();
    const parked = new Set(open.flatMap(({ base, isParked }) => (isParked === true ? base : [])));
    const look: Look = { ...of, parked, met: [] };
    const bases = new Set(open.map(({ base }) => base));
    this.#seen = new Map([...this.#seen].filter(([base]) => bases.has(base)));
    for (const { base, cause } of strange) {
      look.tell({ kind: "handler-failed", version: 0, cause, ...partsOf(base) });
    }
    for (const entry of released) {
      const { base, releasedMs } = entry;
      // Whoever was at it does so at once.
      const agoMs = this.#clock.nowMs() - releasedMs;
      // Who has died with a clock far ahead would keep it from all others for as long.
      const isPossible = agoMs >= -clockMarginMs;
      if (isPossible && agoMs < look.options.takeOverMs) continue;
      if (this.#here.isEnding(base)) continue;
      await this.#apart({ base, version: 0 }, look, () => this.#store.clean(base));
    }
    for (const { base, version } of open.filter(({ isParked }) => isParked)) {
      look.tell({ kind: "parked", version, ...partsOf(base) });
    }
    const others = open.filter(({ base }) => !parked.has(base));
    const begun = others.filter(({ requestedMs }) => requestedMs === undefined);
    const isLeft = await this.#some(begun, look);
    const isAskedFor = await this.#requested(others, look);
    for (const error of look.met) throw error;
    return isAskedFor || isLeft;
  }

  /** What fails with one of them. A strange item is told of: nobody can go on with it. */
  async #apart<Done>(
    { base, version }: Pick<OpenEntry, "base" | "version">,
    { met, tell }: Look,
    task: () => Promise<Done>,
  ): Promise<Done | undefined> {
    try {
      return await task();
    } catch (error) {
      const isStrange = error instanceof CorruptDataError;
      if (isStrange) tell({ kind: "handler-failed", version, cause: error, ...partsOf(base) });
      else met.push(error);
      // The store is at fault, and not one of them.
      if (met.length >= limits.baseLookErrorsMax) throw error;
      return undefined;
    }
  }

  /** Looks at no more of them than it may begin: thousands may wait. */
  async #requested(open: readonly OpenEntry[], look: Look): Promise<boolean> {
    const requested = open
      .filter(({ requestedMs }) => requestedMs !== undefined)
      .filter((entry) => this.#definitionOf(entry, look) !== undefined)
      .sort(byAge);
    let isLeft = false;
    for (let at = 0; at < requested.length; at += limits.baseRunsMax) {
      if (this.#isOver(look)) return true;
      isLeft = (await this.#some(requested.slice(at, at + limits.baseRunsMax), look)) || isLeft;
    }
    return isLeft;
  }

  async #some(entries: readonly OpenEntry[], look: Look): Promise<boolean> {
    let isLeft = false;
    const heads = await this.#headsOf(entries, look);
    for (const entry of entries) {
      if (this.#isOver(look)) return true;
      const head = heads.get(entry.base);
      // Released, cancelled or refused meanwhile.
      if (head === undefined) continue;
      const isEnded = head.phase === "ended" && !this.#here.isAt(entry.base);
      if (isEnded && waitsForOpen(entry.base, { heads, parked: look.parked })) {
        isLeft = true;
        continue;
      }
      const one = await this.#apart(entry, look, () => this.#one(entry, head, look));
      isLeft = one === true || isLeft;
    }
    return isLeft;
  }

  /** A strange one is told of, and nothing more is done with it. */
  async #headsOf(
    entries: readonly OpenEntry[],
    { tell }: Look,
  ): Promise<ReadonlyMap<string, ShownHead>> {
    const heads = new Map<string, ShownHead>();
    const versions = new Map(entries.map(({ base, version }) => [base, version]));
    for (const each of (await this.#store.lookAt([...versions.keys()])).heads) {
      const { base } = each;
      if ("head" in each) heads.set(base, each.head);
      else {
        const version = versions.get(base) ?? 0;
        tell({ kind: "handler-failed", version, cause: each.cause, ...partsOf(base) });
      }
    }
    return heads;
  }

  async #one(entry: OpenEntry, head: ShownHead, look: Look): Promise<boolean> {
    const { base, version } = entry;
    const { takeOverMs } = look.options;
    if (this.#here.isAt(base)) return true;
    switch (head.phase) {
      case "refused":
      case "cancelled":
        return false;
      case "parked":
        look.tell({ kind: "parked", version, ...partsOf(base) });
        return false;
      case "ended":
        if (!(await this.#store.release(base))) return true;
        await this.#store.clean(base);
        return false;
      case "requested":
      case "running": {
        const definition = this.#definitionOf(entry, look);
        if (definition === undefined) return false;
        const leftMs = this.#leftMs(base, head, takeOverMs);
        // What rests for longer a later runner finds, too: none has to stay for it.
        if (leftMs > 0) return leftMs <= Math.max(takeOverMs, limits.baseStayMsMax);
        const recorded = await this.#store.claim(base, head);
        if (recorded === undefined || this.#here.isAt(base)) return true;
        this.#here.takeOver(base, { definition, recorded, tell: look.tell });
        return true;
      }
    }
  }

  /**
   * For how long it is left alone yet: it rests, or somebody has been at it of late. By what its
   * record says, or, since that clock may be ahead of this one, by how long it has stood unchanged
   * here.
   */
  #leftMs(base: string, head: ShownHead, takeOverMs: number): number {
    const { lastMs, steps } = head;
    const aloneMs = restOf(head) ?? takeOverMs;
    const byRecordMs = lastMs + aloneMs - this.#clock.nowMs();
    if (byRecordMs <= 0) return 0;
    const nowMs = this.#clock.monotonicMs();
    const seen = this.#seen.get(base);
    if (seen?.lastMs === lastMs && seen.steps === steps) {
      return Math.min(byRecordMs, Math.max(0, seen.sinceMs + aloneMs - nowMs));
    }
    this.#seen.set(base, { lastMs, steps, sinceMs: nowMs });
    return Math.min(byRecordMs, aloneMs);
  }

  #isOver({ options }: Look): boolean {
    return options.signal?.aborted === true || this.#here.isFull();
  }

  /** Tells of one that has none here. */
  #definitionOf(
    { base, name, version }: OpenEntry,
    { options, tell }: Look,
  ): HandlerDefinition<BodyTransaction> | undefined {
    const found = options.definitions.find(
      (each) => each.name === name && each.version === version,
    );
    if (found === undefined) tell({ kind: "no-handler", version, ...partsOf(base) });
    return found;
  }
}
