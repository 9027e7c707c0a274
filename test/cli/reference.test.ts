/** docs/cli.md says what the commands say. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "../../cli/program.ts";
import { Shell } from "../../cli/shell/shell.ts";
import { processTerminal } from "../../cli/shell/terminal.ts";
import { referenceFile, referencePage } from "../../scripts/cli-reference.ts";
import { tidemark } from "./fixtures/command-line.ts";

const page = readFileSync(join(import.meta.dirname, "../..", referenceFile), "utf8");

test("the page has each command's --help, word by word", () => {
  // Otherwise: npm run cli-reference.
  expect(referencePage(page)).toBe(page);
});

function all(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(all)];
}
const commands = createProgram(new Shell(processTerminal())).commands.flatMap(all);

test.each(commands.map((each) => [pathOf(each), each] as const))(
  "%s --help has examples, ends with 0, and needs no stack",
  async (path) => {
    const { code, out, err } = await tidemark([...path.split(" "), "--help"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain(`Usage: tidemark ${path}`);
    expect(out).toMatch(new RegExp(`\\nExamples:\n(  tidemark .*\n)*  tidemark ${path}`));
    expect(out).toContain(out.includes("Commands:") ? "Commands:" : "--json");
  },
);

function pathOf(command: Command): string {
  const { parent } = command;
  return parent?.parent === null || parent === null
    ? command.name()
    : `${pathOf(parent)} ${command.name()}`;
}
