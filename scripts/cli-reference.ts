/**
 * `npm run cli-reference`: writes each command's --help into docs/cli.md, so that it says there
 * what the command says.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { createProgram } from "../cli/program.ts";
import { Shell } from "../cli/shell/shell.ts";
import { processTerminal } from "../cli/shell/terminal.ts";

export const referenceFile = "docs/cli.md";
const begin = "<!-- From here on written by `npm run cli-reference`. -->\n";

/** The page with its reference anew. @throws when it has no place for it. */
export function referencePage(page: string): string {
  const at = page.indexOf(begin);
  if (at < 0) throw new Error(`${referenceFile} lacks the line ${begin}`);
  const program = createProgram(new Shell(processTerminal()));
  const sections = program.commands.flatMap((command) => sectionsOf(command, "tidemark"));
  return `${page.slice(0, at)}${begin}\n${sections.join("\n")}`;
}

function sectionsOf(command: Command, path: string): readonly string[] {
  const name = `${path} ${command.name()}`;
  const level = path === "tidemark" ? "##" : "###";
  const help = helpOf(command).trim();
  const section = `${level} ${name}\n\n\`\`\`text\n${help}\n\`\`\`\n`;
  return [section, ...command.commands.flatMap((each) => sectionsOf(each, name))];
}

/** What it adds behind is printed, and not part of commander's own text. */
function helpOf(command: Command): string {
  let printed = "";
  command.configureOutput({ writeOut: (text) => (printed += text) });
  command.outputHelp();
  return printed.replaceAll(/[ \t]+$/gm, "");
}

function main(): void {
  const file = join(fileURLToPath(new URL("..", import.meta.url)), referenceFile);
  writeFileSync(file, referencePage(readFileSync(file, "utf8")));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
