/**
 * `npm run test:deployed`: the SDK and REST suites against a deployment that is already up, in a
 * local cloud or on AWS (with the environment's credentials). It needs the tables `accounts` (key
 * `id`, with history) and `ledger` (keys `accountId` and `entryId`), and leaves its rows in them.
 * In a local cloud the integration suites run too, on tables that they make and take away.
 */
import { Command } from "commander";
import { localRestUrl, runDeployedSuites } from "./deployed-suites.ts";

type Options = {
  readonly deployment: string;
  readonly endpoint?: string;
  readonly region: string;
  readonly restApiId?: string;
  readonly restUrl?: string;
  readonly core?: boolean;
};

const program = new Command("test:deployed")
  .description("Runs the SDK and REST suites against a deployment that is up.")
  .requiredOption("--deployment <name>", "the deployment's name")
  .option("--endpoint <url>", "of a local cloud; without it: AWS")
  .option("--region <name>", "where it is", "us-east-1")
  .option("--rest-api-id <id>", "the HTTP API's id in a local cloud")
  .option("--rest-url <url>", "or its address")
  .option("--core", "only the short selection of suites")
  .parse();

const options = program.opts<Options>();
const { endpoint, restApiId } = options;
const localUrl =
  endpoint === undefined || restApiId === undefined ? undefined : localRestUrl(endpoint, restApiId);
const restUrl = options.restUrl ?? localUrl;
process.exitCode = await runDeployedSuites({
  deployment: options.deployment,
  endpoint,
  region: options.region,
  restUrl,
  coreOnly: options.core === true,
});
