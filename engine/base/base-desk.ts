/**
 * BASE transactions for whoever has no handlers: asks for them, looks them up, lets parked ones go
 * on, and takes back what has not begun.
 */
import { CommitUnknownError, CorruptDataError } from "../../core/errors.ts";
import { sameValue } from "../../core/item-content.ts";
import * as limits from "../../core/limits.ts";
import type { RunsTransactions } from "../attempts/guard.ts";
import { waitBackoff } from "../backoff.ts";
import type { EngineCore } from "../engine-core.ts";
import { assertId } from "./base-errors.ts";
import { baseOf, newToken, partsOf, type NamedBase, type Signalled } from "./base-name.ts";
import { retryAtMsOf } from "./failures.ts";
import { wantedOf } from "./open-list.ts";
import { isRefused, type LookedAt, type ShownHead } from "./record.ts";
import { assertKept } from "./step-end.ts";
import { BaseStore } from "./store.ts";
import type {
  BaseList,
  BaseLook,
  BaseRequest,
  BaseRequested,
  BaseStatus,
  ListOptions,
  LooksAtBases,
} from "./types.ts";

const requestBackoff = { baseMs: 20, capMs: 1_000 };

export class BaseDesk implements LooksAtBases {
  readonly #core: EngineCore;
  readonly store: BaseStore;
  readonly #closing: AbortSignal;

  constructor(
    core: EngineCore,
    runner: RunsTransactions,
    closing: AbortSignal = new AbortController().signal,
  ) {
    this.#core = core;
    this.store = new BaseStore(core, runner);
    this.#closing = closing;
  }

  async request({ signal, isChecked, ...wanted }: BaseRequest): Promise<BaseRequested> {
    const { id, name, version, input } = wanted;
    assertId(id);
    assertKept(`the input of BASE transaction "${name}" has`, input, "input");
    await this.ready();
    const base = baseOf(wanted);
    const request = this.newToken();
    const record = { name, version, input, request, isUnchecked: !isChecked };
    const head = await this.#untilKnown(signal, () =>
      this.store.requests.request(base, record, { signal }),
    );
    const isSame = head.version === version && sameValue(head.input, input);
    const status = await this.#statusOf(base, head);
    return { isNew: head.request === request, isSame, status };
  }

  async cancel(of: NamedBase, { signal }: Signalled = {}): Promise<BaseStatus | undefined> {
    await this.ready();
    const base = baseOf(of);
    const head = await this.#untilKnown(signal, () => this.store.requests.cancel(base, { signal }));
    return head && this.#statusOf(base, head);
  }

  /**
   * For what finds itself again: made once more where nobody knows whether it was committed. As
   * long as no try of it finds that, no later error says that nothing was.
   */
  async #untilKnown<Known>(
    signal: AbortSignal | undefined,
    task: () => Promise<Known>,
  ): Promise<Known> {
    const { clock, random } = this.#core.ports;
    let unknown: CommitUnknownError | undefined;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await task();
      } catch (error) {
        const isLast = attempt + 1 >= limits.baseRequestAttemptsMax;
        const isUnknown = error instanceof CommitUnknownError;
        if (isUnknown) unknown = error;
        if (!isUnknown || isLast) throw unknown ?? error;
        const wait = { backoff: requestBackoff, attempt, signal };
        await waitBackoff({ clock, random }, wait).catch(() => {
          throw error;
        });
      }
    }
  }

  async look(of: NamedBase, options: Signalled = {}): Promise<BaseLook | undefined> {
    await this.ready();
    const base = baseOf(of);
    try {
      return await this.#look(base, options);
    } catch (cause) {
      if (!(cause instanceof CorruptDataError)) throw cause;
      return { status: damagedStatus({ base, version: 0 }, cause), result: undefined };
    }
  }

  async #look(base: string, options: Signalled): Promise<BaseLook | undefined> {
    const head = (await this.store.heads([base], options)).get(base);
    const status = head && (await this.#statusOf(base, head));
    if (head === undefined || status?.isReleased !== true) {
      await this.store.assertListed(base, options);
    }
    return head && status && { status, result: status.isReleased ? head.result : undefined };
  }

  async list({ name, lookedAtMax, lookMs, signal }: ListOptions = {}): Promise<BaseList> {
    await this.ready();
    const { clock } = this.#core.ports;
    const untilMs = lookMs === undefined ? Infinity : clock.monotonicMs() + lookMs;
    const listed = await this.store.open({ signal });
    const { looked, strange, count } = wantedOf(listed, { name, lookedAtMax });
    const damaged = strange.map(({ base, cause }) => damagedStatus({ base, version: 0 }, cause));
    const versions = new Map(looked.map(({ base, version }) => [base, version]));
    const isOver = (): boolean => clock.monotonicMs() >= untilMs;
    const { heads, isCut } = await this.store.lookAt([...versions.keys()], { signal, isOver });
    // Of those that were cancelled or refused meanwhile nothing is open.
    const left = heads.filter((each) => "cause" in each || !isRefused(each.head));
    const statuses = await Promise.all(
      left.map((each) => this.#statusOrDamaged(each, versions.get(each.base) ?? 0)),
    );
    const bases = [...damaged, ...statuses];
    const isWhole = looked.length === count && !isCut;
    return {
      all: isWhole ? bases.length : count + damaged.length,
      bases: bases.sort((a, b) => a.startedMs - b.startedMs),
    };
  }

  async #statusOrDamaged(looked: LookedAt<ShownHead>, version: number): Promise<BaseStatus> {
    const { base } = looked;
    if ("cause" in looked) return damagedStatus({ base, version }, looked.cause);
    try {
      return await this.#statusOf(base, looked.head);
    } catch (cause) {
      if (!(cause instanceof CorruptDataError)) throw cause;
      return damagedStatus({ base, version }, cause);
    }
  }

  async #statusOf(base: string, head: ShownHead): Promise<BaseStatus> {
    const { name, version, steps, phase, startedMs, lastMs, refusal } = head;
    const { failures, failingSinceMs, failure } = head;
    const isReleased = phase === "ended" && (await this.store.seesReleased(base));
    const { id } = partsOf(base);
    const counted = { steps, phase, startedMs, lastMs, failures, failingSinceMs, failure, refusal };
    return { id, name, version, ...counted, retryAtMs: retryAtMsOf(head), isReleased };
  }

  async resume(of: NamedBase): Promise<boolean> {
    await this.ready();
    return this.store.resume(baseOf(of));
  }

  newToken(): string {
    return newToken(this.#core.ports.random);
  }

  async ready(): Promise<void> {
    this.#core.assertOpen();
    const { registry } = this.#core;
    await this.#core.ready();
    // The first table for BASE transactions may have been registered since.
    if (!registry.hasBase) await registry.lookAgain(this.#closing);
    this.store.records();
  }
}

function damagedStatus(
  { base, version }: { readonly base: string; readonly version: number },
  cause: unknown,
): BaseStatus {
  const failure = cause instanceof Error ? cause.message : "unknown";
  return {
    ...{ ...partsOf(base), version, phase: "damaged", failure, failures: 0 },
    ...{ steps: 0, startedMs: 0, lastMs: 0, refusal: undefined, isReleased: false },
  };
}
