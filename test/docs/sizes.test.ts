/** Sizes that documents tell are the bounds that the tests hold the package to. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { clientBytesMax, sdkBudget, sdkTargets } from "../../scripts/check-bundles.ts";

const root = join(import.meta.dirname, "..", "..");
/** Without its line ends. */
const prose = (path: string): string =>
  readFileSync(join(root, path), "utf8").replaceAll(/\s+/gu, " ");
const kib = (bytes: number): string => Math.ceil(bytes / 1024).toString();

test("README says what the SDK may load, and what is the goal", () => {
  const { eagerBytesMax, baseBytesMax, streamBytesMax, gzippedBytesMax } = sdkBudget;
  expect(prose("README.md")).toContain(
    `loads at most ${kib(eagerBytesMax)} KiB; a transaction without queries, history and chains ` +
      `${kib(baseBytesMax)}, or ${kib(streamBytesMax)} with \`commit: "stream"\`, where the goal ` +
      `is ${kib(sdkTargets.baseBytes)}; all of it is ${kib(gzippedBytesMax)} gzipped, where the ` +
      `goal is ${kib(sdkTargets.gzippedBytes)}`,
  );
});

test("ADR 16 says what the entry of commands may have", () => {
  const decision = prose("docs/adr/0016-commands-inside-transactions.md");
  expect(decision).toContain(`The entry has at most ${kib(clientBytesMax)} KiB`);
});
