/** docs/testing.md beside what it documents. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as testing from "../../testing/index.ts";

const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "testing.md"), "utf8");

const opportunities: Readonly<Record<string, string>> = {
  t: "try of a call",
  a: "arriving call",
  i: "invocation",
  b: "delivered batch",
  s: "second",
  p: "start of a process",
};

/** Cells of the table's rows, whatever their width. */
function cells(text: string): readonly (readonly string[])[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) => line.split("|").slice(1, -1))
    .map((row) => row.map((cell) => cell.trim()));
}

test("the page lists every fault, in its own words", () => {
  const table = /<!-- faults: begin -->(.*)<!-- faults: end -->/su.exec(page)?.[1] ?? "";
  const rows = Object.entries(testing.faultDescriptions).map(([name, description]) => {
    const [at = "", ...what] = description.split(": ");
    return [`\`${name}\``, opportunities[at], what.join(": ")];
  });
  expect(cells(table).slice(2)).toEqual(rows);
});

test("the page names what a program can import, and every method of a cloud", async () => {
  const named = Object.keys(testing);
  const cloud = await testing.createTestCloud();
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(cloud));
  const isPublic = (name: string): boolean => name !== "constructor" && !name.startsWith("resume");
  for (const name of [...named, ...methods.filter(isPublic)]) expect(page).toContain(name);
});
