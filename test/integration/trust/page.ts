/** The tables of docs/operations.md on who can do what. */
import { readFileSync } from "node:fs";

const page = new URL("../../../docs/operations.md", import.meta.url);

export type Row = { readonly who: string; readonly cells: Readonly<Record<string, string>> };

/** The table whose head has a column of this name; backticks go, and a dash is no text. */
export function tableWith(column: string): readonly Row[] {
  const cellsOf = (line: string): string[] =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.replaceAll("`", "").trim());
  const lines = readFileSync(page, "utf8").split("\n");
  const head = lines.findIndex((line) => line.startsWith("|") && cellsOf(line).includes(column));
  const names = cellsOf(lines[head] ?? "").slice(1);
  const rows: Row[] = [];
  for (const line of lines.slice(head + 2)) {
    if (!line.startsWith("|")) break;
    const [who = "", ...cells] = cellsOf(line);
    const named = names.map((name, i) => [name, cells[i] === "–" ? "" : (cells[i] ?? "")]);
    rows.push({ who, cells: Object.fromEntries(named) as Record<string, string> });
  }
  return rows;
}

export function parts(cell: string, separator: ", " | "; "): string[] {
  return cell === "" ? [] : cell.split(separator);
}
