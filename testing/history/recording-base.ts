/**
 * Records the steps of BASE transactions: every run of a step's body becomes a transaction of the
 * history that names the BASE transaction as its parent, and says which of its steps it is.
 */
import { baseOf } from "../../engine/base/base-name.ts";
import { isOfBody } from "../../engine/base/step-errors.ts";
import type {
  BaseEngine,
  BaseSteps,
  HandlerDefinition,
  LooksAtBases,
  StepBody,
} from "../../engine/base/types.ts";
import type { AttributeValue } from "../../core/types.ts";
import type { BodyTransaction } from "../../engine/types.ts";
import type { AttemptRecord, HistoryRecorder } from "./recorder.ts";
import type { RecordingOptions } from "./recording-options.ts";
import { recordingBody } from "./recording-transaction.ts";

type Bases = BaseEngine<BodyTransaction>;
type Definition = HandlerDefinition<BodyTransaction>;

export function recordingBases(
  bases: Bases,
  recorder: HistoryRecorder,
  options: RecordingOptions,
): Bases {
  const recorded = (definition: Definition): Definition => ({
    ...definition,
    handler: (steps, input) =>
      definition.handler(new RecordedSteps(steps, recorder, options), input),
  });
  return {
    ...recordingDesk(bases, recorder),
    start: (start) => bases.start({ ...start, definition: recorded(start.definition) }),
    run: (wish) => bases.run({ ...wish, definitions: wish.definitions.map(recorded) }),
    result: async (of, wish) => {
      const result = await bases.result(of, wish);
      recorder.baseTold(baseOf(of));
      return result;
    },
    status: async (of) => {
      const status = await bases.status(of);
      if (status?.isReleased === true) recorder.baseTold(baseOf(of));
      return status;
    },
    close: () => bases.close(),
  };
}

/** What needs no handler. */
export function recordingDesk(desk: LooksAtBases, recorder: HistoryRecorder): LooksAtBases {
  return {
    request: (request) => desk.request(request),
    cancel: (of, wish) => desk.cancel(of, wish),
    look: async (of, wish) => {
      const look = await desk.look(of, wish);
      if (look?.status.isReleased === true) recorder.baseTold(baseOf(of));
      return look;
    },
    list: (wish) => desk.list(wish),
    resume: (of) => desk.resume(of),
  };
}

/** How the last run of a step's body has ended. */
type BodyEnd =
  | { readonly kind: "returned"; readonly value: AttributeValue }
  | { readonly kind: "threw"; readonly error: unknown };

class RecordedSteps implements BaseSteps<BodyTransaction> {
  readonly #steps: BaseSteps<BodyTransaction>;
  readonly #recorder: HistoryRecorder;
  readonly #options: RecordingOptions;
  #number = 0;

  constructor(
    steps: BaseSteps<BodyTransaction>,
    recorder: HistoryRecorder,
    options: RecordingOptions,
  ) {
    this.#steps = steps;
    this.#recorder = recorder;
    this.#options = options;
  }

  get nowMs(): number {
    return this.#steps.nowMs;
  }

  get id(): string {
    return this.#steps.id;
  }

  get base(): string {
    return this.#steps.base;
  }

  get isChecked(): boolean {
    return this.#steps.isChecked;
  }

  async step(name: string, body: StepBody<BodyTransaction>): Promise<AttributeValue> {
    this.#number += 1;
    const number = this.#number;
    let startNs = this.#recorder.nowNs();
    let last: { readonly attempt: AttemptRecord; end?: BodyEnd } | undefined;
    const recordedBody: StepBody<BodyTransaction> = async (transaction) => {
      this.#runAgain(last);
      const attempt = this.#begin(number, startNs);
      const run: NonNullable<typeof last> = { attempt };
      last = run;
      try {
        const tx = recordingBody(transaction, attempt, this.#options, this.#recorder);
        const value = await body(tx);
        run.end = { kind: "returned", value };
        return value;
      } catch (error) {
        // What it has read is recorded, and held, and nothing that it wrote.
        attempt.forgetWrites();
        run.end = { kind: "threw", error };
        throw error;
      } finally {
        attempt.bodyEnded();
        startNs = this.#recorder.nowNs();
      }
    };
    const over = (isOwn: (end: BodyEnd) => boolean): void => {
      const { attempt, end } = last ?? {};
      if (attempt === undefined) return;
      if (end !== undefined && isOwn(end)) attempt.committedAsStep();
      else attempt.unknown(undefined);
    };
    try {
      const value = await this.#steps.step(name, recordedBody);
      // What another run has recorded is another object.
      over((end) => end.kind === "returned" && end.value === value);
      return value;
    } catch (error) {
      // A first step that throws leaves nothing.
      const isStep = number > 1 && isOfBody(error);
      over((end) => isStep && end.kind === "threw" && end.error === error);
      throw error;
    }
  }

  /** A step is made again also where nobody has heard of its commit, which may have been made. */
  #runAgain(last: { readonly attempt: AttemptRecord; readonly end?: BodyEnd } | undefined): void {
    if (last?.end?.kind === "returned") last.attempt.unknown(undefined);
    else last?.attempt.abort();
  }

  #begin(step: number, startNs: number): AttemptRecord {
    const { process } = this.#options;
    const parent = this.base;
    this.#recorder.baseSeen(parent, { process, startNs });
    return this.#recorder.begin({
      ...{ process, kind: "txn", isolation: "serializable", startNs, parent, step },
      isTimed: false,
    });
  }
}
