/**
 * Projections as DynamoDB makes them, for items that had to be read whole: where what was projected
 * does not tell whether an item is a placeholder.
 */
import { setAttribute } from "../core/attributes.ts";
import type { AttributeValue } from "../core/types.ts";
import type { Names, ShownItem } from "./wire.ts";

type Step = string | number;
type Path = readonly [string, ...Step[]];

/** What an alias stands for; any other word is a name itself. */
export function nameOf(word: string, names: Names): string {
  return Object.hasOwn(names, word) ? (names[word] ?? word) : word;
}

/** A projection's paths, aliases resolved. */
export function pathsOf(projection: string, names: Names = {}): readonly Path[] {
  return projection.split(",").map((text) => {
    const steps = text
      .trim()
      .split(/[.[]/u)
      .map((step): Step => {
        const index = /^(\d+)\]$/u.exec(step);
        return index === null ? nameOf(step, names) : Number(index[1]);
      });
    return steps as unknown as Path;
  });
}

/** What lies below a step, and whether the step itself is asked for. */
type Wanted = { whole: boolean; readonly below: Map<Step, Wanted> };

/** @param item whole, of either form. */
export function projected(
  item: ShownItem,
  paths: readonly Path[],
  partitionKey: string,
): ShownItem {
  const root: Wanted = { whole: false, below: new Map() };
  for (const path of paths) {
    let at = root;
    for (const step of path) {
      let next = at.below.get(step);
      if (next === undefined) at.below.set(step, (next = { whole: false, below: new Map() }));
      at = next;
    }
    at.whole = true;
  }
  const isWire = isWireValue(item[partitionKey]);
  const kept: Record<string, unknown> = {};
  for (const [name, wanted] of root.below) {
    if (!Object.hasOwn(item, String(name))) continue;
    const value = part(item[String(name)], wanted, isWire);
    if (value !== undefined) set(kept, String(name), value);
  }
  return kept;
}

function part(value: unknown, { whole, below }: Wanted, isWire: boolean): unknown {
  if (whole) return value;
  const inner = isWire ? containerIn(value) : value;
  if (typeof inner !== "object" || inner === null) return undefined;
  if (Array.isArray(inner)) {
    const indices = [...below.keys()].filter((step) => typeof step === "number");
    const elements = indices
      .sort((a, b) => a - b)
      .filter((index) => index < inner.length)
      .map((index) => part(inner[index], below.get(index) ?? { whole, below }, isWire))
      .filter((each) => each !== undefined);
    if (elements.length === 0) return undefined;
    return isWire ? { L: elements } : elements;
  }
  const kept: Record<string, unknown> = {};
  for (const [step, wanted] of below) {
    if (typeof step !== "string" || !Object.hasOwn(inner, step)) continue;
    const each = part((inner as ShownItem)[step], wanted, isWire);
    if (each !== undefined) set(kept, step, each);
  }
  if (Object.keys(kept).length === 0) return undefined;
  return isWire ? { M: kept } : kept;
}

function containerIn(value: unknown): unknown {
  const { M, L } = (value ?? {}) as { readonly M?: unknown; readonly L?: unknown };
  return M ?? L;
}

/** A key's value is one of three types, which no document has as an object of that one name. */
function isWireValue(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const [name, ...others] = Object.keys(value);
  return others.length === 0 && (name === "S" || name === "N" || name === "B");
}

/** Safe for any name; the value is of either form. */
function set(item: Record<string, unknown>, name: string, value: unknown): void {
  setAttribute(item as Record<string, AttributeValue>, name, value as AttributeValue);
}
