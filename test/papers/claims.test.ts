/** docs/papers.md says what is tested, and everything that it says is tested is. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { formatMarkdown } from "../../scripts/format-markdown.ts";
import { type Evidence, type Paper, papers } from "./claims.ts";

const root = join(import.meta.dirname, "../..");
const cited = papers.flatMap(({ claims }) => claims.flatMap(({ tests }) => tests));

/** Titles of a file's tests, tables' included. */
function titlesIn(source: string): string[] {
  return [...source.matchAll(/(?:\btest\(|\)\()\s*"([^"]+)",/gu)].flatMap(
    ([, title]) => title ?? [],
  );
}

describe("docs/papers.md", () => {
  test.each(cited)("cites a test that exists: $title", ({ file, title }) => {
    const source = readFileSync(join(root, file), "utf8");
    expect(source).toContain(`"${title}"`);
  });

  test("cites every test of test/papers", () => {
    const files = readdirSync(import.meta.dirname).filter(
      (name) => name.endsWith(".test.ts") && name !== "claims.test.ts",
    );
    const titles = files.flatMap((name) =>
      titlesIn(readFileSync(join(import.meta.dirname, name), "utf8")).map(
        (title) => `test/papers/${name}: ${title}`,
      ),
    );
    expect(titles.length).toBeGreaterThan(25);
    const known = new Set(cited.map(({ file, title }) => `${file}: ${title}`));
    expect(titles.filter((title) => !known.has(title))).toEqual([]);
  });

  test("is the list of claims (write it anew with `vitest -u`)", async () => {
    await expect(await page()).toMatchFileSnapshot("../../docs/papers.md");
  });
});

async function page(): Promise<string> {
  const introduction = `# The papers' claims

Tidemark builds on four papers. Here stands what each of them claims, as far as it concerns
Tidemark, and the test that holds Tidemark to it. Parts of a paper are named by what they are about;
where Tidemark does something in another way, the claim says so in brackets.
`;
  const text = [introduction, ...papers.map(section)].join("\n");
  return formatMarkdown(text);
}

function section({ name, reference, claims }: Paper): string {
  return [
    `## ${name}\n`,
    `${reference}.\n`,
    "| part | claim | tests |",
    "| --- | --- | --- |",
    ...claims.map(({ section, claim, tests }) => `| ${section} | ${claim} | ${proofOf(tests)} |`),
    "",
  ].join("\n");
}

function proofOf(tests: readonly Evidence[]): string {
  const files = grouped(tests);
  return [...files]
    .map(([file, titles]) => `\`${file}\`: ${titles.map((title) => `“${title}”`).join(", ")}`)
    .join("; ");
}

function grouped(tests: readonly Evidence[]): Map<string, string[]> {
  const files = new Map<string, string[]>();
  for (const { file, title } of tests) files.set(file, [...(files.get(file) ?? []), title]);
  return files;
}
