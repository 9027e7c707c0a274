/**
 * What is recorded of a BASE transaction, so that any process can go on with it: how it was begun,
 * and what each of its steps has returned or failed with. A step's entry is put by its own commit,
 * and each commit reads and puts the head, so that every step happens once. What is open is listed
 * besides (open-list.ts).
 *
 *     pk            sk            what it says
 *     base#<base>   -             name, version, input, how many steps, how it has ended; or that
 *                                 it is asked for, and nobody has begun it (requests.ts)
 *     base#<base>   step#<n>      its name, what it returned, or its error
 *
 * Paper: Salt §5.1 (the logic of a BASE transaction is logged before its first step commits).
 */
import { CorruptDataError, type BaseRefusal } from "../../core/errors.ts";
import type { AttributeValue, Item, Timestamp } from "../../core/types.ts";
import {
  corrupt,
  count,
  itemKey,
  mapOf,
  momentOf,
  numberOf,
  optionalTextOf,
  textOf,
  texts,
  textsOf,
} from "./attributes.ts";

/** By which handler, in which version, and what it was given. */
export type BaseBeginning = {
  readonly name: string;
  readonly version: number;
  readonly input: AttributeValue;
  /** When its first run began. */
  readonly begunMs: number;
  /** Random: who was first, of those that begin it at once. Undefined in older records. */
  readonly token: string | undefined;
  /** Of the request that it is begun by, random as well; undefined: by none. */
  readonly request?: string | undefined;
  /** Whoever asked for it had no definition to check the input by: each run does. */
  readonly isUnchecked?: boolean;
};

/**
 * `requested`: nobody has begun it, and it holds nothing; so, too, if it is parked without a step.
 * `refused`, `cancelled`: nothing of it has happened, and nothing will.
 */
export type BaseHeadPhase = "requested" | "running" | "parked" | "ended" | "refused" | "cancelled";

export type BaseHead = Omit<BaseBeginning, "begunMs"> & {
  readonly steps: number;
  readonly phase: BaseHeadPhase;
  /** When its run began; of one that is only requested, when it was. */
  readonly startedMs: number;
  /** When it was last heard of. */
  readonly lastMs: number;
  /** Of its handler, since its last step. */
  readonly failures: number;
  /** When the first of these was; undefined of none, and in older records. */
  readonly failingSinceMs?: number | undefined;
  /** For so long after `lastMs` nobody tries it again (failures.ts). */
  readonly restMs?: number | undefined;
  /** Of the last failure of its handler. */
  readonly failure: string | undefined;
  readonly refusal?: BaseRefusal | undefined;
  readonly result: AttributeValue | undefined;
  readonly dependsOn: readonly string[];
};

export type StepError = { readonly name: string; readonly message: string };

export type StepRecord = {
  /** From 1. */
  readonly number: number;
  readonly name: string;
  readonly atMs: number;
  /** Its commit counts above it. Undefined: it has written nothing, or its record is older. */
  readonly after?: Timestamp | undefined;
  /** Keys of the locks that it has taken. */
  readonly locks: readonly Item[];
  readonly end:
    | { readonly kind: "returned"; readonly value: AttributeValue }
    | { readonly kind: "failed"; readonly failure: StepError };
};

const headPhases: readonly BaseHeadPhase[] = [
  ...(["requested", "running", "parked", "ended", "refused", "cancelled"] as const),
];
const headSort = "-";
const stepPrefix = "step#";

export function recordPartition(base: string): string {
  return `base#${base}`;
}

export function headKey(base: string): Item {
  return itemKey(recordPartition(base), headSort);
}

export function headItem(base: string, head: BaseHead): Item {
  return {
    ...headKey(base),
    name: { S: head.name },
    version: count(head.version),
    input: { M: { value: head.input } },
    steps: count(head.steps),
    phase: { S: head.phase },
    startedMs: count(head.startedMs),
    lastMs: count(head.lastMs),
    failures: count(head.failures),
    dependsOn: texts(head.dependsOn),
    ...(head.token === undefined ? {} : { token: { S: head.token } }),
    ...(head.request === undefined ? {} : { request: { S: head.request } }),
    ...(head.isUnchecked === true ? { unchecked: { BOOL: true } } : {}),
    ...(head.refusal === undefined ? {} : { refusal: { M: refusalItem(head.refusal) } }),
    ...(head.failingSinceMs === undefined ? {} : { failingSinceMs: count(head.failingSinceMs) }),
    ...(head.restMs === undefined ? {} : { restMs: count(head.restMs) }),
    ...(head.failure === undefined ? {} : { failure: { S: head.failure } }),
    ...(head.result === undefined ? {} : { result: { M: { value: head.result } } }),
  };
}

/** Of one that goes on: nothing that has failed before counts. */
export const notFailing = { failures: 0, failingSinceMs: undefined, restMs: undefined } as const;

/** That nobody has begun it, and somebody may. */
export function isWaiting({ phase, steps }: Pick<BaseHead, "phase" | "steps">): boolean {
  return steps === 0 && (phase === "requested" || phase === "parked");
}

/** That it never began, and never will. */
export function isRefused({ phase }: Pick<BaseHead, "phase">): boolean {
  return phase === "refused" || phase === "cancelled";
}

/** Of one whose first step is about to be committed. */
export function newHead({ begunMs, ...beginning }: BaseBeginning, nowMs: number): BaseHead {
  return {
    ...beginning,
    ...{ steps: 0, phase: "running", startedMs: begunMs, lastMs: nowMs, ...notFailing },
    ...{ failure: undefined, result: undefined, dependsOn: [] },
  };
}

export function toHead(item: Item): BaseHead {
  const phase = headPhases.find((each) => each === textOf(item, "phase"));
  // Of a later release: nobody here knows what may be done with it.
  if (phase === undefined) throw corrupt(item, "phase");
  return {
    name: textOf(item, "name"),
    version: numberOf(item, "version"),
    input: valueIn(item, "input"),
    token: optionalTextOf(item, "token"),
    request: optionalTextOf(item, "request"),
    isUnchecked: item["unchecked"] !== undefined,
    refusal: item["refusal"] === undefined ? undefined : toRefusal(mapOf(item, "refusal")),
    steps: numberOf(item, "steps"),
    phase,
    startedMs: momentOf(item, "startedMs"),
    lastMs: momentOf(item, "lastMs"),
    failures: numberOf(item, "failures"),
    failingSinceMs: optional(item, "failingSinceMs", momentOf),
    restMs: optional(item, "restMs", numberOf),
    failure: optionalTextOf(item, "failure"),
    result: item["result"] === undefined ? undefined : valueIn(item, "result"),
    dependsOn: textsOf(item, "dependsOn"),
  };
}

function optional(
  item: Item,
  name: string,
  read: (item: Item, name: string) => number,
): number | undefined {
  return item[name] === undefined ? undefined : read(item, name);
}

function refusalItem({ step, name, message }: BaseRefusal): Item {
  return {
    ...(step === undefined ? {} : { step: { S: step } }),
    name: { S: name },
    message: { S: message },
  };
}

function toRefusal(item: Item): BaseRefusal {
  const [name, message] = [textOf(item, "name"), textOf(item, "message")];
  return { step: optionalTextOf(item, "step"), name, message };
}

function valueIn(item: Item, name: string): AttributeValue {
  return mapOf(item, name)["value"] ?? { NULL: true };
}

export function stepKey(base: string, number: number): Item {
  return itemKey(recordPartition(base), `${stepPrefix}${number.toString().padStart(6, "0")}`);
}

export function stepItem(base: string, step: StepRecord): Item {
  const { number, name, atMs, after, locks, end } = step;
  return {
    ...stepKey(base, number),
    name: { S: name },
    atMs: count(atMs),
    ...(after === undefined ? {} : { after: count(after) }),
    locks: texts(locks.map((key) => lockText(base, key))),
    ...(end.kind === "returned"
      ? { value: { M: { value: end.value } } }
      : { error: { M: { name: { S: end.failure.name }, message: { S: end.failure.message } } } }),
  };
}

/** Undefined for the head, which stands in the same partition. */
export function toStep(item: Item): StepRecord | undefined {
  const sort = textOf(item, "sk");
  if (!sort.startsWith(stepPrefix)) return undefined;
  const error = item["error"];
  return {
    number: Number(sort.slice(stepPrefix.length)),
    name: textOf(item, "name"),
    atMs: momentOf(item, "atMs"),
    ...(item["after"] === undefined ? {} : { after: numberOf(item, "after") as Timestamp }),
    locks: textsOf(item, "locks").map((text) => toLockKey(baseOfRecord(item), text)),
    end:
      error !== undefined && "M" in error
        ? {
            kind: "failed",
            failure: { name: textOf(error.M, "name"), message: textOf(error.M, "message") },
          }
        : { kind: "returned", value: valueIn(item, "value") },
  };
}

/** Of an item of a record. */
export function baseOfRecord(item: Item): string {
  return textOf(item, "pk").slice(recordPartition("").length);
}

/** Short: a step may take thousands, and most are sorted by the BASE transaction itself. */
function lockText(base: string, key: Item): string {
  const [partition, sort] = [textOf(key, "pk"), textOf(key, "sk")];
  return sort === base ? partition : `${partition} ${sort}`;
}

/** No partition of locks has a blank in its name. */
function toLockKey(base: string, text: string): Item {
  const at = text.indexOf(" ");
  return at < 0 ? itemKey(text, base) : itemKey(text.slice(0, at), text.slice(at + 1));
}

/** The items of a record's partition. Of one whose id was used before steps may be left over. */
export function recordedIn(
  items: readonly Item[],
): { readonly head: BaseHead; readonly steps: readonly StepRecord[] } | undefined {
  const [first] = items.filter((item) => toStep(item) === undefined);
  if (first === undefined) return undefined;
  const head = toHead(first);
  const steps = items.map(toStep).filter((step) => step !== undefined);
  return { head, steps: steps.filter(({ number }) => number <= head.steps) };
}

/** Of several heads: what each says, or that it is none of ours. */
export type LookedAt<Head = BaseHead> =
  | { readonly base: string; readonly head: Head }
  | { readonly base: string; readonly cause: CorruptDataError };

/** What is held of many: what somebody has asked for with, or was given, may be large. */
export type ShownHead = Omit<BaseHead, "input" | "result">;

/** Lets go of what is not shown. */
export function toShown(looked: LookedAt): LookedAt<ShownHead> {
  if ("cause" in looked) return looked;
  const { input: _input, result: _result, ...head } = looked.head;
  return { base: looked.base, head };
}

export function toLookedAt(base: string, item: Item): LookedAt {
  try {
    return { base, head: toHead(item) };
  } catch (cause) {
    if (!(cause instanceof CorruptDataError)) throw cause;
    return { base, cause };
  }
}
