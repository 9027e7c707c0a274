/** `tidemark register`: brings tables that exist under a deployment, local or on AWS. */
import { Command, Option } from "commander";
import { InvalidRequestError } from "../../core/errors.ts";
import { tableAccesses } from "../../core/table-access.ts";
import {
  checkTables,
  registerTables,
  type CheckedTable,
  type ClientOptions,
  type Registration,
} from "../../sdk/tables.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { targetOf, withWrite, writableTargetOf, type WritingOptions } from "../target.ts";
import { checkedLine, registeredLine, tableJson } from "../views/tables.ts";

type RegisterOptions = WritingOptions & {
  readonly history?: boolean;
  readonly access?: NonNullable<Registration["access"]>;
  readonly base?: boolean;
  readonly look?: NonNullable<Registration["look"]>;
  readonly check?: boolean;
};

/** @param path how it is called: it stands by itself, and under `tables`. */
export function registerCommand(shell: Shell, path = "register"): Command {
  const command = new Command("register")
    .description("Registers tables that exist, so that transactions may use them.")
    .argument("<tables...>", "names of DynamoDB tables");
  return withWrite(command)
    .option("--history", "keep superseded versions of these tables")
    .option("--no-history", "do not keep them (default: as registered; not, for a new table)")
    .addOption(
      new Option(
        "--access <who writes>",
        "mixed: native operations beside transactions (default: as registered; transactions " +
          "alone, for a new table)",
      ).choices(tableAccesses),
    )
    .option("--base", "BASE transactions may use these tables, which stays so")
    .addOption(
      new Option(
        "--look <how far>",
        "for items with Tidemark's own attribute names (default: first, of a new table)",
      ).choices(["first", "all", "none"]),
    )
    .option("--check", "look through all items for such names, and register nothing")
    .addHelpText("after", helpOf(path))
    .action(
      shell.act((names: readonly string[], options: RegisterOptions) =>
        options.check === true ? check(shell, names, options) : register(shell, names, options),
      ),
    );
}

const helpOf = (path: string): string => `
Keys and indexes are taken from the tables' own descriptions. Nothing is written to the tables
themselves. Register a table again after an index was added to it. docs/adoption.md has the steps
for a table that is in use. --check ends with 1 if a table may not be registered.

With --base the table that holds the locks and records of BASE transactions is made where it is
missing; on AWS give tables \`base = true\` in Terraform, which makes it and grants what it takes.
Who reads waits for no BASE transaction on tables with history.

Examples:
  tidemark ${path} orders accounts
  tidemark ${path} accounts --history
  tidemark ${path} orders --check --deployment shop
  tidemark ${path} carts --access mixed --deployment shop --write
  tidemark ${path} orders --history --base
`;

/** Tables as they are to be registered, all alike. */
async function register(
  shell: Shell,
  names: readonly string[],
  options: RegisterOptions,
): Promise<ExitCode> {
  const { history, access, base, look } = options;
  await registered(shell, options, {
    names,
    registration: {
      ...(history === undefined ? {} : { history }),
      ...(access === undefined ? {} : { access }),
      ...(base === undefined ? {} : { base }),
      ...(look === undefined ? {} : { look }),
    },
  });
  return 0;
}

type Wanted = {
  readonly names: readonly string[];
  readonly registration: Omit<Registration, "name">;
};

/** Registers tables, and tells what is registered then. @throws without `--write` on AWS. */
export async function registered(
  shell: Shell,
  options: WritingOptions,
  { names, registration }: Wanted,
): Promise<void> {
  const where = await writableTargetOf(options, shell.terminal);
  const tables = await registerTables(
    where,
    names.map((name) => ({ name, ...registration })),
  );
  shell.answer(options, {
    text: () => tables.map(registeredLine),
    json: () => ({ tables: tables.map(tableJson) }),
  });
}

async function check(
  shell: Shell,
  names: readonly string[],
  options: RegisterOptions,
): Promise<ExitCode> {
  const where = await targetOf(options, shell.terminal);
  const tables = await looked(shell, where, names, options);
  if (tables === undefined) return 1;
  shell.answer(options, {
    text: () => tables.map(checkedLine),
    json: () => ({ tables: tables.map(tableJson) }),
  });
  return 0;
}

/** Undefined, and said: the question was fine, and the answer is that the tables are not. */
async function looked(
  shell: Shell,
  where: ClientOptions,
  names: readonly string[],
  options: RegisterOptions,
): Promise<readonly CheckedTable[] | undefined> {
  try {
    return await checkTables(where, names);
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    shell.tell(error, options);
    return undefined;
  }
}
