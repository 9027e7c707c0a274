/** Texts that are equal for equal keys: by them a request's items are told apart. */
import { attribute } from "../core/attributes.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { keyAttributes } from "../expressions/key-schema.ts";
import { invalid } from "../expressions/refusals.ts";
import type { CommandTable } from "./tables.ts";

type Addressed = { readonly table: CommandTable; readonly key: Item };

/** Equal exactly for the same item; of a key that was read, whose numbers are canonical. */
export function itemText({ table, key }: Addressed): string {
  const values = keyAttributes(table.schema).map(({ name }) => valueText(attribute(key, name)));
  return JSON.stringify([table.name, ...values]);
}

/** @throws ServiceError when an item is named twice. */
export function requireDistinct(entries: readonly Addressed[], message: string): void {
  const seen = new Set<string>();
  for (const entry of entries) {
    const text = itemText(entry);
    if (seen.has(text)) throw invalid(message);
    seen.add(text);
  }
}

/** Equal exactly for equal keys of a table or an index, whatever the order of their attributes. */
export function keyText(key: Item): string {
  const entries = Object.entries(key).map(([name, value]) => [name, valueText(value)] as const);
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function valueText(value: AttributeValue | undefined): string {
  if (value === undefined) return "";
  if ("S" in value) return `S${value.S}`;
  if ("N" in value) return `N${value.N}`;
  return "B" in value ? `B${value.B.join()}` : "";
}
