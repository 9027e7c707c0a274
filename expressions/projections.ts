/**
 * Parts of items: what a projection expression asks for, and what an update returns of what it
 * touched.
 */
import { setAttribute } from "../core/attributes.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { parseProjection } from "./parser.ts";
import { type DocumentPath, pathText, type Placeholders, valueAt } from "./placeholders.ts";
import { type ExpressionKind, invalidExpression } from "./tokens.ts";

/** Undefined for a request without projection. @throws ServiceError. */
export function bindProjection(
  placeholders: Placeholders,
  text: string | undefined,
): readonly DocumentPath[] | undefined {
  if (text === undefined) return undefined;
  const kind = "ProjectionExpression";
  const paths = parseProjection(text, kind).map((path) => placeholders.path(kind, path));
  requireApart(kind, paths);
  return paths;
}

/**
 * @throws ServiceError when one path lies within another, or two take one value for both list and
 * map.
 */
export function requireApart(kind: ExpressionKind, paths: readonly DocumentPath[]): void {
  for (const [index, path] of paths.entries()) {
    for (const other of paths.slice(0, index)) {
      const relation = relationOf(other, path);
      if (relation === "apart") continue;
      throw invalidExpression(
        kind,
        `Two document paths ${relation} with each other; must remove or rewrite one of these ` +
          "paths; " +
          `path one: ${pathText(other)}, path two: ${pathText(path)}`,
      );
    }
  }
}

function relationOf(a: DocumentPath, b: DocumentPath): "apart" | "overlap" | "conflict" {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (typeof a[i] !== typeof b[i]) return "conflict";
    if (a[i] !== b[i]) return "apart";
  }
  return "overlap";
}

type Selection = { selected: boolean; readonly steps: Map<string | number, Selection> };

/** What stands at the paths, in the shape of the item; lists keep their order and close up. */
export function project(item: Item, paths: readonly DocumentPath[]): Item {
  const root: Selection = { selected: false, steps: new Map() };
  for (const path of paths) {
    if (valueAt(item, path) === undefined) continue;
    let at = root;
    for (const step of path) {
      let next = at.steps.get(step);
      if (next === undefined) {
        next = { selected: false, steps: new Map() };
        at.steps.set(step, next);
      }
      at = next;
    }
    at.selected = true;
  }
  return selectMap(item, root);
}

function selectMap(map: Item, selection: Selection): Item {
  const selected: Record<string, AttributeValue> = {};
  for (const [step, part] of selection.steps) {
    const value = valueAt(map, [step]);
    if (value !== undefined) setAttribute(selected, String(step), select(value, part));
  }
  return selected;
}

function select(value: AttributeValue, selection: Selection): AttributeValue {
  if (selection.selected) return value;
  if ("M" in value) return { M: selectMap(value.M, selection) };
  if (!("L" in value)) return value;
  const list: AttributeValue[] = [];
  value.L.forEach((element, index) => {
    const part = selection.steps.get(index);
    if (part !== undefined) list.push(select(element, part));
  });
  return { L: list };
}
