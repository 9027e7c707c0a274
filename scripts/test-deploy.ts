/**
 * `npm run test:deploy`: brings a local cloud up, deploys, runs the suites against what was
 * deployed, destroys, and looks whether anything is left. Deploys
 * infra/terraform/examples/localstack with Terraform; where its provider cannot be had it says so
 * and skips. `--without-terraform` deploys the same zips with the module's settings through the AWS
 * SDK: that proves the functions in a cloud's own runtime, behind its own mappings, and says
 * nothing about the module.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { answers, LightCloudUnavailable, startLightCloud } from "../localstack/light-cloud.ts";
import { deploymentLeftovers, deployLight } from "../localstack/light-deployment.ts";
import { localRestUrl, runDeployedSuites } from "./deployed-suites.ts";
import {
  openTerraform,
  skippedExitCode,
  TerraformUnavailable,
  type Terraform,
} from "./terraform.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const deployment = "local";
const tables = ["accounts", "ledger"];

type Options = {
  readonly withoutTerraform?: boolean;
  readonly endpoint?: string;
  readonly endpointFromFunctions?: string;
  readonly rest: boolean;
  readonly core?: boolean;
};

type Deployed = { readonly restApiId: string | undefined; destroy(): Promise<void> };

const options = new Command("test:deploy")
  .description("Deploys to a local cloud, tests what was deployed, and destroys it.")
  .option("--without-terraform", "deploys through the AWS SDK instead")
  .option("--endpoint <url>", "of a local cloud that is up; default: starts the light one")
  .option("--endpoint-from-functions <url>", "the same, as functions see it")
  .option("--no-rest", "without the HTTP API, which LocalStack's free edition has not got")
  .option("--core", "only the short selection of suites, for CI; default: all that can run there")
  .parse()
  .opts<Options>();

function say(line: string): void {
  console.log(`test:deploy: ${line}`);
}

function applyTerraform(terraform: Terraform, endpoint: string): Deployed {
  const variables = [
    `-var=deployment=${deployment}`,
    `-var=endpoint=${endpoint}`,
    `-var=endpoint_from_functions=${options.endpointFromFunctions ?? endpoint}`,
    `-var=rest=${options.rest.toString()}`,
  ];
  const destroy = (): Promise<void> => {
    const done = terraform.run("destroy", "-auto-approve", "-no-color", ...variables);
    return done ? Promise.resolve() : Promise.reject(new Error("terraform destroy failed"));
  };
  if (!terraform.run("apply", "-auto-approve", "-no-color", ...variables)) {
    terraform.run("destroy", "-auto-approve", "-no-color", ...variables);
    throw new Error("terraform apply failed");
  }
  const restApiId = terraform.outputs()["rest_api_id"];
  return { restApiId: typeof restApiId === "string" ? restApiId : undefined, destroy };
}

/** The tables of examples/localstack. */
function deployThroughSdk(endpoint: string): Promise<Deployed> {
  return deployLight({
    endpoint,
    deployment,
    functionsFolder: join(root, "dist", "functions"),
    tables: [
      { name: "accounts", partitionKey: { name: "id", type: "S" }, history: true },
      {
        name: "ledger",
        partitionKey: { name: "accountId", type: "S" },
        sortKey: { name: "entryId", type: "S" },
        history: false,
      },
    ],
  });
}

async function deployAndTest(terraform: Terraform | undefined, endpoint: string): Promise<number> {
  say(
    `deploying to ${endpoint} ` +
      (terraform === undefined ? "through the AWS SDK" : "with Terraform"),
  );
  const deployed =
    terraform === undefined
      ? await deployThroughSdk(endpoint)
      : applyTerraform(terraform, endpoint);
  let code = 1;
  try {
    const { restApiId } = deployed;
    code = await runDeployedSuites({
      deployment,
      endpoint,
      region: "us-east-1",
      restUrl: restApiId === undefined ? undefined : localRestUrl(endpoint, restApiId),
      coreOnly: options.core === true,
    });
  } finally {
    say("destroying");
    await deployed.destroy();
  }
  const left = await deploymentLeftovers({ endpoint, deployment, tables });
  if (left.length === 0) say("nothing is left");
  else say(`left behind: ${left.join(", ")}`);
  return left.length === 0 ? code : 1;
}

/** The cloud's log without what it says of every invocation that went well. */
function withoutRoutine(log: string): string {
  const routine = /^\{"_aws"|^\S+ \S+ INFO /;
  return log
    .split("\n")
    .filter((line) => !routine.test(line))
    .join("\n");
}

async function main(): Promise<number> {
  const build = spawnSync("npm", ["run", "--silent", "build:functions"], {
    cwd: root,
    stdio: "inherit",
  });
  if (build.status !== 0) return 1;
  let terraform: Terraform | undefined;
  try {
    terraform =
      options.withoutTerraform === true ? undefined : openTerraform("examples/localstack");
    if (options.endpoint !== undefined) {
      if (await answers(options.endpoint)) return await deployAndTest(terraform, options.endpoint);
      throw new Error(`nothing answers at ${options.endpoint}`);
    }
    const cloud = await startLightCloud({ port: 0, say });
    let code = 1;
    try {
      code = await deployAndTest(terraform, cloud.endpoint);
    } finally {
      await cloud.stop();
      if (code !== 0) console.log(withoutRoutine(cloud.log()).slice(-20_000));
    }
    return code;
  } catch (error) {
    const isMissing =
      error instanceof TerraformUnavailable || error instanceof LightCloudUnavailable;
    if (!isMissing) throw error;
    say(`SKIPPED: ${error.message}`);
    if (error instanceof TerraformUnavailable) {
      say("--without-terraform tests the same functions without the module");
    }
    return skippedExitCode;
  } finally {
    terraform?.close();
  }
}

process.exitCode = await main();
