/** What counts as a link that leads nowhere, on a small site. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { deadLinks } from "../../scripts/dead-links.ts";

function deadIn(site: Readonly<Record<string, string>>): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-links-"));
  try {
    for (const [name, html] of Object.entries(site)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), html);
    }
    return deadLinks(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("links to files, headings and other places that are there are fine", () => {
  const dead = deadIn({
    "index.html": '<a href="pages/A%20b.html#one">, <a href="#top">, <p id="top">',
    "pages/A b.html": '<h1 id="one"> <a href="../index.html?q=1#top"> <img src="../media/x.png">',
    "media/x.png": "",
    "pages/c.html": '<a href="https://x.example/y#z"> <a href="mailto:a@x.example"> <a href="#">',
  });
  expect(dead).toEqual([]);
});

test("missing files and headings, and folders, which are no page on a disk, are named", () => {
  const dead = deadIn({
    "index.html": '<a href="media/bank"> <a href="pages/a.html#two"> <a href="pages/a.html#two">',
    "pages/a.html": '<h1 id="one"> <a href="../#one"> <script src="x.js"></script>',
  });
  expect(dead).toEqual([
    "index.html: no file for the link media/bank",
    "index.html: no heading for the link pages/a.html#two",
    "pages/a.html: no file for the link ../#one",
    "pages/a.html: no file for the link x.js",
  ]);
});
