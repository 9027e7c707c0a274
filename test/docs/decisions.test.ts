/** The list of decisions is whole: who opens the folder, or the site, finds each by its name. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const folder = join(import.meta.dirname, "..", "..", "docs", "adr");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

test("each decision is listed, in order, by its heading", () => {
  const names = readdirSync(folder).filter((name) => /^\d{4}-.*\.md$/u.test(name));
  const wanted = names.sort().map((name) => {
    const [, number, title] = /^# (\d+)\. (.+)$/mu.exec(read(name)) ?? [];
    return `${number ?? ""} [${title ?? ""}](${name})`;
  });
  const rows = read("README.md").matchAll(/^\| (\d+) +\| (\[.*\)) +\|$/gmu);
  expect(wanted.length).toBeGreaterThan(10);
  expect(Array.from(rows, ([, number, link]) => `${number} ${link}`)).toEqual(wanted);
});
