/**
 * Replay and reaper in a client of a deployment of tables alone: in the background, by turns with
 * the other clients, for a bounded time each (`turn-watch.ts`). What fails becomes an event; the
 * next turn, of whomever it is, finds what is left.
 *
 * A client's machine may have any time set. The reaper reckons with the time at which others have
 * seen the watermark, so it goes by the store's clock here, or not at all (I6).
 */
import { setMaxListeners } from "node:events";
import { UnavailableError } from "../../../core/errors.ts";
import * as limits from "../../../core/limits.ts";
import type { CallOptions, Clock, DatedAnswer, Ports } from "../../../core/ports.ts";
import { follow } from "../../../engine/concurrency.ts";
import { type Listener, quiet } from "../../../engine/quiet-listener.ts";
import { StoreClock } from "../../../engine/log/store-clock.ts";
import { createReplayService } from "../../replay/service.ts";
import { beforeDeadline } from "../../shared/before-deadline.ts";
import type { InvocationBudget } from "../../shared/invocation-budget.ts";
import { silentObservability } from "../../shared/silent-observability.ts";
import { keepHouse, type HousekeepingParts } from "../service.ts";
import { TurnTroubles } from "./turn-troubles.ts";
import { housePauseMs, TurnWatch } from "./turn-watch.ts";

type KeeperParts = {
  readonly ports: Ports & {
    readonly watchDates?: (tell: (answer: DatedAnswer) => void) => Promise<unknown>;
  };
  readonly onKept: () => void;
  readonly onFailed: (cause: unknown) => void;
};

export type Keeper = {
  /** Gives up what is under way, and lets others know; never rejects. */
  stop(): Promise<void>;
};

/** The reaper runs in every so many turns: tombstones stand for a quarter of an hour anyway. */
const turnsPerReap = 6;

/** Tells of its turns by a client's events. */
export function startKeeper(ports: KeeperParts["ports"], onEvent: Listener | undefined): Keeper {
  const tell = onEvent && quiet(onEvent);
  const parts: KeeperParts = {
    ports,
    onKept: () => {
      tell?.({ kind: "house-kept" });
    },
    onFailed: (cause) => {
      tell?.({ kind: "housekeeping-failed", cause });
    },
  };
  const stopping = new AbortController();
  const running = new HouseKeeper(parts, stopping.signal).run();
  return {
    async stop() {
      stopping.abort(new Error("the client is closed"));
      await running;
    },
  };
}

class HouseKeeper {
  readonly #parts: KeeperParts;
  readonly #ports: KeeperParts["ports"];
  readonly #signal: AbortSignal;
  readonly #watch: TurnWatch;
  readonly #storeClock = new StoreClock();
  readonly #troubles = new TurnTroubles();
  readonly #replay: ReturnType<typeof createReplayService>;
  #watchesDates = false;
  #hasReaped = false;

  constructor(parts: KeeperParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#ports = parts.ports;
    this.#signal = signal;
    this.#watch = new TurnWatch(() => parts.ports.random.next());
    this.#replay = createReplayService(parts.ports, this.#troubles.observability);
  }

  async run(): Promise<void> {
    const { clock } = this.#ports;
    while (!this.#isStopped()) {
      let pauseMs: number = housePauseMs;
      try {
        pauseMs = await this.#look();
      } catch (cause) {
        // probe: house-turn-failed
        if (!this.#isStopped()) this.#parts.onFailed(cause);
      }
      await clock.sleep(pauseMs, this.#signal).catch(() => undefined);
    }
  }

  #isStopped(): boolean {
    return this.#signal.aborted;
  }

  /** Takes the turn if it is free. Returns when to look again. */
  async #look(): Promise<number> {
    const { clock, control } = this.#ports;
    const call = { signal: this.#signal };
    await this.#watchDates();
    const stored = await control.houseTurn(call);
    const restMs = this.#watch.restMs(stored, clock.monotonicMs());
    // What is under way may end sooner than it has to.
    if (restMs > 0) return stored?.isOver === true ? restMs : Math.min(restMs, housePauseMs);
    const turn = (stored?.turn ?? 0) + 1;
    const isMine = await control.putHouseTurn({ turn, isOver: false }, stored?.turn, call);
    if (!isMine) {
      // probe: house-turn-lost
      return 0;
    }
    if (stored?.isOver === false) {
      // probe: house-turn-of-the-dead
    }
    this.#watch.took(turn);
    try {
      await this.#keep(turn);
    } finally {
      // Also when the client closes: others need not wait for who is gone. If it fails, they do.
      await control.putHouseTurn({ turn, isOver: true }, turn).catch(() => undefined);
    }
    return 0;
  }

  async #keep(turn: number): Promise<void> {
    const { clock, control } = this.#ports;
    const untilMs = clock.monotonicMs() + limits.houseTurnMsMax;
    const remainingMs = (): number => untilMs - clock.monotonicMs();
    const work = async (call: Required<Pick<CallOptions, "signal">>): Promise<void> => {
      // With a stream there are functions for all this.
      if ((await control.registry(call)).streamless !== true) {
        // probe: house-kept-by-functions
        return;
      }
      const withReaper = !this.#hasReaped || turn % turnsPerReap === 0;
      const parts = {
        ports: { ...this.#ports, clock: this.#reaperClock() },
        replay: this.#replay,
        observability: silentObservability,
        withReaper,
      };
      await this.#keepAndTell(parts, { remainingMs, ...call });
    };
    const time = { clock, remainingMs: limits.houseTurnMsMax, marginMs: limits.invocationMarginMs };
    await beforeDeadline(time, async (expired) => {
      const over = new AbortController();
      const { signal } = over;
      const unfollow = [this.#signal, expired].map((each) => follow(over, each));
      // Of every call under way, as in an invocation: many at once are no leak.
      setMaxListeners(0, signal);
      try {
        await work({ signal });
      } finally {
        for (const each of unfollow) each();
      }
    });
  }

  /** @throws what went wrong, all of it, once the rest is done. */
  async #keepAndTell(parts: HousekeepingParts, budget: InvocationBudget): Promise<void> {
    const troubles = this.#troubles;
    const report = await keepHouse(parts, budget).catch((cause: unknown) => {
      troubles.failed(cause);
      return undefined;
    });
    troubles.reaped(report?.reaped);
    this.#hasReaped ||= report?.reaped !== undefined;
    const trouble = troubles.take();
    if (trouble !== undefined) throw trouble;
    if (report !== undefined) this.#parts.onKept();
  }

  async #watchDates(): Promise<void> {
    if (this.#watchesDates) return;
    await this.#ports.watchDates?.((answer) => {
      this.#storeClock.observe(answer);
    });
    this.#watchesDates = true;
  }

  #reaperClock(): Clock {
    const { clock } = this.#ports;
    return {
      ...clock,
      monotonicMs: () => clock.monotonicMs(),
      sleep: (durationMs, signal) => clock.sleep(durationMs, signal),
      nowMs: () => {
        // mutant: keeper-reaps-by-own-clock
        const nowMs = this.#storeClock.nowMs(clock.monotonicMs());
        if (nowMs !== undefined) return nowMs;
        throw new UnavailableError("tombstones stay: the store's answers say no time to go by");
      },
    };
  }
}
