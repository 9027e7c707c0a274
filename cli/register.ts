/** `tidemark register`: brings tables that exist under a deployment, local or on AWS. */
import { Command, Option } from "commander";
import { tableAccesses } from "../core/table-access.ts";
import {
  checkTables,
  registerTables,
  type CheckedTable,
  type RegisteredTable,
  type Registration,
} from "../sdk/tables.ts";
import { orSaid, targetOf, withTarget, type TargetOptions } from "./target.ts";

type RegisterOptions = TargetOptions & {
  readonly history?: boolean;
  readonly access?: NonNullable<Registration["access"]>;
  readonly look?: NonNullable<Registration["look"]>;
  readonly check?: boolean;
};

export function registerCommand(): Command {
  const command = new Command("register")
    .description("Registers tables that exist, so that transactions may use them.")
    .argument("<tables...>", "names of DynamoDB tables");
  return withTarget(command)
    .option("--history", "keep superseded versions of these tables")
    .option("--no-history", "do not keep them (default: as registered; not, for a new table)")
    .addOption(
      new Option(
        "--access <who writes>",
        "mixed: native operations beside transactions (default: as registered; transactions " +
          "alone, for a new table)",
      ).choices(tableAccesses),
    )
    .addOption(
      new Option(
        "--look <how far>",
        "for items with Tidemark's own attribute names (default: first, of a new table)",
      ).choices(["first", "all", "none"]),
    )
    .option("--check", "look through all items for such names, and register nothing")
    .showHelpAfterError("(tidemark register --help shows all options)")
    .action(async (names: readonly string[], options: RegisterOptions) => {
      await orSaid(async () => {
        for (const line of await told(names, options)) process.stdout.write(`${line}\n`);
      });
    });
}

async function told(
  names: readonly string[],
  options: RegisterOptions,
): Promise<readonly string[]> {
  const where = await targetOf(options);
  if (options.check === true) return (await checkTables(where, names)).map(checked);
  const { history, access, look } = options;
  const tables = names.map((name) => ({
    name,
    ...(history === undefined ? {} : { history }),
    ...(access === undefined ? {} : { access }),
    ...(look === undefined ? {} : { look }),
  }));
  return (await registerTables(where, tables)).map(registered);
}

function registered(table: RegisteredTable): string {
  const { name, history, looked } = table;
  const kept = history ? ", with history" : "";
  const head = `registered ${name} (${keyText(table)}${kept}${accessText(table)})`;
  if (looked === undefined) return head;
  const seen = looked.isAll
    ? `all its items (${looked.items})`
    : `its first ${looked.items} items (--check looks through all)`;
  return `${head}; no reserved names in ${seen}`;
}

function accessText({ name, access, move }: RegisteredTable): string {
  if (move === undefined) return access === "mixed" ? ", mixed" : "";
  const { to, stage } = move;
  return `, on its way to ${to}: ${stage}; \`tidemark move ${name} --access ${to}\` goes on`;
}

function checked({ looked, ...table }: CheckedTable): string {
  return `${table.name} (${keyText(table)}): no reserved names in all its items (${looked.items})`;
}

function keyText({ partitionKey, sortKey }: Pick<CheckedTable, "partitionKey" | "sortKey">) {
  const keys = [partitionKey, ...(sortKey === undefined ? [] : [sortKey])];
  return keys.map(({ name, type }) => `${name}:${type}`).join(",");
}
