/** What strangers wrote, such as the id of a BASE transaction that was asked for by REST. */
import { describe, expect, test } from "vitest";
import { baseFinding } from "../../cli/deployment/base-checks.ts";
import type { OneBase } from "../../cli/deployment/bases.ts";
import { plainText, shellWord } from "../../cli/shell/plain-text.ts";
import { plainStyles } from "../../cli/shell/styles.ts";
import { baseListLines, oneBaseLines } from "../../cli/views/bases.ts";

/** Clears the screen, sets its title, ends the line, and turns what follows around. */
const hostile = "a\u001b[2J\u001b]0;mine\u0007\r\nnothing is parked\u009b1m\u202e`id`'";
const commanding = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

const base: OneBase = {
  ...{ name: "put", id: hostile, version: 1, phase: "parked", steps: 1, startedMs: 1, lastMs: 1 },
  ...{ failures: 10, failure: hostile, dependsOn: [`put/${hostile}`] },
  refusal: { step: hostile, name: hostile, message: hostile },
  done: [
    {
      ...{ number: 1, name: hostile, atMs: 1, locks: [] },
      end: { kind: "failed", failure: { name: hostile, message: hostile } },
    },
  ],
};

describe("nothing that a stranger wrote commands the terminal", () => {
  test.each([
    [
      "the list",
      () => baseListLines({ bases: [base], all: 1, nowMs: 1, isTaken: true }, plainStyles),
    ],
    ["the page of one", () => oneBaseLines(base, 1, plainStyles)],
    ["one that nobody is at", () => oneBaseLines({ ...base, phase: "running" }, 1e9, plainStyles)],
    ["a finding", () => [baseFinding({ bases: [base], all: 1 }, 1).text]],
  ])("in %s", (_, lines) => {
    for (const line of lines()) expect(line).not.toMatch(commanding);
    expect(lines().join("\n")).toContain("nothing is parked");
  });
});

test.each([
  ["order-17", "order-17"],
  ["two words", "'two words'"],
  ["it's", String.raw`'it'\''s'`],
  ["$(reboot) `reboot` ;reboot", "'$(reboot) `reboot` ;reboot'"],
  ["a\nb'c\\", String.raw`$'a\u000ab\'c\\'`],
])("%j is one word of a shell", (text, word) => {
  expect(shellWord(text)).toBe(word);
});

test("what is readable stays as it is", () => {
  for (const text of ["Zoë, 訂單 17", "👩‍👩‍👧", "a\\b", "it's"]) expect(plainText(text)).toBe(text);
});
