/**
 * Faults that a test aims at one client: something happens between a transaction's body and its
 * commit, or its commit's outcome stays unknown. They act where the client meets its ports and its
 * engine; engine and adapters are the real ones, and what follows from a fault is theirs.
 */
import { StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { CallOptions, ClientPorts, CommitLog } from "../core/ports.ts";
import type { Isolation, TransactionId } from "../core/types.ts";
import type { ClientEngine, EngineEvent } from "../engine/types.ts";
import { TouchedKeys } from "./touched-keys.ts";

/** What becomes of a commit whose client never hears of it. */
export type UnknownOutcome = "committed" | "aborted";

export type FinishedBody = { readonly isolation: Isolation; readonly touched: TouchedKeys };

/** What other programs of the cloud do. */
export type Others = {
  /** Looks at each body that has ended and has written something, before its commit. */
  beforeCommit(body: FinishedBody): Promise<void>;
  /** Before each body, and after the last one of a transaction; undefined: nothing. */
  betweenBodies(): Promise<void> | undefined;
};

/** From the request that may commit it to the end of the call that it is for. */
type Silence = {
  readonly outcome: UnknownOutcome;
  /** It touches mixed tables: its first request only asks for a place in the log. */
  readonly isMixed: boolean;
  /** That has asked for its place. */
  placed: TransactionId | undefined;
  readonly over: Promise<void>;
  readonly end: () => void;
};

export class DirectedFaults {
  readonly #others: Others;
  readonly #once: (() => Promise<void>)[] = [];
  readonly #wanted: UnknownOutcome[] = [];
  /** The fault that waits for the next request to be sent, and then lasts. */
  #next: Silence | undefined;
  #silence: Silence | undefined;

  /** @param others what they do before a commit comes after what was aimed at this client. */
  constructor(others: Others) {
    this.#others = others;
  }

  /** The next transaction that has written something waits for `act` before it commits. */
  beforeNextCommit(act: () => Promise<void>): void {
    this.#once.push(act);
  }

  /**
   * The next transaction that has written something ends in `CommitUnknownError` at its deadline.
   */
  nextCommitUnknown(outcome: UnknownOutcome): void {
    this.#wanted.push(outcome);
  }

  /** Must see every event of the engine. */
  observe(event: EngineEvent): void {
    const next = this.#next;
    if (event.kind !== "sent" || next === undefined) return;
    if (next.isMixed && next.placed === undefined) next.placed = event.transactionId;
    else if (!next.isMixed || !event.resend) this.#silence ??= next;
  }

  engine(engine: ClientEngine): ClientEngine {
    return {
      native: engine.native,
      base: () => engine.base(),
      changes: (wish) => engine.changes(wish),
      consume: (wish, handle) => engine.consume(wish, handle),
      transact: async (wish, body, codec) => {
        const silences: Silence[] = [];
        try {
          return await engine.transact(
            wish,
            async (transaction) => {
              const others = this.#others.betweenBodies();
              if (others !== undefined) await others;
              const touched = new TouchedKeys();
              const result = await body(touched.observing(transaction));
              if (touched.written.size > 0) {
                await this.#interfere({ isolation: wish.isolation ?? "serializable", touched });
                silences.push(...this.#armed(touched.isMixed));
              }
              return result;
            },
            codec,
          );
        } finally {
          for (const silence of silences) silence.end();
          const others = this.#others.betweenBodies();
          if (others !== undefined) await others;
        }
      },
      snapshot: (wish, body) => engine.snapshot(wish, body),
      outcome: (id, wish) => engine.outcome(id, wish),
      close: () => engine.close(),
    };
  }

  /** During a silence nothing arrives at the stream, or nothing comes back from the log. */
  ports<Ports extends ClientPorts>(ports: Ports): Ports {
    const heard = async (options: CallOptions | undefined): Promise<void> => {
      const silence = this.#silence;
      if (silence === undefined) return;
      // What was asked to be prepared is voted down by others, who must not be heard either.
      if (silence.outcome === "aborted" && !silence.isMixed) return;
      await unlessAborted(silence.over, options?.signal);
    };
    return {
      ...ports,
      mixed: {
        ...ports.mixed,
        writeLocally: async (write, options) => {
          const silence = (this.#silence ??= this.#next);
          if (silence === undefined) return ports.mixed.writeLocally(write, options);
          if (silence.outcome === "committed") await ports.mixed.writeLocally(write, options);
          await unlessAborted(silence.over, options?.signal).catch(() => undefined);
          return { kind: "unknown", cause: new Error("the write, or its answer, was lost") };
        },
      },
      stream: {
        ...ports.stream,
        put: async (shard, records, options) => {
          if (this.#silence?.outcome !== "aborted") {
            return ports.stream.put(shard, records, options);
          }
          await ports.clock.sleep(limits.callTimeoutMsDefault, options?.signal);
          const cause = new Error("the request was lost");
          return records.map(() => ({ kind: "unknown", cause }) as const);
        },
      },
      log: {
        ...ports.log,
        ...this.#append(ports),
        readAfter: async (shard, after, options) => {
          await heard(options);
          return ports.log.readAfter(shard, after, options);
        },
        readAt: async (shard, position, options) => {
          await heard(options);
          return ports.log.readAt(shard, position, options);
        },
      },
    };
  }

  /** A block of the client's own is lost like a request, or its answer is. */
  #append({ log, clock }: ClientPorts): Partial<Pick<CommitLog, "append">> {
    const { append } = log;
    if (append === undefined) return {};
    return {
      append: async (shard, block, options) => {
        const silence = this.#silence;
        if (silence?.outcome === "aborted") {
          await clock.sleep(limits.callTimeoutMsDefault, options?.signal);
          throw new StoreError("unavailable", "the block was lost");
        }
        const answer = await append(shard, block, options);
        // Another block stands there, and nothing was committed: the next put is the one.
        if (answer !== "appended") this.#silence = undefined;
        else if (silence !== undefined) await unlessAborted(silence.over, options?.signal);
        return answer;
      },
    };
  }

  async #interfere(body: FinishedBody): Promise<void> {
    for (const act of this.#once.splice(0)) await act();
    await this.#others.beforeCommit(body);
  }

  /** Arms the fault that was asked for longest ago; it strikes when the request is sent. */
  #armed(isMixed: boolean): readonly Silence[] {
    const outcome = this.#next === undefined ? this.#wanted.shift() : undefined;
    if (outcome === undefined) return [];
    let resolve: () => void = () => undefined;
    const over = new Promise<void>((settle) => {
      resolve = settle;
    });
    const silence: Silence = {
      ...{ outcome, isMixed, placed: undefined, over },
      end: () => {
        if (this.#next === silence) this.#next = undefined;
        if (this.#silence === silence) this.#silence = undefined;
        resolve();
      },
    };
    this.#next = silence;
    return [silence];
  }
}

function unlessAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    };
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener("abort", abort, { once: true });
    void promise.then(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    });
  });
}
