/** `tidemark register`: brings tables that exist under a deployment, local or on AWS. */
import { Command } from "commander";
import { InvalidRequestError, TransactionError } from "../core/errors.ts";
import { loadConfig } from "../localstack/stack-config.ts";
import { StackError } from "../localstack/stack-error.ts";
import { registerTables, type ClientOptions } from "../sdk/tables.ts";

type RegisterOptions = {
  readonly endpoint?: string;
  readonly deployment?: string;
  readonly region?: string;
  readonly history?: boolean;
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
    .showHelpAfterError("(tidemark register --help shows all options)")
    .action(async (names: readonly string[], options: RegisterOptions) => {
      try {
        const { history } = options;
        const tables = names.map((name) => ({
          name,
          ...(history === undefined ? {} : { history }),
        }));
        for (const table of await registerTables(await targetOf(options), tables)) {
          const keys = [
            table.partitionKey,
            ...(table.sortKey === undefined ? [] : [table.sortKey]),
          ];
          const key = keys.map(({ name, type }) => `${name}:${type}`).join(",");
          const kept = table.history ? ", with history" : "";
          process.stdout.write(`registered ${table.name} (${key}${kept})\n`);
        }
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
