/**
 * A transaction that touches one item of a mixed table and needs nothing of the log, as a state
 * machine over the answers of single calls (docs/adr/0014-native-operations.md, Local commit;
 * `LocalCommit` of model/TidemarkNative.tla). Mediator §4.4.
 *
 *     write ─── done ────────────────────▶ committed
 *      ▲  │ ├── content differs ─────────▶ changed
 *      │  │ └── no answer: stamp, if the item has an identity: a copy of the lost call then finds
 *      │  │                another one; else look: the call's nonce is there, or it is unknown
 *     stamp ─── as it was ───────────────▶ write, onto the new nonce
 *
 * An unaware UpdateItem keeps the identity, so the content that was read is part of the condition,
 * attribute by attribute. Attributes that have come since cannot be named there. So what is there
 * is not replaced but updated: what one has added stays. A delete would take it along: it stamps
 * first, and compares what the answer shows. A bare item is stamped as well: a PutItem of strangers
 * keeps it bare.
 */
import { assert } from "../../core/assert.ts";
import {
  attribute,
  fenceAttribute,
  isKey,
  type KeyNames,
  markAttribute,
  setAttribute,
  versionAttribute,
} from "../../core/attributes.ts";
import { bars, type FenceFate, type MetFence } from "../../core/fence.ts";
import { sameValue } from "../../core/item-content.ts";
import { isCertain, sameIdentity, type Identity } from "../../core/item-identity.ts";
import * as limits from "../../core/limits.ts";
import type { Attempted, LocalChange, LocalCondition } from "../../core/mixed-items-port.ts";
import type { AttributeValue, Item, Stamp, TransactionId } from "../../core/types.ts";
import { isAsRead, metOn, stateOf, type SeenItem, type StoredState } from "./seen-item.ts";

export type LocalTask = {
  readonly keys: KeyNames;
  /** What the transaction has read there; undefined: its write is blind. */
  readonly read: SeenItem | undefined;
  /** The whole new item; undefined deletes. */
  readonly item: Item | undefined;
};

type WriteCall = {
  readonly kind: "write";
  readonly change: LocalChange;
  readonly condition: LocalCondition | undefined;
  /** A fence that bars nothing, and may be replaced. */
  readonly over: TransactionId | undefined;
};

type StampCall = {
  readonly kind: "stamp";
  readonly expects: Exclude<Identity, { kind: "absent" }>;
  readonly over: TransactionId | undefined;
  /** Nonces of calls whose answers were lost: of writes, and of stamps. */
  readonly lostWrites: readonly Uint8Array[];
  readonly lostStamps: readonly Uint8Array[];
};

export type LocalCall = WriteCall | StampCall;

export type LocalStep =
  | LocalCall
  | { readonly kind: "judge"; readonly met: MetFence; readonly then: LocalCall }
  /** First bring the outcome of that one about, and install it here. */
  | { readonly kind: "settle"; readonly met: MetFence; readonly then: LocalCall }
  /** A consistent read, since the answer of this call was lost. */
  | { readonly kind: "look"; readonly nonce: Uint8Array; readonly cause: unknown }
  | { readonly kind: "committed" }
  | { readonly kind: "changed" }
  /** Not possible this way, and nothing has happened: prepare and vote. */
  | { readonly kind: "refer" }
  | { readonly kind: "unknown"; readonly cause: unknown };

type Made<Call extends LocalCall> = { readonly call: Call; readonly nonce: Uint8Array };

export function firstLocalCall(task: LocalTask): LocalStep {
  const { read, item } = task;
  if (namedAttributes(task) > limits.localAttributesMax) return { kind: "refer" };
  if (read !== undefined) return callFor(task, read.identity, read.over);
  const change: LocalChange = item === undefined ? { kind: "delete" } : { kind: "put", item };
  return { kind: "write", change, condition: undefined, over: undefined };
}

/** @throws CorruptDataError when the item's reserved attributes are not what they have to be. */
export function afterLocalCall(
  task: LocalTask,
  { call, nonce }: Made<LocalCall>,
  answer: Attempted,
): LocalStep {
  return call.kind === "stamp"
    ? afterStamp(task, { call, nonce }, answer)
    : afterWrite(task, { call, nonce }, answer);
}

export function afterLocalFate(
  { met, then }: { readonly met: MetFence; readonly then: LocalCall },
  fate: FenceFate,
): LocalStep {
  return bars(met, fate) ? { kind: "settle", met, then } : then;
}

/** What a look shows after an answer was lost. */
export function afterLook(
  { nonce, cause }: { readonly nonce: Uint8Array; readonly cause: unknown },
  { identity }: Pick<StoredState, "identity">,
): LocalStep {
  return isOneOf([nonce], identity) ? { kind: "committed" } : { kind: "unknown", cause };
}

function afterWrite(task: LocalTask, made: Made<WriteCall>, answer: Attempted): LocalStep {
  const { call, nonce } = made;
  if (answer.kind === "done") return { kind: "committed" };
  const expects = call.condition?.expects;
  if (answer.kind === "unknown") {
    if (expects === undefined || expects.kind === "absent") {
      return { kind: "look", nonce, cause: answer.cause };
    }
    // A copy of the lost call may still come: it finds another identity then.
    return { ...stampCall(expects, call.over), lostWrites: [nonce] };
  }
  const state = stateOf(answer.shown, task.keys);
  if (!isAsRead(task.read, state)) return { kind: "changed" };
  const met = metOn(state, call.over);
  const over = met?.fence ?? call.over;
  const isSame = expects === undefined || sameIdentity(state.identity, expects);
  const then = isSame ? { ...call, over } : callFor(task, state.identity, over);
  if (met !== undefined) return { kind: "judge", met, then };
  // The store shows what was asked for, and refuses: dynalite does not compare lists and maps.
  return isSame && expects !== undefined ? { kind: "refer" } : then;
}

function afterStamp(
  task: LocalTask,
  { call, nonce }: Made<StampCall>,
  answer: Attempted,
): LocalStep {
  if (answer.kind === "unknown") return { ...call, lostStamps: [...call.lostStamps, nonce] };
  const state = stateOf(answer.kind === "done" ? answer.old : answer.shown, task.keys);
  const { identity } = state;
  if (isOneOf(call.lostWrites, identity)) return { kind: "committed" };
  const isStamped = answer.kind === "done" || isOneOf(call.lostStamps, identity);
  if (isStamped) {
    const stamped: Stamp = answer.kind === "done" ? { kind: "nonce", nonce } : asStamp(identity);
    // What was lost finds another identity from now on.
    return isAsRead(task.read, state) ? writeOnto(task, stamped, call.over) : { kind: "changed" };
  }
  const isSame = sameIdentity(identity, call.expects);
  if (call.lostWrites.length > 0 && !isSame) return { kind: "unknown", cause: undefined };
  if (call.lostWrites.length === 0 && !isAsRead(task.read, state)) return { kind: "changed" };
  const met = metOn(state, call.over);
  const over = met?.fence ?? call.over;
  const then = isSame ? { ...call, over } : callFor(task, identity, over);
  return met === undefined ? then : { kind: "judge", met, then };
}

/** The next call for an item with the content that was read, under whatever identity. */
function callFor(task: LocalTask, identity: Identity, over: TransactionId | undefined): LocalCall {
  if (identity.kind === "absent") return writeOnto(task, identity, over);
  const isStampedFirst = identity.kind === "bare" || task.item === undefined;
  return isStampedFirst ? stampCall(identity, over) : writeOnto(task, identity, over);
}

function stampCall(expects: StampCall["expects"], over: TransactionId | undefined): StampCall {
  return { kind: "stamp", expects, over, lostWrites: [], lostStamps: [] };
}

function writeOnto(
  task: LocalTask,
  expects: LocalCondition["expects"],
  over: TransactionId | undefined,
): WriteCall {
  const { keys, read, item } = task;
  const content = read?.content === undefined ? undefined : withoutKeys(read.content, keys);
  // mutant: local-by-identity
  const condition = { expects, content };
  if (item === undefined) return { kind: "write", change: { kind: "delete" }, condition, over };
  const change: LocalChange =
    expects.kind === "absent"
      ? { kind: "put", item }
      : { kind: "update", ...difference(content ?? {}, withoutKeys(item, keys)) };
  return { kind: "write", change, condition, over };
}

/** Of what a condition must say: what is there, and what must not be. */
function namedAttributes({ keys, read, item }: LocalTask): number {
  if (read === undefined) return 0;
  const names = [...Object.keys(read.content ?? {}), ...Object.keys(item ?? {})];
  return new Set(names.filter((name) => !isKey(name, keys))).size;
}

function difference(from: Item, to: Item): { readonly set: Item; readonly remove: string[] } {
  const set: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(to)) {
    const before = attribute(from, name);
    if (before === undefined || !sameValue(before, value)) setAttribute(set, name, value);
  }
  const gone = Object.keys(from).filter((name) => attribute(to, name) === undefined);
  return { set, remove: [...gone, versionAttribute, fenceAttribute, markAttribute] };
}

function withoutKeys(item: Item, keys: KeyNames): Item {
  const kept: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(item)) {
    if (!isKey(name, keys)) setAttribute(kept, name, value);
  }
  return kept;
}

function isOneOf(nonces: readonly Uint8Array[], identity: Identity): boolean {
  return nonces.some((nonce) => sameIdentity(identity, { kind: "nonce", nonce }));
}

function asStamp(identity: Identity): Stamp {
  assert(isCertain(identity), "a stamped item has an identity");
  return identity;
}
