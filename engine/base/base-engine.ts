/**
 * BASE transactions of one process: those that it has begun, and those that it has taken over as a
 * runner. Each is at most once here at a time.
 */
import { setMaxListeners } from "node:events";
import { InvalidRequestError, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue } from "../../core/types.ts";
import { utf8Length } from "../../core/utf8.ts";
import type { RunsTransactions } from "../attempts/guard.ts";
import { waitBackoff } from "../backoff.ts";
import { follow, ignore, orAborted } from "../concurrency.ts";
import type { EngineCore } from "../engine-core.ts";
import type { BaseHead } from "./record.ts";
import { HandlerChangedError } from "./handler-changed.ts";
import { BaseRun } from "./run.ts";
import { assertSize } from "./step-end.ts";
import { BaseStore, type Recorded } from "./store.ts";
import { isWorthAnother } from "./step-errors.ts";
import type { BodyTransaction } from "../types.ts";
import type {
  BaseEngine,
  BaseHandler,
  BaseStart,
  BaseStatus,
  BaseTrouble,
  HandlerDefinition,
  RunnerOptions,
} from "./types.ts";

const resultBackoff = { baseMs: 20, capMs: 500 };
const releaseBackoff = { baseMs: 20, capMs: 500 };
/** Of the token by which two that begin one at once are told apart. */
const tokenBytes = 16;

/** In one: names have no slash. */
export function baseOf({ name, id }: { readonly name: string; readonly id: string }): string {
  return `${name}/${id}`;
}

function partsOf(base: string): { readonly name: string; readonly id: string } {
  const at = base.indexOf("/");
  return { name: base.slice(0, at), id: base.slice(at + 1) };
}

export class BaseTransactions implements BaseEngine<BodyTransaction> {
  readonly #core: EngineCore;
  readonly #store: BaseStore;
  /** Those whose handler runs here. */
  readonly #running = new Map<string, Promise<AttributeValue>>();
  /** Those that have ended here, until they are released and cleaned up. */
  readonly #ending = new Set<string>();
  readonly #closing = new AbortController();

  constructor(core: EngineCore, runner: RunsTransactions) {
    setMaxListeners(0, this.#closing.signal);
    this.#core = core;
    this.#store = new BaseStore(core, runner);
  }

  async start({
    definition,
    id,
    input,
    signal,
  }: BaseStart<BodyTransaction>): Promise<{ readonly isNew: boolean }> {
    assertId(id);
    assertSize(`the input of BASE transaction "${definition.name}" has`, input, "input");
    await this.#ready();
    const { name, version, handler } = definition;
    const base = baseOf({ name, id });
    const known = await this.#store.load(base, { signal });
    if (known !== undefined) return { isNew: false };
    let accept: () => void = ignore;
    const accepted = new Promise<"accepted">((resolve) => {
      accept = () => {
        resolve("accepted");
      };
    });
    const { clock, random } = this.#core.ports;
    const token = Buffer.from(random.bytes(tokenBytes)).toString("base64url");
    const beginning = { name, version, input, begunMs: clock.nowMs(), token };
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
    const running = this.#finish(base, { run, handler });
    const over = (): void => {
      unfollow();
      unfollowClosing();
    };
    running.then(over, over);
    try {
      await Promise.race([accepted, running]);
    } catch (error) {
      if (run.isAnothers) return { isNew: false };
      throw error;
    }
    return { isNew: true };
  }

  async result(
    of: { readonly name: string; readonly id: string },
    options: { readonly deadlineMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<AttributeValue> {
    await this.#ready();
    const base = baseOf(of);
    const { clock, random } = this.#core.ports;
    const untilMs = clock.monotonicMs() + options.deadlineMs;
    for (let attempt = 0; ; attempt += 1) {
      const head = (await this.#store.heads([base], options)).get(base);
      if (head === undefined) throw unknownBase(base);
      // Told before that, who asks could not see yet what was done.
      // mutant: told-at-the-end
      const isOver = head.phase === "ended" && (await this.#store.release(base, options));
      if (isOver && head.result !== undefined) return head.result;
      if (clock.monotonicMs() >= untilMs) throw notEnded(base, head, options.deadlineMs);
      const { signal } = options;
      if (this.#running.has(base)) await this.#endedHere(base, { untilMs, signal });
      else await waitBackoff({ clock, random }, { backoff: resultBackoff, attempt, signal });
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

  async status(of: {
    readonly name: string;
    readonly id: string;
  }): Promise<BaseStatus | undefined> {
    await this.#ready();
    const base = baseOf(of);
    const recorded = await this.#store.load(base);
    return recorded && this.#statusOf(base, recorded.head);
  }

  async list(): Promise<readonly BaseStatus[]> {
    await this.#ready();
    const { open } = await this.#store.open();
    const heads = await this.#store.heads(open.map(({ base }) => base));
    const all = await Promise.all(Array.from(heads, ([base, head]) => this.#statusOf(base, head)));
    return all.sort((a, b) => a.startedMs - b.startedMs);
  }

  async #statusOf(base: string, head: BaseHead): Promise<BaseStatus> {
    const { name, version, steps, phase, startedMs, lastMs, failures, failure } = head;
    const isReleased = phase === "ended" && (await this.#store.release(base));
    const { id } = partsOf(base);
    return { id, name, version, steps, phase, startedMs, lastMs, failures, failure, isReleased };
  }

  async resume(of: { readonly name: string; readonly id: string }): Promise<boolean> {
    await this.#ready();
    return this.#store.resume(baseOf(of));
  }

  async run(options: RunnerOptions<BodyTransaction>): Promise<void> {
    const { clock } = this.#core.ports;
    const told = new Set<string>();
    const tell = (trouble: BaseTrouble): void => {
      const text = JSON.stringify([trouble.kind, trouble.name, trouble.id]);
      if (told.has(text)) return;
      told.add(text);
      options.onTrouble?.(trouble);
    };
    const { signal } = options;
    while (signal?.aborted !== true && !this.#isClosed()) {
      let isLeft = true;
      try {
        await this.#ready();
        isLeft = await this.#lookAround(options, tell);
      } catch (error) {
        if (this.#isClosed()) return;
        if (options.until === "caught-up" || !isWorthAnother(error)) throw error;
      }
      if (options.until === "caught-up" && !isLeft) return;
      const stopped = signal ?? this.#closing.signal;
      await clock.sleep(options.pollMs, stopped).catch(ignore);
    }
  }

  /** Whether something is left that it could go on with. */
  async #lookAround(
    options: RunnerOptions<BodyTransaction>,
    tell: (trouble: BaseTrouble) => void,
  ): Promise<boolean> {
    const { signal, takeOverMs } = options;
    let isLeft = false;
    const { open, released } = await this.#store.open();
    for (const { base, releasedMs } of released) {
      // Whoever was at it does so at once.
      const isLate = releasedMs + takeOverMs <= this.#core.ports.clock.nowMs();
      if (isLate && !this.#ending.has(base)) await this.#store.clean(base);
    }
    const heads = await this.#store.heads(open.map(({ base }) => base));
    for (const { base, name, version } of open) {
      if (signal?.aborted === true || this.#running.size >= limits.baseRunsMax) return true;
      if (this.#running.has(base) || this.#ending.has(base)) {
        isLeft = true;
        continue;
      }
      const head = heads.get(base);
      if (head === undefined) continue; // Released meanwhile.
      if (head.phase === "parked") {
        tell({ kind: "parked", version, ...partsOf(base) });
        continue;
      }
      if (head.phase === "ended") {
        if (await this.#store.release(base)) await this.#store.clean(base);
        else isLeft = true;
        continue;
      }
      const definition = handlerFor(options.definitions, { name, version });
      if (definition === undefined) {
        tell({ kind: "no-handler", version, ...partsOf(base) });
        continue;
      }
      isLeft = true;
      if (head.lastMs + takeOverMs > this.#core.ports.clock.nowMs()) continue;
      const recorded = await this.#store.claim(base, takeOverMs);
      if (recorded === undefined || this.#running.has(base)) continue;
      this.#takeOver(base, { definition, recorded, tell });
    }
    return isLeft;
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
      readonly tell: (trouble: BaseTrouble) => void;
    },
  ): void {
    // probe: base-taken-over
    const { name, version, input, token, startedMs: begunMs } = recorded.head;
    const { signal } = this.#closing;
    const beginning = { name, version, input, token, begunMs };
    const run = new BaseRun(
      { store: this.#store, ports: this.#core.ports },
      { base, beginning, recorded, signal },
    );
    this.#finish(base, { run, handler: definition.handler }).catch((cause: unknown) => {
      tell({ kind: "handler-failed", version, cause, ...partsOf(base) });
    });
  }

  /** Runs it to its end, and releases it. */
  #finish(
    base: string,
    { run, handler }: { readonly run: BaseRun; readonly handler: BaseHandler<BodyTransaction> },
  ): Promise<AttributeValue> {
    const running = (async () => {
      try {
        // A handler may wait for the world outside for ever: a client that closes leaves it there.
        return await orAborted(run.run(handler), this.#closing.signal);
      } catch (error) {
        const isStopped = this.#closing.signal.aborted;
        if (run.isAccepted && !isStopped) {
          const message = error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
          await this.#store.fail(base, message, { isFinal: error instanceof HandlerChangedError });
        }
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

  /** What it depends on may go on for long: then a runner releases it, or who waits for it. */
  async #afterwards(base: string): Promise<void> {
    const { clock, random } = this.#core.ports;
    const { signal } = this.#closing;
    this.#ending.add(base);
    try {
      for (let attempt = 0; !(await this.#store.release(base, { signal })); attempt += 1) {
        await waitBackoff({ clock, random }, { backoff: releaseBackoff, attempt, signal });
      }
      await this.#store.clean(base, { signal });
    } finally {
      this.#ending.delete(base);
    }
  }

  #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #ready(): Promise<void> {
    this.#core.assertOpen();
    const { registry } = this.#core;
    await registry.ready();
    // The first table for BASE transactions may have been registered since.
    if (!registry.hasBase) await registry.lookAgain(this.#closing.signal);
    this.#store.records();
  }

  async close(): Promise<void> {
    this.#closing.abort(new UnavailableError("the client is closed; a runner goes on"));
    await orAborted(Promise.allSettled(this.#running.values()), undefined);
  }
}

function handlerFor(
  definitions: readonly HandlerDefinition<BodyTransaction>[],
  { name, version }: { readonly name: string; readonly version: number },
): HandlerDefinition<BodyTransaction> | undefined {
  return definitions.find((each) => each.name === name && each.version === version);
}

function assertId(id: string): void {
  const bytes = utf8Length(id);
  if (bytes >= 1 && bytes <= limits.baseIdBytesMax) return;
  throw new InvalidRequestError(
    "id",
    `the id of a BASE transaction has 1 to ${limits.baseIdBytesMax} bytes in UTF-8; got ${bytes}`,
  );
}

function unknownBase(base: string): InvalidRequestError {
  return new InvalidRequestError(
    "id",
    `there is no BASE transaction ${base}: it has not begun, or its record has expired`,
  );
}

function notEnded(base: string, head: BaseHead, deadlineMs: number): UnavailableError {
  const { phase, startedMs, steps, failures, failure } = head;
  const since = new Date(startedMs).toISOString();
  const state = phase === "parked" ? "is parked" : "goes on";
  const made = steps === 1 ? "1 step" : `${steps} steps`;
  const failed =
    failure === undefined ? "" : `, and its handler has failed (${failures}), last by ${failure}`;
  return new UnavailableError(
    `BASE transaction ${base} ${state} after ${deadlineMs} ms; it has made ${made} since ` +
      `${since}${failed}`,
  );
}
