/** What strangers wrote, such as the id of a BASE transaction that was asked for by REST. */
import { describe, expect, test } from "vitest";
import { baseFinding } from "../../inspection/base-checks.ts";
import type { OneBase } from "../../inspection/bases.ts";
import type { NamedWrite } from "../../inspection/names.ts";
import { plainText, shellWord } from "../../inspection/words/plain-text.ts";
import { Shell } from "../../cli/shell/shell.ts";
import { colours, plainStyles } from "../../cli/shell/styles.ts";
import type { Terminal } from "../../cli/shell/terminal.ts";
import { baseListLines, oneBaseLines } from "../../cli/views/bases.ts";
import { writeJson, writeText } from "../../cli/views/log.ts";
import { InvalidRequestError } from "../../core/errors.ts";

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

describe("whoever may write the log, or a table, commands no terminal either", () => {
  const write = { table: hostile, key: { id: { S: hostile } }, item: undefined, hash: 1n };
  const spoken = (act: (shell: Shell) => void | Promise<void>): Promise<string> => {
    const said: string[] = [];
    const say = (text: string): void => void said.push(text);
    const shell = new Shell({ print: say, say, styles: colours } as unknown as Terminal);
    return Promise.resolve(act(shell)).then(() => said.join(""));
  };
  test.each([
    ["text", false],
    ["JSON", true],
  ])("by the name of a table in a block, as %s", async (_, json) => {
    const answer = {
      text: () => [colours.good("put"), writeText(write as unknown as NamedWrite, true)],
      json: () => writeJson(write as unknown as NamedWrite, true),
    };
    const text = await spoken((shell) => {
      shell.answer({ json }, answer);
    });
    const rest = text.replaceAll(colours.good("put"), "").replaceAll("\n", "");
    expect(rest).not.toMatch(commanding);
    if (json) expect(JSON.parse(text)).toMatchObject({ table: hostile });
    else expect(text).toContain(colours.good("put"));
  });

  test.each([{}, { json: true }])("by what an error quotes, %j", async (options) => {
    const failing = (_options: never): Promise<undefined> =>
      Promise.reject(new InvalidRequestError("table", `table "${hostile}" is none`));
    const text = await spoken((shell) => shell.act(failing)(options as never));
    expect(text.replaceAll("\n", "")).not.toMatch(commanding);
    expect(text).toContain("nothing is parked");
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
