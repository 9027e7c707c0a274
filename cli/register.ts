/** `tidemark register`: brings tables that exist under a deployment, local or on AWS. */
import { Command } from "commander";
import { InvalidRequestError, TransactionError } from "../core/errors.ts";
import { registerTables, type ClientOptions } from "../sdk/tables.ts";

type RegisterOptions = {
  readonly endpoint?: string;
  readonly deployment?: string;
  readonly region?: string;
  readonly history?: boolean;
};

const localEndpoint = "http://127.0.0.1:4600";

export function registerCommand(): Command {
  return new Command("register")
    .description("Registers tables that exist, so that transactions may use them.")
    .argument("<tables...>", "names of DynamoDB tables")
    .option("--endpoint <url>", `the local stack (default: ${localEndpoint})`)
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
        for (const table of await registerTables(targetOf(options), tables)) {
          const keys = [
            table.partitionKey,
            ...(table.sortKey === undefined ? [] : [table.sortKey]),
          ];
          const key = keys.map(({ name, type }) => `${name}:${type}`).join(",");
          const kept = table.history ? ", with history" : "";
          process.stdout.write(`registered ${table.name} (${key}${kept})\n`);
        }
      } catch (error) {
        if (!(error instanceof TransactionError)) throw error;
        process.stderr.write(`tidemark: ${error.message}\n`);
        process.exitCode = 1;
      }
    });
}

function targetOf({ endpoint, deployment, region }: RegisterOptions): ClientOptions {
  if (deployment === undefined) {
    const local = { endpoint: endpoint ?? localEndpoint };
    return region === undefined ? local : conflicting("region");
  }
  if (endpoint !== undefined) return conflicting("endpoint");
  return region === undefined ? { deployment } : { deployment, region };
}

function conflicting(option: string): never {
  throw new InvalidRequestError(
    option,
    "name either a local stack (--endpoint) or a deployment on AWS (--deployment, --region)",
  );
}
