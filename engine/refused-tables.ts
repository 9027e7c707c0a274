/**
 * What a refusal by the oracle says of the tables it is about. Loaded with the first of them, which
 * most processes never meet.
 */
import type { TableDescription } from "../core/types.ts";

/** What differs between tables as a process knew them and a registry read since, and what to do. */
export function remedyFor(
  tables: readonly TableDescription[],
  registry: { find(table: string): TableDescription | undefined },
): string {
  const found = tables.flatMap((known) => differences(known, registry.find(known.name)));
  return found.length === 0
    ? "the registry now says what this process had; the oracle reads it within seconds: run it " +
        "again"
    : `${found.join("; ")}. This process has read the registry anew: run it again. If the ` +
        "registry is wrong, register the table as it is: `npx tidemark register`";
}

/** Field by field, with both sides. */
function differences(known: TableDescription, now: TableDescription | undefined): string[] {
  const name = `table "${known.name}"`;
  if (now === undefined) return [`${name} is not registered any more`];
  const sides = (each: TableDescription): readonly (readonly [string, string])[] => [
    ["partition key", keyText(each.partitionKey)],
    ["sort key", keyText(each.sortKey)],
    ["index keys", (each.indexKeys ?? []).map(keyText).join(", ") || "none"],
    ["history", String(each.history)],
    ["access", accessText(each)],
  ];
  return sides(known).flatMap(([field, had], i) => {
    const has = sides(now)[i]?.[1] ?? "";
    return had === has ? [] : [`${name}: ${field} was ${had} here, and is registered as ${has}`];
  });
}

function accessText({ access, move }: TableDescription): string {
  return move === undefined ? access : `${access} (${move.stage}, on its way to ${move.to})`;
}

function keyText(key: TableDescription["sortKey"]): string {
  return key === undefined ? "none" : `${key.name} (${key.type})`;
}
