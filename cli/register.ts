/** `tidemark register`: brings tables that exist under a deployment, local or on AWS. */
import { Command, Option } from "commander";
import { InvalidRequestError, TransactionError } from "../core/errors.ts";
import { loadConfig } from "../localstack/stack-config.ts";
import { StackError } from "../localstack/stack-error.ts";
import {
  checkTables,
  registerTables,
  type CheckedTable,
  type ClientOptions,
  type RegisteredTable,
  type Registration,
} from "../sdk/tables.ts";

type RegisterOptions = {
  readonly endpoint?: string;
  readonly deployment?: string;
  readonly region?: string;
  readonly history?: boolean;
  readonly look?: NonNullable<Registration["look"]>;
  readonly check?: boolean;
};

/** Where a stack listens that says nothing else. */
const localPort = 4600;

export function registerCommand(): Command {
  return new Command("register")
    .description("Registers tables that exist, so that transactions may use them.")
    .argument("<tables...>", "names of DynamoDB tables")
    .option("--endpoint <url>", "the local stack (default: as tidemark.config says, or port 4600)")
    .option("--deployment <name>", "a deployment on AWS, in place of a local stack")
    .option("--region <name>", "its AWS region (default: the environment's)")
    .option("--history", "keep superseded versions of these tables")
    .option("--no-history", "do not keep them (default: as registered; not, for a new table)")
    .addOption(
      new Option(
        "--look <how far>",
        "for items with Tidemark's own attribute names (default: first, of a new table)",
      ).choices(["first", "all", "none"]),
    )
    .option("--check", "look through all items for such names, and register nothing")
    .showHelpAfterError("(tidemark register --help shows all options)")
    .action(async (names: readonly string[], options: RegisterOptions) => {
      try {
        for (const line of await told(names, options)) process.stdout.write(`${line}\n`);
      } catch (error) {
        if (!(error instanceof TransactionError || error instanceof StackError)) throw error;
        const remedy = /region is missing/i.test(error.message)
          ? "; name it by --region or AWS_REGION"
          : "";
        process.stderr.write(`tidemark: ${error.message}${remedy}\n`);
        process.exitCode = 1;
      }
    });
}

async function told(
  names: readonly string[],
  options: RegisterOptions,
): Promise<readonly string[]> {
  const where = await targetOf(options);
  if (options.check === true) return (await checkTables(where, names)).map(checked);
  const { history, look } = options;
  const tables = names.map((name) => ({
    name,
    ...(history === undefined ? {} : { history }),
    ...(look === undefined ? {} : { look }),
  }));
  return (await registerTables(where, tables)).map(registered);
}

function registered(table: RegisteredTable): string {
  const { name, history, looked } = table;
  const kept = history ? ", with history" : "";
  const head = `registered ${name} (${keyText(table)}${kept})`;
  if (looked === undefined) return head;
  const seen = looked.isAll
    ? `all its items (${looked.items})`
    : `its first ${looked.items} items (--check looks through all)`;
  return `${head}; no reserved names in ${seen}`;
}

function checked({ looked, ...table }: CheckedTable): string {
  return `${table.name} (${keyText(table)}): no reserved names in all its items (${looked.items})`;
}

function keyText({ partitionKey, sortKey }: Pick<CheckedTable, "partitionKey" | "sortKey">) {
  const keys = [partitionKey, ...(sortKey === undefined ? [] : [sortKey])];
  return keys.map(({ name, type }) => `${name}:${type}`).join(",");
}

async function targetOf({ endpoint, deployment, region }: RegisterOptions): Promise<ClientOptions> {
  if (deployment === undefined) {
    if (region !== undefined) return conflicting("region");
    return { endpoint: endpoint ?? (await configuredEndpoint()) };
  }
  if (endpoint !== undefined) return conflicting("endpoint");
  return region === undefined ? { deployment } : { deployment, region };
}

/** As `tidemark start` would take it in this folder. */
async function configuredEndpoint(): Promise<string> {
  const { ports } = await loadConfig(undefined, process.cwd());
  return `http://127.0.0.1:${ports?.api ?? localPort}`;
}

function conflicting(option: string): never {
  throw new InvalidRequestError(
    option,
    "name either a local stack (--endpoint) or a deployment on AWS (--deployment, --region)",
  );
}
