/** `tidemark tables`: which tables are registered and how, and what changes that. */
import { Argument, Command } from "commander";
import { withDeployment } from "../../inspection/deployment.ts";
import type { Shell } from "../shell/shell.ts";
import {
  targetOf,
  withTarget,
  withWrite,
  type TargetOptions,
  type WritingOptions,
} from "../target.ts";
import { tableListJson, tableListLines } from "../views/tables.ts";
import { moved } from "./move.ts";
import { registerCommand, registered } from "./register.ts";

export function tablesCommand(shell: Shell): Command {
  return new Command("tables")
    .description("The registered tables: lists them, registers, adopts and moves them.")
    .addCommand(listCommand(shell), { isDefault: true })
    .addCommand(registerCommand(shell, "tables register"))
    .addCommand(adoptCommand(shell))
    .addCommand(moveToCommand(shell, "mixed"))
    .addCommand(moveToCommand(shell, "transactional"))
    .addCommand(historyCommand(shell))
    .addHelpText("after", help);
}

const help = `
Without a further word it lists the tables. What changes something needs --write on AWS.

Examples:
  tidemark tables
  tidemark tables list --deployment shop --json
  tidemark tables adopt orders --deployment shop --write
  tidemark tables mixed carts
  tidemark tables history accounts on
`;

function listCommand(shell: Shell): Command {
  const command = new Command("list").description(
    "Lists the registered tables: key, who writes them, history, indexes as registered.",
  );
  return withTarget(command)
    .addHelpText("after", "\nExamples:\n  tidemark tables list\n  tidemark tables --json\n")
    .action(
      shell.act(async (options: TargetOptions) => {
        const where = await targetOf(options, shell.terminal);
        await withDeployment(where, async ({ registry }) => {
          shell.answer(options, {
            text: () => tableListLines(registry, shell.terminal.styles),
            json: () => tableListJson(registry),
          });
        });
        return 0;
      }),
    );
}

function adoptCommand(shell: Shell): Command {
  const command = new Command("adopt")
    .description("Registers tables in use, after a look through all their items.")
    .argument("<tables...>", "names of DynamoDB tables");
  return withWrite(command)
    .addHelpText("after", adoptHelp)
    .action(
      shell.act(async (names: readonly string[], options: WritingOptions) => {
        await registered(shell, options, { names, registration: { look: "all" } });
        return 0;
      }),
    );
}

const adoptHelp = `
As \`register --look all\`: each table is read once, eventually consistent, and none is registered
if an item of any has an attribute of one of Tidemark's own names. docs/adoption.md has all steps.

Examples:
  tidemark tables adopt orders
  tidemark tables adopt orders customers --deployment shop --write
`;

function moveToCommand(shell: Shell, access: "mixed" | "transactional"): Command {
  const who = access === "mixed" ? "native operations beside transactions" : "transactions alone";
  const command = new Command(access)
    .description(`Moves a table in use to ${who}; as \`tidemark move --access ${access}\`.`)
    .argument("<table>", "name of the table");
  return withWrite(command)
    .addHelpText(
      "after",
      `\nExamples:\n  tidemark tables ${access} carts\n` +
        `  tidemark tables ${access} carts --deployment shop --write\n`,
    )
    .action(
      shell.act((name: string, options: WritingOptions) =>
        moved(shell, name, { ...options, access }),
      ),
    );
}

function historyCommand(shell: Shell): Command {
  const command = new Command("history")
    .description("Keeps superseded versions of a table from now on, or no longer.")
    .argument("<table>", "name of the table")
    .addArgument(new Argument("<state>", "whether they are kept").choices(["on", "off"]));
  return withWrite(command)
    .addHelpText("after", historyHelp)
    .action(
      shell.act(async (name: string, state: "on" | "off", options: WritingOptions) => {
        const registration = { history: state === "on", look: "none" } as const;
        await registered(shell, options, { names: [name], registration });
        return 0;
      }),
    );
}

const historyHelp = `
Switched on for a table in use, history begins some 13 minutes later. How long versions are kept
holds for all tables: \`tidemark tables\` shows it, Terraform sets it.

Examples:
  tidemark tables history accounts on
  tidemark tables history accounts off --deployment shop --write
`;
