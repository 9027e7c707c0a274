/**
 * The command `tidemark` as a whole. Each subcommand is a file that makes its own `Command`; to add
 * one, make it and name it here.
 */
import { Command, CommanderError } from "commander";
import { auditCommand } from "./commands/audit.ts";
import { baseCommand } from "./commands/base.ts";
import { completionCommand } from "./commands/completion.ts";
import { conflictsCommand } from "./commands/conflicts.ts";
import { consoleCommand } from "./commands/console.ts";
import { demoCommand } from "./commands/demo.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { feedsCommand } from "./commands/feeds.ts";
import { initCommand } from "./commands/init.ts";
import { itemCommand } from "./commands/item.ts";
import { logCommand } from "./commands/log.ts";
import { moveCommand } from "./commands/move.ts";
import { outcomeCommand } from "./commands/outcome.ts";
import { registerCommand } from "./commands/register.ts";
import { shardsCommand } from "./commands/shards.ts";
import { startCommand } from "./commands/start.ts";
import { statusCommand } from "./commands/status.ts";
import { tablesCommand } from "./commands/tables.ts";
import { packageVersion } from "./package.ts";
import { similarCommand } from "./shell/suggestion.ts";
import { Shell, type ExitCode } from "./shell/shell.ts";
import type { Terminal } from "./shell/terminal.ts";
import { defaultPorts } from "./default-ports.ts";

const commands = [
  initCommand,
  startCommand,
  demoCommand,
  statusCommand,
  doctorCommand,
  tablesCommand,
  logCommand,
  outcomeCommand,
  itemCommand,
  conflictsCommand,
  shardsCommand,
  baseCommand,
  feedsCommand,
  auditCommand,
  consoleCommand,
  registerCommand,
  moveCommand,
  completionCommand,
];

type Form = {
  readonly isJson?: boolean;
  /** Told what a wrong word may have been meant for. */
  readonly onMeant?: ((meant: string) => void) | undefined;
};

export function createProgram(shell: Shell, { isJson = false, onMeant }: Form = {}): Command {
  const program = new Command("tidemark")
    .description("ACID transactions for DynamoDB.")
    .version(packageVersion())
    .addHelpText("after", help);
  for (const make of commands) program.addCommand(make(shell));
  settle(program, { terminal: shell.terminal, isJson, onMeant });
  return program;
}

const help = `
Commands go to the local stack at port ${defaultPorts.api}, or where tidemark.config says; to
another one with --endpoint; to AWS with --deployment. On AWS nothing is changed without --write.

Exit codes: 0 fine; 1 something is not well, or could not be found out; 2 the command line asks
for what cannot be; 130 stopped on the way.
`;

/** Runs one command line. What it gives is the process's exit code. */
export async function runProgram(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const shell = new Shell(terminal);
  const isJson = asksForJson(args);
  let hint = "";
  const onMeant = (meant: string): void => {
    hint = ` (Did you mean ${meant}?)`;
  };
  try {
    await createProgram(shell, { isJson, onMeant }).parseAsync([...args], { from: "user" });
    return shell.exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    if (isJson) {
      const message = error.message.replace(/^error: /u, "").replaceAll("\n", " ");
      shell.fail({ code: "invalid-request", field: undefined, message: `${message}${hint}` });
    }
    return 2;
  }
}

/** Told before the line is parsed: one that cannot be is answered in the form asked for, too. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return (end === -1 ? args : args.slice(0, end)).includes("--json");
}

/** Of a default command, whose own words were too many: the first may be another one, misspelt. */
function meantBy(command: Command, error: string): string | undefined {
  const [word] = command.args;
  const isExcess = error.startsWith("error: too many arguments");
  return isExcess && word !== undefined ? similarCommand(command, word) : undefined;
}

/** As docs/cli.md prints it. */
const helpColumns = 100;

/** The same of all commands: where they write to, and that a wrong word is the caller's. */
function settle(
  command: Command,
  to: Form & { readonly terminal: Terminal },
  path = command.name(),
): void {
  const { terminal, isJson = false, onMeant } = to;
  command
    .exitOverride()
    .configureOutput({
      writeOut: terminal.print,
      writeErr: terminal.say,
      getOutHelpWidth: () => helpColumns,
      getErrHelpWidth: () => helpColumns,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      outputError: (text, write) => {
        const meant = meantBy(command, text);
        if (meant !== undefined) onMeant?.(meant);
        if (isJson) return;
        write(text);
        if (meant !== undefined) write(`(Did you mean ${meant}?)\n`);
        const [, option] = /^error: unknown option '(.+)'\n$/u.exec(text) ?? [];
        if (option === undefined || command.registeredArguments.length === 0) return;
        write(`(An id or a key that begins with - goes behind --: ${path} … -- ${option})\n`);
      },
    })
    .allowExcessArguments(false)
    .showHelpAfterError(isJson ? false : `(${path} --help shows all options)`);
  for (const each of command.commands) settle(each, to, `${path} ${each.name()}`);
}
