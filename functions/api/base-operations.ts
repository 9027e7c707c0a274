/**
 * BASE transactions by REST, without HTTP (docs/base.md). The service has no handlers: what is
 * asked for here is begun by a runner that has them.
 */
import { CommitUnknownError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { BaseLook, BaseStatus, LooksAtBases } from "../../engine/base/types.ts";
import type { Engine } from "../../engine/types.ts";
import { keptValue, valueOfKept } from "../../schemas/kept-value.ts";
import type {
  BaseName,
  BaseQuery,
  BaseRequestBody,
  BaseRequestedAnswer,
  BaseResumedAnswer,
  BaseStatusAnswer,
  OpenBasesAnswer,
  OpenBasesQuery,
} from "../../schemas/rest/base.ts";
import { decodeValue, encodeItem, type ItemFormat } from "../../schemas/rest/items.ts";
import type { Allowance } from "./deadline.ts";
import { ApiProblem } from "./problem.ts";

type Signalled = Pick<Allowance, "signal">;

/** Where an input lies in its record: so deep, already, is what a caller gives. */
const inputDepth = 3;

export class BaseOperations {
  readonly #engine: Pick<Engine, "bases">;

  constructor(engine: Pick<Engine, "bases">) {
    this.#engine = engine;
  }

  async request(request: BaseRequestBody, { signal }: Signalled): Promise<BaseRequestedAnswer> {
    const { name, id, version, format, input: given } = request;
    const place = { format, field: "input", depth: inputDepth };
    const input = keptValue(given === undefined ? undefined : decodeValue(given, place));
    const wanted = { name, id, version, input, isChecked: false, signal };
    const asked = await this.#at((desk) => desk.request(wanted));
    if (!asked.isSame) {
      throw new ApiProblem(
        "base-id-reused",
        `BASE transaction ${name}/${id} was begun, or asked for, with another input or version; ` +
          "that one counts. Take a new id for each, or look it up",
        { outcome: "aborted", field: "id" },
      );
    }
    const fresh = statusAnswer({ ...none, status: asked.status });
    if (asked.isNew) return { isNew: true, base: fresh };
    const found = await this.#look({ name, id }, { format, signal });
    return { isNew: false, base: found ?? fresh };
  }

  async look({ name, id, format }: BaseQuery, { signal }: Signalled): Promise<BaseStatusAnswer> {
    const found = await this.#look({ name, id }, { format, signal });
    if (found === undefined) throw unknownBase({ name, id });
    return found;
  }

  async cancel({ name, id, format }: BaseQuery, { signal }: Signalled): Promise<BaseStatusAnswer> {
    const status = await this.#at((desk) => desk.cancel({ name, id }, { signal }));
    if (status === undefined) throw unknownBase({ name, id });
    const answer = statusAnswer({ result: undefined, status }, format);
    if (answer.phase === "cancelled" || answer.phase === "refused") return answer;
    const made = answer.steps === 1 ? "1 step" : `${answer.steps} steps`;
    throw new ApiProblem(
      "base-begun",
      `BASE transaction ${name}/${id} has made ${made}, and goes on to its end: ` +
        "what it has done its handler can make good, or another transaction after it",
      { outcome: "aborted", field: "id" },
    );
  }

  async open({ name, limit }: OpenBasesQuery, { signal }: Signalled): Promise<OpenBasesAnswer> {
    const bounds = { lookedAtMax: limits.restBasesLookedAtMax, lookMs: limits.restBasesLookMs };
    const { all, bases: found } = await this.#at((desk) => desk.list({ name, ...bounds, signal }));
    // What waits for somebody comes first.
    const stuck = found.filter((each) => isStuck(each));
    const others = found.filter((each) => !isStuck(each));
    const bases = [...stuck, ...others]
      .slice(0, limit === undefined ? limits.restBasesMax : Number(limit))
      .map((status) => statusAnswer({ ...none, status }));
    return { all, bases };
  }

  async resume(of: BaseName, { signal }: Signalled): Promise<BaseResumedAnswer> {
    const isResumed = await this.#at((desk) => desk.resume(of));
    const base = await this.#look(of, { format: "json", signal });
    if (base === undefined) throw unknownBase(of);
    return { isResumed, base };
  }

  async #look(
    of: BaseName,
    { format, signal }: Signalled & { readonly format: ItemFormat },
  ): Promise<BaseStatusAnswer | undefined> {
    const look = await this.#at((desk) => desk.look(of, { signal }));
    return look && statusAnswer(look, format);
  }

  /** All of it finds itself again, so that of no commit anybody has to settle the outcome. */
  async #at<Result>(task: (desk: LooksAtBases) => Promise<Result>): Promise<Result> {
    try {
      return await task(await this.#engine.bases());
    } catch (error) {
      if (!(error instanceof CommitUnknownError)) throw error;
      throw new ApiProblem(
        "unavailable",
        "no answer in time whether it is recorded: send the same request again, which finds it",
        { outcome: "unknown" },
      );
    }
  }
}

const none = { result: undefined } as const;

/** Nothing of it has happened as yet. */
export function isWaiting({ phase, steps }: BaseStatusAnswer): boolean {
  return steps === 0 && (phase === "requested" || phase === "parked");
}

function isStuck({ phase }: BaseStatus): boolean {
  return phase === "parked" || phase === "damaged";
}

/** The phases of whoever looks: one that has ended is over when others see what it has written. */
function phaseOf({ phase, isReleased }: BaseStatus): BaseStatusAnswer["phase"] {
  return isReleased ? "released" : phase;
}

function statusAnswer(
  { status, result: kept }: BaseLook,
  format: ItemFormat = "json",
): BaseStatusAnswer {
  const { name, id, version, steps, startedMs, lastMs, refusal } = status;
  const { failures, failingSinceMs, retryAtMs, failure } = status;
  const value = kept && valueOfKept(kept);
  const result = value && encodeItem({ value }, format)["value"];
  return {
    ...{ name, id, version, phase: phaseOf(status), steps },
    ...(status.phase === "damaged" ? {} : { since: momentText(startedMs) }),
    ...(lastMs === 0 ? {} : { lastHeard: momentText(lastMs) }),
    failures,
    ...(failingSinceMs === undefined ? {} : { failingSince: momentText(failingSinceMs) }),
    ...(retryAtMs === undefined ? {} : { retriesAt: momentText(retryAtMs) }),
    ...(failure === undefined ? {} : { failure }),
    ...(refusal === undefined ? {} : { refusal: refusalAnswer(refusal) }),
    ...(result === undefined ? {} : { result }),
  };
}

function refusalAnswer({
  step,
  name,
  message,
}: NonNullable<BaseStatus["refusal"]>): NonNullable<BaseStatusAnswer["refusal"]> {
  return { ...(step === undefined ? {} : { step }), name, message };
}

function momentText(ms: number): string {
  return new Date(ms).toISOString();
}

function unknownBase({ name, id }: BaseName): ApiProblem {
  const detail =
    `there is no BASE transaction ${name}/${id}: it was not begun or requested, or it was over ` +
    "more than a week ago";
  return new ApiProblem("not-found", detail, { field: "id" });
}
