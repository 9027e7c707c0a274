/** Registered tables as text and as JSON. Pure. */
import type { HistoryRetention, Registry, TableDescription, Timestamp } from "../../core/types.ts";
import type { CheckedTable, RegisteredTable } from "../../sdk/tables.ts";
import { isBaseRecordsTable } from "../../core/own-tables.ts";
import { inColumns } from "../shell/columns.ts";
import { momentText, spanText } from "../../inspection/words/moments.ts";
import type { Styles } from "../shell/styles.ts";

export function registeredLine(table: RegisteredTable): string {
  const { name, history, baseSince, looked } = table;
  const kept = history ? ", with history" : "";
  const base = baseSince === undefined ? "" : `, for ${baseText({ baseSince })}`;
  const head = `registered ${name} (${keyNamesText(table)}${kept}${accessText(table)}${base})`;
  if (looked === undefined) return head;
  const seen = looked.isAll
    ? `all its items (${looked.items})`
    : `its first ${looked.items} items (--check looks through all)`;
  return `${head}; no reserved names in ${seen}`;
}

/** One that was in use takes them once nobody goes by what was registered before. */
function baseText({ baseSince }: { readonly baseSince: Timestamp }): string {
  return baseSince === 0 ? "BASE transactions" : `BASE transactions from ${momentText(baseSince)}`;
}

function accessText({ name, access, move }: Pick<RegisteredTable, "name" | "access" | "move">) {
  if (move === undefined) return access === "mixed" ? ", mixed" : "";
  const { to, stage } = move;
  return `, on its way to ${to}: ${stage}; \`tidemark move ${name} --access ${to}\` goes on`;
}

export function checkedLine({ looked, ...table }: CheckedTable): string {
  const items = `all its items (${looked.items})`;
  return `${table.name} (${keyNamesText(table)}): no reserved names in ${items}`;
}

function keyNamesText({
  partitionKey,
  sortKey,
}: Pick<CheckedTable, "partitionKey" | "sortKey">): string {
  const keys = [partitionKey, ...(sortKey === undefined ? [] : [sortKey])];
  return keys.map(({ name, type }) => `${name}:${type}`).join(",");
}

export function tableListLines(
  { tables, retention }: Pick<Registry, "tables" | "retention">,
  styles: Styles,
): readonly string[] {
  if (tables.length === 0) return ["no table is registered; `tidemark register <name>` does it"];
  const columns = ["table", "key", "written by", "history", "indexes"].map((title) => ({ title }));
  const rows = sorted(tables).map((table) => [
    table.name,
    keyNamesText(table),
    writersText(table),
    historyText(table, retention),
    (table.indexNames ?? []).join(", "),
  ]);
  return inColumns(columns, rows, styles).map((line) => line.trimEnd());
}

function writersText({ name, access, move, baseSince }: TableDescription): string {
  if (isBaseRecordsTable(name)) return "Tidemark alone";
  if (baseSince !== undefined) return `transactions, ${baseText({ baseSince })}`;
  const who = access === "mixed" ? "transactions and native operations" : "transactions";
  return move === undefined ? who : `${who} (on its way to ${move.to}: ${move.stage})`;
}

function historyText(
  { history, historySince, historyKeptUntilMs }: TableDescription,
  { retentionMs }: HistoryRetention,
): string {
  if (history) {
    const since = historySince === undefined ? "" : ` since ${momentText(historySince)}`;
    return `${spanText(retentionMs)}${since}`;
  }
  if (historyKeptUntilMs === undefined) return "–";
  return `off, kept until ${new Date(historyKeptUntilMs).toISOString()}`;
}

export function tableListJson({ tables, retention }: Pick<Registry, "tables" | "retention">) {
  return { tables: sorted(tables).map(tableJson), historyRetentionMs: retention.retentionMs };
}

function sorted(tables: readonly TableDescription[]): readonly TableDescription[] {
  return [...tables].sort((a, b) => (a.name < b.name ? -1 : 1));
}

type Shown = Pick<RegisteredTable, "name" | "partitionKey" | "sortKey"> &
  Partial<Pick<RegisteredTable, "history" | "access" | "move" | "baseSince" | "looked">> &
  Partial<Pick<TableDescription, "indexNames" | "historySince">>;

/** As `/.well-known/tidemark/tables` of a local stack has them, with the names of indexes. */
export function tableJson(table: Shown): object {
  const { name, partitionKey, sortKey, history, access, move, looked } = table;
  const { indexNames, historySince, baseSince } = table;
  return {
    ...{ name, partitionKey, sortKey, history, access, move, looked },
    ...{ indexes: indexNames, historySince, baseSince },
  };
}
