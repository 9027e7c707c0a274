/**
 * BASE transactions of one process: those that it has begun, and those that it has taken up or over
 * as a runner. Each is at most once here at a time.
 */
import { setMaxListeners } from "node:events";
import { StoreError, UnavailableError } from "../../core/errors.ts";
import { sameValue } from "../../core/item-content.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue } from "../../core/types.ts";
import type { RunsTransactions } from "../attempts/guard.ts";
import { waitBackoff } from "../backoff.ts";
import { follow, ignore, orAborted } from "../concurrency.ts";
import type { EngineCore } from "../engine-core.ts";
import {
  assertId,
  notEnded,
  otherVersion,
  refusalUnknown,
  refusedBase,
  unknownBase,
} from "./base-errors.ts";
import { HandlerChangedError } from "./handler-changed.ts";
import { BaseDesk } from "./base-desk.ts";
import { baseOf, partsOf, type NamedBase, type Signalled } from "./base-name.ts";
import { Lookout } from "./lookout.ts";
import { Outage } from "./outage.ts";
import { isRefused, isWaiting, type BaseBeginning, type BaseHead } from "./record.ts";
import { beginningOf } from "./requests.ts";
import { BaseRun } from "./run.ts";
import { assertKept } from "./step-end.ts";
import type { BaseStore, Recorded } from "./store.ts";
import { isWorthAnother } from "./step-errors.ts";
import { Troubles, type Tell } from "./troubles.ts";
import type { BodyTransaction } from "../types.ts";
import type {
  BaseEngine,
  BaseList,
  BaseLook,
  BaseRequest,
  BaseRequested,
  BaseStart,
  BaseStatus,
  BaseStarted,
  HandlerDefinition,
  ListOptions,
  RunnerOptions,
} from "./types.ts";

/** Between two looks whether one is released. */
const lookBackoff = { baseMs: 20, capMs: 500 };

export class BaseTransactions implements BaseEngine<BodyTransaction> {
  readonly #core: EngineCore;
  readonly #desk: BaseDesk;
  readonly #store: BaseStore;
  /** Those whose handler runs here. */
  readonly #running = new Map<string, Promise<AttributeValue>>();
  /** Those that have ended here, until they are released and cleaned up. */
  readonly #ending = new Set<string>();
  readonly #closing = new AbortController();
  readonly #lookout: Lookout;

  constructor(core: EngineCore, runner: RunsTransactions) {
    setMaxListeners(0, this.#closing.signal);
    this.#core = core;
    this.#desk = new BaseDesk(core, runner, this.#closing.signal);
    this.#store = this.#desk.store;
    const { clock } = core.ports;
    const here = {
      isAt: (base: string) => this.#running.has(base) || this.#ending.has(base),
      isEnding: (base: string) => this.#ending.has(base),
      isFull: () => this.#running.size >= limits.baseRunsMax,
      takeOver: this.#takeOver.bind(this),
    };
    this.#lookout = new Lookout({ store: this.#store, clock, here });
  }

  async start({ definition, id, input, signal }: BaseStart<BodyTransaction>): Promise<BaseStarted> {
    assertId(id);
    assertKept(`the input of BASE transaction "${definition.name}" has`, input, "input");
    await this.#desk.ready();
    const { name, version } = definition;
    const base = baseOf({ name, id });
    const fresh = { name, version, input };
    const isSame = (head: BaseHead | undefined): boolean =>
      head === undefined || (head.version === version && sameValue(head.input, input));
    // Others may ask for it, begin it or cancel it meanwhile: then each turn finds it further on.
    for (;;) {
      const known = (await this.#store.load(base, { signal }))?.head;
      if (known !== undefined) {
        if (isRefused(known)) throw refusedBase(base, known);
        if (!isWaiting(known)) return { isNew: false, isSame: isSame(known) };
        if (known.version !== version) throw otherVersion(base, known.version, version);
        if (known.phase === "parked") await this.#store.resume(base);
      }
      const run = { token: this.#desk.newToken(), begunMs: this.#core.ports.clock.nowMs() };
      // mutant: begins-by-own-input
      const beginning = known === undefined ? { ...fresh, ...run } : beginningOf(known, run);
      const hasBegun = await this.#begin(base, { beginning, definition, signal });
      if (hasBegun) return { isNew: known === undefined, isSame: isSame(known) };
    }
  }

  /** False: somebody else was first. */
  async #begin(
    base: string,
    {
      beginning,
      definition,
      signal,
    }: Pick<BaseStart<BodyTransaction>, "definition" | "signal"> & {
      readonly beginning: BaseBeginning;
    },
  ): Promise<boolean> {
    let accept: () => void = ignore;
    const accepted = new Promise<"accepted">((resolve) => {
      accept = () => {
        resolve("accepted");
      };
    });
    const stopped = new AbortController();
    const unfollow = signal === undefined ? ignore : follow(stopped, signal);
    const unfollowClosing = follow(stopped, this.#closing.signal);
    const run = new BaseRun(
      { store: this.#store, ports: this.#core.ports },
      {
        ...{ base, beginning, recorded: undefined, signal: stopped.signal },
        onAccepted: () => {
          // From now on nobody can give it up.
          unfollow();
          accept();
        },
      },
    );
    const running = this.#finish(base, { run, definition });
    const over = (): void => {
      unfollow();
      unfollowClosing();
    };
    running.then(over, over);
    try {
      await Promise.race([accepted, running]);
    } catch (error) {
      if (run.isAnothers) return false;
      const isOthersToo = run.request !== undefined && !this.#isClosed();
      const head = isOthersToo ? await this.#headOf(base) : undefined;
      // Another run of the same request may not have been refused.
      if ((head?.steps ?? 0) > 0) return false;
      const isFinal = head !== undefined && isRefused(head);
      throw isFinal ? error : (run.unknown ?? error);
    }
    return true;
  }

  async #headOf(base: string): Promise<BaseHead | undefined> {
    return (await this.#store.heads([base])).get(base);
  }

  request(request: BaseRequest): Promise<BaseRequested> {
    return this.#desk.request(request);
  }

  cancel(of: NamedBase, options: Signalled = {}): Promise<BaseStatus | undefined> {
    return this.#desk.cancel(of, options);
  }

  async result(
    of: NamedBase,
    options: Signalled & { readonly deadlineMs: number },
  ): Promise<AttributeValue> {
    await this.#desk.ready();
    const base = baseOf(of);
    const { clock, random } = this.#core.ports;
    const untilMs = clock.monotonicMs() + options.deadlineMs;
    for (let attempt = 0; ; attempt += 1) {
      const head = (await this.#store.heads([base], options)).get(base);
      if (head === undefined) throw unknownBase(base);
      if (isRefused(head)) throw refusedBase(base, head);
      // Told before that, who asks could not see yet what was done.
      // mutant: told-at-the-end
      const isOver = head.phase === "ended" && (await this.#store.seesReleased(base, options));
      if (isOver && head.result !== undefined) return head.result;
      if (clock.monotonicMs() >= untilMs) throw notEnded(base, head, options.deadlineMs);
      const { signal } = options;
      if (this.#running.has(base)) await this.#endedHere(base, { untilMs, signal });
      else await waitBackoff({ clock, random }, { backoff: lookBackoff, attempt, signal });
    }
  }

  /** What runs here is looked at when its handler has ended, and seldom before. */
  async #endedHere(
    base: string,
    { untilMs, signal }: { readonly untilMs: number; readonly signal: AbortSignal | undefined },
  ): Promise<void> {
    const running = this.#running.get(base);
    if (running === undefined) return;
    const { clock } = this.#core.ports;
    const over = new AbortController();
    const unfollow = signal === undefined ? ignore : follow(over, signal);
    const leftMs = Math.min(limits.baseResultLookMs, Math.max(0, untilMs - clock.monotonicMs()));
    const patience = clock.sleep(leftMs, over.signal).catch(ignore);
    await Promise.race([running.catch(ignore), patience]);
    unfollow();
    over.abort();
  }

  async status(of: NamedBase): Promise<BaseStatus | undefined> {
    return (await this.look(of))?.status;
  }

  look(of: NamedBase, options: Signalled = {}): Promise<BaseLook | undefined> {
    return this.#desk.look(of, options);
  }

  list(options: ListOptions = {}): Promise<BaseList> {
    return this.#desk.list(options);
  }

  resume(of: NamedBase): Promise<boolean> {
    return this.#desk.resume(of);
  }

  async run(options: RunnerOptions<BodyTransaction>): Promise<void> {
    const { clock } = this.#core.ports;
    const { signal, onTrouble = ignore } = options;
    const troubles = new Troubles(onTrouble);
    const outage = new Outage(onTrouble, clock);
    const tell = troubles.tell.bind(troubles);
    let hasLooked = false;
    while (signal?.aborted !== true && !this.#isClosed()) {
      let isLeft = true;
      troubles.nextLook();
      try {
        await this.#desk.ready();
        isLeft = await this.#lookout.around({ options, tell });
        hasLooked = true;
        outage.answered();
      } catch (error) {
        if (this.#isClosed()) return;
        // One that was never let in is set up wrongly, and says so; later it waits for rights, too.
        const isLetIn = hasLooked || !(error instanceof StoreError && error.fault === "rejected");
        if (options.until === "caught-up" || !isLetIn || !isWorthAnother(error)) throw error;
        outage.failed(error);
      }
      if (options.until === "caught-up" && !isLeft) return;
      const stopped = signal ?? this.#closing.signal;
      await clock.sleep(options.pollMs, stopped).catch(ignore);
    }
  }

  #takeOver(
    base: string,
    {
      definition,
      recorded,
      tell,
    }: {
      readonly definition: HandlerDefinition<BodyTransaction>;
      readonly recorded: Recorded;
      readonly tell: Tell;
    },
  ): void {
    // probe: base-taken-over
    const { version, token, startedMs } = recorded.head;
    const { signal } = this.#closing;
    // A request is begun here; of what has begun all is as in its first run.
    const isRequest = recorded.head.phase === "requested";
    const begunMs = isRequest ? this.#core.ports.clock.nowMs() : startedMs;
    const own = { token: isRequest ? this.#desk.newToken() : token, begunMs };
    const beginning = beginningOf(recorded.head, own);
    const run = new BaseRun(
      { store: this.#store, ports: this.#core.ports },
      { base, beginning, recorded: isRequest ? undefined : recorded, signal },
    );
    this.#finish(base, { run, definition }).catch((cause: unknown) => {
      // Left in its middle by a client that closes it has not failed; nor has one that was refused,
      // or that somebody else was faster at.
      const isRefusal = !run.isAccepted && run.refusalBy(cause) !== undefined;
      if (!this.#isClosed() && !isRefusal && !run.isAnothers)
        tell({ kind: "handler-failed", version, cause, ...partsOf(base) });
    });
  }

  /** Runs it to its end, and releases it. */
  #finish(
    base: string,
    {
      run,
      definition,
    }: { readonly run: BaseRun; readonly definition: HandlerDefinition<BodyTransaction> },
  ): Promise<AttributeValue> {
    const running = (async () => {
      try {
        // A handler may wait for the world outside for long: a client that closes leaves it there.
        const closing = this.#closing.signal;
        return await orAborted(run.run(definition, closing), closing);
      } catch (error) {
        if (!this.#isClosed() && !run.isAnothers) await this.#failed(run, definition, error);
        throw error;
      }
    })();
    if (!this.#running.has(base)) this.#running.set(base, running);
    const tracked = running
      .finally(() => {
        // What has ended may wait for the release of others, which have to run meanwhile.
        if (this.#running.get(base) === running) this.#running.delete(base);
      })
      .then(() => this.#afterwards(base))
      .catch(ignore)
      .finally(() => {
        this.#core.background.delete(tracked);
      });
    this.#core.background.add(tracked);
    running.catch(ignore);
    return running;
  }

  /** Notes it for whoever looks; who has begun what never was requested is told himself. */
  async #failed(
    run: BaseRun,
    { parkAfterMs }: HandlerDefinition<BodyTransaction>,
    error: unknown,
  ): Promise<void> {
    const { base, request, isAccepted } = run;
    if (!isAccepted && request === undefined) return;
    const refusal = isAccepted ? undefined : run.refusalBy(error);
    if (refusal !== undefined && request !== undefined) {
      await this.#store.requests.refuse(base, { request, refusal }).catch((cause: unknown) => {
        // Not the commit's own error: its outcome says nothing of the BASE transaction.
        throw isWorthAnother(cause) ? refusalUnknown(base, { refusal, cause }) : cause;
      });
      return;
    }
    if (!isAccepted && !run.insists) return;
    const failure = error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
    const isFinal = error instanceof HandlerChangedError;
    const failed = { failure, isFinal, parkAfterMs, hadBegun: isAccepted };
    const noted = this.#store.fail(base, failed);
    await noted.catch((cause: unknown) => {
      if (!isWorthAnother(cause)) throw cause;
    });
  }

  /** What it depends on may go on for long: then a runner releases it, or who waits for it. */
  async #afterwards(base: string): Promise<void> {
    const { clock, random } = this.#core.ports;
    const { signal } = this.#closing;
    this.#ending.add(base);
    try {
      for (let attempt = 0; !(await this.#store.release(base, { signal })); attempt += 1) {
        await waitBackoff({ clock, random }, { backoff: lookBackoff, attempt, signal });
      }
      await this.#store.clean(base, { signal });
    } finally {
      this.#ending.delete(base);
    }
  }

  #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async close(): Promise<void> {
    this.#closing.abort(new UnavailableError("the client is closed; a runner goes on"));
    await orAborted(Promise.allSettled(this.#running.values()), undefined);
  }
}
