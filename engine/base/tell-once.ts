/** A runner tells of each trouble once, and not again with each look. */
import * as limits from "../../core/limits.ts";
import type { BaseTrouble } from "./types.ts";

export type Tell = (trouble: BaseTrouble) => void;

/** @param toldMax so many it remembers, those told last: a runner goes on for months. */
export function tellOnce(tell: Tell, toldMax = limits.baseTroublesToldMax): Tell {
  const told = new Set<string>();
  return (trouble) => {
    const text = JSON.stringify([trouble.kind, trouble.name, trouble.id]);
    if (told.has(text)) return;
    told.add(text);
    const [first] = told;
    if (told.size > toldMax && first !== undefined) told.delete(first);
    tell(trouble);
  };
}
