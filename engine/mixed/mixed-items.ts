/**
 * What transactions do to single items of mixed tables: the state machines of this folder, driven
 * over the store's calls (docs/adr/0014-native-operations.md, Items to Local commit). It knows
 * nothing of a transaction but its id: what its fences, votes and installs add up to is the
 * caller's. Paper: Mediator §4.
 */
import { bars, type FenceFate, type MetFence } from "../../core/fence.ts";
import { StoreError, LateSignatureError, UnavailableError } from "../../core/errors.ts";
import { isCertain } from "../../core/item-identity.ts";
import * as limits from "../../core/limits.ts";
import type {
  Attempted,
  FencedState,
  ItemAddress,
  MixedCallOptions,
  MixedItemStore,
} from "../../core/mixed-items-port.ts";
import type { CallOptions, Clock, Random } from "../../core/ports.ts";
import type { Item, Stamp, TransactionId } from "../../core/types.ts";
import { waitBackoff } from "../backoff.ts";
import { ignore, Semaphore } from "../concurrency.ts";
import { removeFences } from "../installing/remove-fences.ts";
import {
  afterFenceCall,
  afterFenceFate,
  firstFenceCall,
  type FenceStep,
} from "./fence-attempts.ts";
import {
  afterLocalCall,
  afterLocalFate,
  afterLook,
  firstLocalCall,
  type LocalCall,
  type LocalStep,
  type LocalTask,
} from "./local-commit.ts";
import { isUntouched, stateOf, type SeenItem } from "./seen-item.ts";

/** What becomes of fences that are met, as the log says. */
export type FenceJudge = {
  /** By a tail whose refresh began after this call. */
  fateOf(met: MetFence, at: ItemAddress, options?: CallOptions): Promise<FenceFate>;
  /**
   * Brings the transaction's outcome about. Resolves once nothing of it is to come to this item: it
   * is aborted, or its install there was made or refused.
   */
  settle(met: MetFence, at: ItemAddress, options?: SettleOptions): Promise<void>;
};

/** `times`: how many were settled for the same step, this one included. */
export type SettleOptions = CallOptions & { readonly times?: number };

export type FenceResult =
  | { readonly kind: "fenced"; readonly stamp: Stamp }
  /** It is not as it was read: vote no. */
  | { readonly kind: "changed" }
  /** Others were faster, again and again: vote no. */
  | { readonly kind: "crowded" }
  /**
   * The answer of a call was lost, so a fence may come that late: vote no. What is aborted is
   * cleaned up once more when no copy can come any more; what is committed never is.
   */
  | { readonly kind: "unsure"; readonly cause: unknown };

export type LocalResult =
  | { readonly kind: "committed" }
  | { readonly kind: "changed" }
  /** Nothing has happened, and cannot this way: prepare and vote. */
  | { readonly kind: "refer" }
  | { readonly kind: "unknown"; readonly cause: unknown };

type LocalRun = {
  readonly at: ItemAddress;
  readonly task: LocalTask;
  readonly tries: { calls: number; settles: number };
};

const identified = { kind: "identified" } as const;
const tryAgainBackoff = { baseMs: 4, capMs: 200 };

export class MixedItems {
  readonly #store: MixedItemStore;
  readonly #time: { readonly clock: Clock; readonly random: Random };
  readonly #judge: FenceJudge;
  /** Held for one call, never while a transaction is settled: its installs take places, too. */
  readonly #places = new Semaphore(limits.installConcurrencyMax);
  /** By table: what its last blind fence has found. A wrong guess is a call in vain. */
  readonly #guesses = new Map<string, FencedState>();

  constructor(
    ports: { readonly mixed: MixedItemStore; readonly clock: Clock; readonly random: Random },
    judge: FenceJudge,
  ) {
    this.#store = ports.mixed;
    this.#time = ports;
    this.#judge = judge;
  }

  /**
   * One consistent get. A fence that bars is settled first, and the item read again.
   * @throws UnavailableError when one fence after the other stands there. StoreError,
   * CorruptDataError.
   */
  async read(at: ItemAddress, options?: CallOptions): Promise<SeenItem> {
    return this.readBehind(at, await this.#store.read(at, options), options);
  }

  /** As `read`, where the item has been read already. */
  async readBehind(
    at: ItemAddress,
    first: Item | undefined,
    options?: CallOptions,
  ): Promise<SeenItem> {
    let stored = first;
    for (let times = 1; ; times += 1) {
      const { fence, ...seen } = stateOf(stored, at.table);
      if (fence === undefined) return seen;
      const met = { fence, under: seen.identity };
      if (!(await this.#clears(met, at, { ...options, times }))) return { ...seen, over: fence };
      stored = await this.#store.read(at, options);
    }
  }

  /**
   * Whether a commit was on its way to what a page has shown, and is not any more: then the page
   * has to be read again.
   * @param options.own a transaction whose fences are nobody's but the caller's.
   * @throws as `read`.
   */
  async clears(
    at: ItemAddress,
    stored: Item,
    { own, ...options }: SettleOptions & { readonly own?: TransactionId | undefined },
  ): Promise<boolean> {
    const { fence, identity } = stateOf(stored, at.table);
    if (fence === undefined || fence === own) return false;
    return this.#clears({ fence, under: identity }, at, options);
  }

  /**
   * Settles a fence, if it bars: then the item has to be read again.
   * @throws UnavailableError when it is one too many.
   */
  async #clears(met: MetFence, at: ItemAddress, options: SettleOptions): Promise<boolean> {
    // mutant: reads-around
    if (!bars(met, await this.#judge.fateOf(met, at, options))) return false;
    if ((options.times ?? 1) > limits.mixedSettlesMax) {
      throw new UnavailableError(`an item of table "${at.table.name}" is fenced again and again`);
    }
    // probe: mixed-read-meets-fence
    await this.#judge.settle(met, at, options);
    return true;
  }

  /**
   * Indices of those that somebody has written since. A commit that is on its way to an item has
   * happened: its fence is seen to first.
   */
  async readAgain(
    reads: readonly { readonly at: ItemAddress; readonly seen: SeenItem }[],
    options?: CallOptions,
  ): Promise<readonly number[]> {
    const items = await this.#store.readAll(
      reads.map(({ at }) => at),
      options,
    );
    const changed = await Promise.all(
      reads.map(async ({ at, seen }, index) => {
        const now = await this.readBehind(at, items[index], options);
        return isUntouched(seen, now) ? undefined : index;
      }),
    );
    return changed.filter((index) => index !== undefined);
  }

  /** One of the items on which that transaction's fence does not stand. */
  async lostFence(
    id: TransactionId,
    addresses: readonly ItemAddress[],
    options?: CallOptions,
  ): Promise<ItemAddress | undefined> {
    const items = await this.#store.readAll(addresses, options);
    return addresses.find(({ table }, i) => stateOf(items[i], table).fence !== id);
  }

  /**
   * Fences one item that the prepared transaction will write, and checks what it has read there.
   * Where it does not end as fenced, fences of it may stand: clean up once a vote against it does.
   * @throws StoreError, CorruptDataError.
   */
  async fence(
    request: {
      readonly id: TransactionId;
      readonly at: ItemAddress;
      /** Undefined: a blind write. */
      readonly read: SeenItem | undefined;
    },
    options?: MixedCallOptions,
  ): Promise<FenceResult> {
    const { id, at, read } = request;
    const { name } = at.table;
    const task = { id, keys: at.table, read, guess: this.#guesses.get(name) ?? identified };
    let step: FenceStep = firstFenceCall(task);
    let calls = 0;
    let settles = 0;
    for (;;) {
      if (step.kind === "fenced" || step.kind === "changed" || step.kind === "unsure") return step;
      if (step.kind === "judge") {
        step = afterFenceFate(step.met, await this.#judge.fateOf(step.met, at, options));
      } else if (step.kind === "settle") {
        // probe: fence-meets-fence
        settles += 1;
        if (settles > limits.mixedSettlesMax) return { kind: "crowded" };
        await this.#judge.settle(step.met, at, { ...options, times: settles });
        step = step.then;
      } else {
        if (calls === limits.mixedAttemptsMax) return { kind: "crowded" };
        const call = step;
        const nonce = this.#nonce();
        const fence = { table: at.table, key: at.key, id, expects: call.expects, nonce };
        const answer = await this.#once(calls, options, () =>
          this.#store.fence({ ...fence, over: call.over }, options),
        );
        calls += 1;
        // Throttled: nothing happened.
        if (answer !== "throttled") step = afterFenceCall(task, { call, nonce }, answer);
        if (step.kind === "fenced" && read === undefined) {
          this.#guesses.set(name, isCertain(call.expects) ? identified : call.expects);
        }
      }
    }
  }

  /** Takes an aborted transaction's fences and placeholders away, where they stand. */
  async cleanUp(
    id: TransactionId,
    addresses: readonly ItemAddress[],
    options?: MixedCallOptions,
  ): Promise<void> {
    await removeFences(
      this.#store,
      { id, addresses },
      { call: options, inPlace: (write) => this.#places.run(write) },
    );
  }

  /**
   * Commits what reads and writes this one item only, without the log.
   * @throws StoreError, CorruptDataError: nothing has happened.
   */
  async commitLocally(
    request: {
      readonly at: ItemAddress;
      readonly read: SeenItem | undefined;
      readonly item: Item | undefined;
    },
    options?: MixedCallOptions,
  ): Promise<LocalResult> {
    const { at, read, item } = request;
    const task = { keys: at.table, read, item };
    let step: LocalStep = firstLocalCall(task);
    const tries = { calls: 0, settles: 0 };
    for (;;) {
      if (step.kind === "committed" || step.kind === "changed") return step;
      if (step.kind === "refer" || step.kind === "unknown") return step;
      if (tries.calls === limits.mixedAttemptsMax || tries.settles > limits.mixedSettlesMax) {
        return isUnsure(step) ? { kind: "unknown", cause: undefined } : { kind: "refer" };
      }
      try {
        step = await this.#localStep({ at, task, tries }, step, options);
      } catch (cause) {
        if (isUnsure(step)) return { kind: "unknown", cause };
        throw cause;
      }
    }
  }

  async #localStep(
    { at, task, tries }: LocalRun,
    step: Exclude<LocalStep, LocalResult>,
    options: MixedCallOptions | undefined,
  ): Promise<LocalStep> {
    switch (step.kind) {
      case "judge":
        return afterLocalFate(step, await this.#judge.fateOf(step.met, at, options));
      case "settle":
        // probe: local-commit-meets-fence
        tries.settles += 1;
        await this.#judge.settle(step.met, at, { ...options, times: tries.settles });
        return step.then;
      case "look":
        return afterLook(step, stateOf(await this.#store.read(at, options), at.table));
      default: {
        const made = { call: step, nonce: this.#nonce() };
        const answer = await this.#once(tries.calls, options, () => this.#send(at, made, options));
        tries.calls += 1;
        return answer === "throttled" ? step : afterLocalCall(task, made, answer);
      }
    }
  }

  #send(
    { table, key }: ItemAddress,
    { call, nonce }: { readonly call: LocalCall; readonly nonce: Uint8Array },
    options: MixedCallOptions | undefined,
  ): Promise<Attempted> {
    const base = { table, key, over: call.over, nonce };
    if (call.kind === "stamp")
      return this.#store.stamp({ ...base, expects: call.expects }, options);
    return this.#store.writeLocally(
      { ...base, change: call.change, condition: call.condition },
      options,
    );
  }

  /** One call, after a while if it is not the first one whose answer is missed. */
  async #once(
    attempt: number,
    options: MixedCallOptions | undefined,
    call: () => Promise<Attempted>,
  ): Promise<Attempted | "throttled"> {
    const answer = await this.#places.run(async () => {
      try {
        return await call();
      } catch (error) {
        const isOver =
          error instanceof LateSignatureError || attempt + 1 >= limits.mixedAttemptsMax;
        if (isOver || !(error instanceof StoreError) || error.fault !== "throttled") throw error;
        return "throttled";
      }
    });
    const { signal } = options ?? {};
    const wait = { backoff: tryAgainBackoff, attempt, signal };
    if (answer === "throttled") await waitBackoff(this.#time, wait);
    // Whoever is told to stop meanwhile still has to hear that it may have happened.
    else if (answer.kind === "unknown") await waitBackoff(this.#time, wait).catch(ignore);
    return answer;
  }

  #nonce(): Uint8Array {
    return this.#time.random.bytes(limits.nonceBytes);
  }
}

/** Whether a write may have happened, or may happen yet. */
function isUnsure(step: LocalStep): boolean {
  if (step.kind === "look") return true;
  const call = step.kind === "judge" || step.kind === "settle" ? step.then : step;
  return call.kind === "stamp" && call.lostWrites.length > 0;
}
