/**
 * What Lambda's event source mapping decides for one shard: when the records that wait make a
 * batch, how much one invocation takes, what comes again after a failure, and what is done. A pure
 * state machine: the driver has the records in order, performs the effects, and tells what came of
 * them. The embedded stack drives it by real time and a real stream, the simulator by virtual time
 * and faults, the projection by published latencies.
 *
 * Records are counted from the head of those that wait. The driver takes records away when they are
 * `done`, and only then; so what was not done comes again, in order, and nothing overtakes it.
 */
import { assert } from "../../../core/assert.ts";
import type { BatchResult } from "./batch-response.ts";

export type DeliverySettings = {
  readonly batchSize: number;
  /** How long a batch that is not full waits for more; 0 delivers what is there. */
  readonly windowMs: number;
  /** Of an invocation's event. A record that is larger goes alone. */
  readonly eventBytesMax: number;
};

export type DeliveryState = {
  /** Records at the head that are in an invocation, or come again; 0: no batch is under way. */
  readonly batch: number;
  /** Of this batch in a row, since the last record that was done. */
  readonly failures: number;
  /** Until when a batch that is not full waits; undefined before its first record. */
  readonly windowEndsMs: number | undefined;
};

export type DeliveryEvent =
  /** The driver is free to invoke. */
  | {
      readonly kind: "look";
      readonly nowMs: number;
      /** What each waiting record adds to an event, in order. */
      readonly waitingBytes: Iterable<number>;
      /** No record follows those that wait. */
      readonly ended: boolean;
    }
  /** A record is known to have arrived, and is not among those that wait yet. */
  | { readonly kind: "announced"; readonly nowMs: number }
  | { readonly kind: "answered"; readonly result: BatchResult }
  /** The service goes on with the first records of the batch only, as when it bisects. */
  | { readonly kind: "cut"; readonly records: number }
  /** The consumer begins anew at some checkpoint: whatever was under way is forgotten. */
  | { readonly kind: "restarted" };

export type DeliveryEffect =
  | { readonly kind: "invoke"; readonly records: number }
  /** Look again when there are more records, or then. */
  | { readonly kind: "wait"; readonly untilMs: number | undefined }
  /** The checkpoint is behind these. */
  | { readonly kind: "done"; readonly records: number }
  /** Look again after a pause that grows with the failures. */
  | { readonly kind: "retry"; readonly failures: number }
  | { readonly kind: "shard-end" };

export type DeliveryStep = {
  readonly state: DeliveryState;
  readonly effects: readonly DeliveryEffect[];
};

export const idleDelivery: DeliveryState = { batch: 0, failures: 0, windowEndsMs: undefined };
/** Beyond it a number would grow for nothing. */
const doublingsMax = 30;
const emptyEventBytes = '{"Records":[]}'.length;

export function stepDelivery(
  settings: DeliverySettings,
  state: DeliveryState,
  event: DeliveryEvent,
): DeliveryStep {
  switch (event.kind) {
    case "look":
      return look(settings, state, event);
    case "announced":
      return {
        state: { ...state, windowEndsMs: state.windowEndsMs ?? event.nowMs + settings.windowMs },
        effects: [],
      };
    case "answered":
      return answered(state, event.result);
    case "cut":
      assert(event.records > 0 && event.records <= state.batch, "a cut leaves a part of the batch");
      return { state: { ...state, batch: event.records }, effects: [] };
    case "restarted":
      return { state: idleDelivery, effects: [] };
  }
}

function look(
  settings: DeliverySettings,
  state: DeliveryState,
  event: Extract<DeliveryEvent, { kind: "look" }>,
): DeliveryStep {
  // A failed batch comes again as it was, and waits for nothing.
  if (state.batch > 0) return { state, effects: [{ kind: "invoke", records: state.batch }] };
  const { nowMs, ended } = event;
  const { records, isFull } = cutBatch(settings, event.waitingBytes);
  if (records === 0) {
    if (ended) return { state, effects: [{ kind: "shard-end" }] };
    // A window that was announced and stayed empty begins again with the next record.
    const windowEndsMs =
      state.windowEndsMs !== undefined && nowMs < state.windowEndsMs
        ? state.windowEndsMs
        : undefined;
    return { state: { ...state, windowEndsMs }, effects: [{ kind: "wait", untilMs: undefined }] };
  }
  const windowEndsMs = state.windowEndsMs ?? nowMs + settings.windowMs;
  if (isFull || ended || nowMs >= windowEndsMs) {
    return {
      state: { ...state, batch: records, windowEndsMs: undefined },
      effects: [{ kind: "invoke", records }],
    };
  }
  return { state: { ...state, windowEndsMs }, effects: [{ kind: "wait", untilMs: windowEndsMs }] };
}

/** Records at the head that fit one invocation, at least one if there is any. */
function cutBatch(
  { batchSize, eventBytesMax }: DeliverySettings,
  waitingBytes: Iterable<number>,
): { readonly records: number; readonly isFull: boolean } {
  let records = 0;
  let bytes = emptyEventBytes;
  for (const each of waitingBytes) {
    bytes += each;
    if (records > 0 && bytes > eventBytesMax) return { records, isFull: true };
    records += 1;
    if (records === batchSize) return { records, isFull: true };
  }
  return { records, isFull: false };
}

function answered(state: DeliveryState, result: BatchResult): DeliveryStep {
  assert(state.batch > 0, "an answer belongs to a batch");
  if (result.kind === "done") {
    return { state: idleDelivery, effects: [{ kind: "done", records: state.batch }] };
  }
  assert(result.index < state.batch, "a batch fails from one of its records on");
  const failures = result.index > 0 ? 1 : state.failures + 1;
  const done: readonly DeliveryEffect[] =
    result.index > 0 ? [{ kind: "done", records: result.index }] : [];
  return {
    state: { batch: state.batch - result.index, failures, windowEndsMs: undefined },
    effects: [...done, { kind: "retry", failures }],
  };
}

/** What data of a record take of an event, in which they stand as base64. */
export function eventBytes(dataBytes: number): number {
  return 4 * Math.ceil(dataBytes / 3);
}

/** The pause after so many failures, or looks in vain, in a row. */
export function doubledPauseMs(
  { minMs, maxMs }: { readonly minMs: number; readonly maxMs: number },
  times: number,
): number {
  return Math.min(maxMs, minMs * 2 ** Math.min(times - 1, doublingsMax));
}
