/** Where a command goes: a local stack, or a deployment on AWS, and whether it may change that. */
import type { Command } from "commander";
import { InvalidRequestError } from "../core/errors.ts";
import { loadConfig } from "../localstack/stack-config.ts";
import { checkClientOptions } from "../sdk/client-options.ts";
import type { ClientOptions } from "../sdk/tables.ts";
import { defaultPorts } from "./default-ports.ts";
import type { Terminal } from "./shell/terminal.ts";

export type TargetOptions = {
  readonly endpoint?: string;
  readonly deployment?: string;
  readonly region?: string;
  readonly json?: boolean;
};

/** Of a command that changes something. */
export type WritingOptions = TargetOptions & { readonly write?: boolean };

export function withTarget(command: Command): Command {
  return command
    .option(
      "--endpoint <url>",
      `the local stack (default: as tidemark.config says, or port ${defaultPorts.api})`,
    )
    .option("--deployment <name>", "a deployment on AWS, in place of a local stack")
    .option("--region <name>", "its AWS region (default: the environment's)")
    .option("--json", "answer as JSON, one line for each answer");
}

/** Of a command that changes something: on AWS only with the user's word for it. */
export function withWrite(command: Command): Command {
  return withTarget(command).option("--write", "change a deployment on AWS: needed for that there");
}

/** @throws InvalidRequestError for options that contradict each other, or name no address. */
export async function targetOf(
  { endpoint, deployment, region }: TargetOptions,
  { environment, folder }: Pick<Terminal, "environment" | "folder">,
): Promise<ClientOptions> {
  if (deployment === undefined) {
    if (region !== undefined) return conflicting("region");
    const stack = { endpoint: endpoint ?? (await configuredEndpoint(folder)) };
    checkClientOptions(stack);
    return stack;
  }
  if (endpoint !== undefined) return conflicting("endpoint");
  const endpoints = awsEndpoints(environment);
  return {
    deployment,
    ...(region === undefined ? {} : { region }),
    ...(endpoints === undefined ? {} : { endpoints }),
  };
}

/**
 * The same, for what changes something there.
 * @throws InvalidRequestError also for a deployment on AWS without `--write`.
 */
export async function writableTargetOf(
  options: WritingOptions,
  terminal: Pick<Terminal, "environment" | "folder">,
): Promise<ClientOptions> {
  const where = await targetOf(options, terminal);
  if (where.deployment === undefined || options.write === true) return where;
  throw new InvalidRequestError(
    "write",
    `this would change the deployment "${where.deployment}" on AWS; add --write if it shall`,
  );
}

/** As the AWS SDK reads them; read here, since the stand-ins' Kinesis speaks another HTTP. */
function awsEndpoints(
  environment: Terminal["environment"],
): { readonly dynamodb?: string; readonly kinesis?: string } | undefined {
  const both = environment["AWS_ENDPOINT_URL"];
  const dynamodb = environment["AWS_ENDPOINT_URL_DYNAMODB"] ?? both;
  const kinesis = environment["AWS_ENDPOINT_URL_KINESIS"] ?? both;
  if (dynamodb === undefined && kinesis === undefined) return undefined;
  return {
    ...(dynamodb === undefined ? {} : { dynamodb }),
    ...(kinesis === undefined ? {} : { kinesis }),
  };
}

/** As `tidemark start` would take it in this folder. */
async function configuredEndpoint(folder: string): Promise<string> {
  const { ports } = await loadConfig(undefined, folder);
  return `http://127.0.0.1:${ports?.api ?? defaultPorts.api}`;
}

function conflicting(option: string): never {
  throw new InvalidRequestError(
    option,
    "name either a local stack (--endpoint) or a deployment on AWS (--deployment, --region)",
  );
}
