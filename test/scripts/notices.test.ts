/** What the built command says of the packages that are bundled into it and into its page. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildCli } from "../../scripts/build-cli.ts";
import { noticeFile } from "../../scripts/notices.ts";

test("each package in the command and its page is named, with its licence", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-notices-"));
  try {
    const { packages } = await buildCli(folder);
    const notices = readFileSync(join(folder, noticeFile), "utf8");
    for (const each of packages) expect(notices.split("\n")).toContain(each);
    expect(packages.join()).toMatch(/commander@.*preact@/u);
    expect(notices).toContain("Permission is hereby granted");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
