/** Which items native operations touch, and the history without them: transactions alone. */
import type { History } from "../../history/types.ts";
import type { Finding } from "../findings.ts";
import type { Model } from "../model.ts";

/** Keys that a native operation of this history touches. */
export function nativeKeys({ members, keyNumbers }: Model): ReadonlySet<number> {
  const keys = new Set<number>();
  for (const { transaction } of members) {
    if (transaction.kind !== "native") continue;
    for (const [, name] of transaction.ops) {
      const key = keyNumbers.get(name);
      if (key !== undefined) keys.add(key);
    }
  }
  return keys;
}

/** The same members and keys by number, without native operations and what they touch. */
export function withoutNative(
  model: Model,
  history: History,
  keys: ReadonlySet<number>,
): { readonly model: Model; readonly history: History } {
  const own = (map: ReadonlyMap<number, number>): ReadonlyMap<number, number> =>
    new Map(Array.from(map).filter(([key]) => !keys.has(key)));
  const members = model.members.map(({ reads, writes, others, ...member }) => ({
    ...member,
    takesEffect: member.takesEffect && member.transaction.kind !== "native",
    ...{ reads: own(reads), writes: own(writes), others: own(others) },
  }));
  const isOwn = ({ key }: { readonly key: string }): boolean => {
    const number = model.keyNumbers.get(key);
    return number === undefined || !keys.has(number);
  };
  return {
    model: { ...model, members },
    history: {
      transactions: history.transactions,
      ...(history.versionOrder && { versionOrder: history.versionOrder.filter(isOwn) }),
      ...(history.finalState && { finalState: history.finalState.filter(isOwn) }),
    },
  };
}

/** Whether no step of the cycle is about an item that native operations touch. */
export function isOwnCycle(model: Model, keys: ReadonlySet<number>, { cycle }: Finding): boolean {
  if (cycle === undefined) return false;
  return cycle.every(({ key }) => {
    const number = key === undefined ? undefined : model.keyNumbers.get(key);
    return number === undefined || !keys.has(number);
  });
}
