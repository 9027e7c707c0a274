/**
 * A transaction's fence on one item that it will write, as a state machine over the answers of
 * single calls (docs/adr/0014-native-operations.md, Fence; `Fence` of model/TidemarkNative.tla).
 * Mediator §4.2: what the fence shows is checked after the transaction has its place in the log.
 *
 *     call ──── done, as read ────────────▶ fenced, under the identity to vote
 *      ▲ │ ├─── written since ────────────▶ changed: vote no
 *      │ │ ├─── no answer ────────────────▶ unsure: vote no
 *      │ │ └─── an identity by now ───────▶ call, expecting that, a nonce anew
 *      │ └───── somebody's fence ─────────▶ judge ──▶ it bars: settle
 *      └───────────────────────────────────────┴──────────────┘
 *
 * A call whose answer is lost may come late: after the commit was installed, and deleted again, it
 * would leave a placeholder that nobody looks for. What is aborted is cleaned up once more, when no
 * copy can come any more; so such a one is voted down. Each call has a nonce of its own all the
 * same: what comes late must never be the identity that somebody votes.
 */
import type { KeyNames } from "../../core/attributes.ts";
import { bars, type FenceFate, type MetFence } from "../../core/fence.ts";
import { isCertain, type Identity } from "../../core/item-identity.ts";
import type { Attempted, FencedState } from "../../core/mixed-items-port.ts";
import type { Stamp, TransactionId } from "../../core/types.ts";
import { isUntouched, metOn, stateOf, type SeenItem } from "./seen-item.ts";

export type FenceTask = {
  readonly id: TransactionId;
  readonly keys: KeyNames;
  /** What the transaction has read there; undefined: its write is blind. */
  readonly read: SeenItem | undefined;
  /** What a blind one takes the item for. */
  readonly guess: FencedState;
};

export type FenceCall = {
  readonly kind: "call";
  readonly expects: FencedState;
  /** A fence that bars nothing, to be replaced. */
  readonly over: TransactionId | undefined;
};

export type FenceStep =
  | FenceCall
  | { readonly kind: "judge"; readonly met: MetFence }
  /** First bring the outcome of that one about, and install it here. */
  | { readonly kind: "settle"; readonly met: MetFence; readonly then: FenceCall }
  | { readonly kind: "fenced"; readonly stamp: Stamp }
  | { readonly kind: "changed" }
  | { readonly kind: "unsure"; readonly cause: unknown };

export function firstFenceCall({ read, guess }: FenceTask): FenceCall {
  return { kind: "call", expects: read?.identity ?? guess, over: read?.over };
}

/** @throws CorruptDataError when the item's reserved attributes are not what they have to be. */
export function afterFenceCall(
  task: FenceTask,
  { call, nonce }: { readonly call: FenceCall; readonly nonce: Uint8Array },
  answer: Attempted,
): FenceStep {
  if (answer.kind === "unknown") {
    // probe: fence-answer-lost
    // mutant: lost-fences-voted
    return { kind: "unsure", cause: answer.cause };
  }
  const state = stateOf(answer.kind === "done" ? answer.old : answer.shown, task.keys);
  // mutant: fence-compares-nothing
  if (task.read !== undefined && !isUntouched(task.read, state)) {
    // probe: fence-finds-a-change
    return { kind: "changed" };
  }
  const { identity, fence } = state;
  if (answer.kind === "done") return { kind: "fenced", stamp: stampOf(identity, nonce) };
  // A copy of this very call was there before: who has made it is no client of ours.
  if (fence === task.id) return { kind: "unsure", cause: undefined };
  const met = metOn(state, call.over);
  if (met !== undefined) return { kind: "judge", met };
  return { kind: "call", expects: identity, over: call.over };
}

export function afterFenceFate(met: MetFence, fate: FenceFate): FenceStep {
  const then: FenceCall = { kind: "call", expects: met.under, over: met.fence };
  return bars(met, fate) ? { kind: "settle", met, then } : then;
}

/** What had no identity has got the nonce. */
function stampOf(found: Identity, nonce: Uint8Array): Stamp {
  return isCertain(found) ? found : { kind: "nonce", nonce };
}
