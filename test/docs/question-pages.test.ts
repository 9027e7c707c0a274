/** The pages of docs/questions show the files that examples/questions/questions.test.ts runs. */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { formatMarkdown } from "../../scripts/format-markdown.ts";
import { questionPages } from "../../scripts/question-pages.ts";

describe("the pages", () => {
  const pages = Array.from(questionPages(), ([path, to]) => ({ name: basename(path), path, to }));

  test("are seven, with a row each in the overview", () => {
    expect(pages).toHaveLength(7);
    const overview = readFileSync(join(dirname(pages[0]!.path), "README.md"), "utf8");
    for (const { name } of pages) expect(overview).toContain(`](${name})`);
  });

  test.each(pages)("$name shows its example as it is", async ({ path, to }) => {
    const text = readFileSync(path, "utf8");
    expect(text).toBe(await formatMarkdown(to));
    expect(text).toContain("## When plain DynamoDB suffices");
    expect(text.match(/^```/gmu)).toHaveLength(2);
  });
});
