/** Where a command goes, a local stack or a deployment on AWS, and how it says that it failed. */
import type { Command } from "commander";
import { InvalidRequestError, TransactionError } from "../core/errors.ts";
import { loadConfig } from "../localstack/stack-config.ts";
import { StackError } from "../localstack/stack-error.ts";
import type { ClientOptions } from "../sdk/tables.ts";

export type TargetOptions = {
  readonly endpoint?: string;
  readonly deployment?: string;
  readonly region?: string;
};

/** Where a stack listens that says nothing else. */
const localPort = 4600;

export function withTarget(command: Command): Command {
  return command
    .option("--endpoint <url>", "the local stack (default: as tidemark.config says, or port 4600)")
    .option("--deployment <name>", "a deployment on AWS, in place of a local stack")
    .option("--region <name>", "its AWS region (default: the environment's)");
}

/** What a user can do something about is one line, and not a stack. */
export async function orSaid(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof TransactionError || error instanceof StackError)) throw error;
    const remedy = /region is missing/i.test(error.message)
      ? "; name it by --region or AWS_REGION"
      : "";
    process.stderr.write(`tidemark: ${error.message}${remedy}\n`);
    process.exitCode = 1;
  }
}

export async function targetOf({
  endpoint,
  deployment,
  region,
}: TargetOptions): Promise<ClientOptions> {
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
