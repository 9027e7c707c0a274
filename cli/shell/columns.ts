/** Rows of text set in columns, as wide as their widest cell. */
import { plainText } from "../../inspection/words/plain-text.ts";
import * as limits from "../limits.ts";
import { widthOf, type Styles } from "./styles.ts";

export type Column = {
  readonly title: string;
  /** Default: left. Numbers stand right. */
  readonly align?: "right";
};

const gap = "  ";

/** Lines without a blank at their end; the titles first. No rows: no lines. */
export function inColumns(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  styles: Styles,
): readonly string[] {
  if (rows.length === 0) return [];
  const titles = columns.map(({ title }) => title);
  const widths = columns.map((_, at) =>
    Math.max(...[titles, ...rows].map((row) => widthOf(row[at] ?? ""))),
  );
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ align }, at) => {
        const cell = cells[at] ?? "";
        const padding = " ".repeat(Math.max(0, (widths[at] ?? 0) - widthOf(cell)));
        return align === "right" ? padding + cell : cell + padding;
      })
      .join(gap)
      .trimEnd();
  return [styles.faint(line(titles)), ...rows.map(line)];
}

/** A failure's text in a line of a list. */
export function failureCell(text: string): string {
  const line = plainText(text.replaceAll(/\s+/g, " "));
  const max = limits.failureTextMax;
  return line.length <= max ? line : `${line.slice(0, max - 1)}…`;
}
