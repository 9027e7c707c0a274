/**
 * How far a BASE transaction has come, for those who meet its locks:
 *
 *              last step          all that it depends on has ended
 *     open ───────────────▶ ended ─────────────────────────────────▶ released
 *
 * The change to `released` is one commit: at that moment all its locks are void. It is made for all
 * that depend on each other at once. A state that is gone was released long ago. Paper: Salt §4.3.
 */
import type { Item, TableDescription } from "../../core/types.ts";
import { itemKey, textOf, texts, textsOf } from "./attributes.ts";

export type BasePhase = "open" | "ended" | "released";

export type BaseState = {
  readonly base: string;
  readonly phase: BasePhase;
  /** BASE transactions that it has read from while they were open. Known once it has ended. */
  readonly dependsOn: readonly string[];
};

const only = "-";
const statePrefix = "state#";

export function stateKey(base: string): Item {
  return itemKey(`${statePrefix}${base}`, only);
}

/** Undefined for an item that is no state. */
export function baseOfState(item: Item): string | undefined {
  const partition = textOf(item, "pk");
  return partition.startsWith(statePrefix) ? partition.slice(statePrefix.length) : undefined;
}

export function stateItem({ base, phase, dependsOn }: BaseState): Item {
  return { ...stateKey(base), phase: { S: phase }, dependsOn: texts(dependsOn) };
}

export function toState(base: string, item: Item | undefined): BaseState {
  if (item === undefined) return { base, phase: "released", dependsOn: [] };
  const phase = textOf(item, "phase");
  const known = (["open", "ended", "released"] as const).find((each) => each === phase);
  // Of a later release: who meets it waits, which is never wrong.
  return { base, phase: known ?? "open", dependsOn: textsOf(item, "dependsOn") };
}

/** What reads states at one moment. */
export type ReadState = (base: string) => Promise<BaseState>;

/** As a transaction sees them. */
export function statesOf(
  transaction: { get(table: string, key: Item): Promise<Item | undefined> },
  records: Pick<TableDescription, "name">,
): ReadState {
  return async (base) => toState(base, await transaction.get(records.name, stateKey(base)));
}

/** For who asks for many that depend on the same ones, within one transaction. */
export function readingOnce(readState: ReadState): ReadState {
  const read = new Map<string, Promise<BaseState>>();
  return (base) => {
    const known = read.get(base) ?? readState(base);
    read.set(base, known);
    return known;
  };
}
