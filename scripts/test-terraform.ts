/**
 * `npm run test:terraform`: format, inputs, validity and plan tests of the module and its examples.
 * Format and inputs need only Terraform; the rest needs the AWS provider's schema, and no account.
 * What cannot run here is said, loudly.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openTerraform, skippedExitCode, TerraformUnavailable } from "./terraform.ts";

const moduleFolder = fileURLToPath(new URL("../infra/terraform", import.meta.url));
/** What `tidemark init` writes. */
const templateFolder = fileURLToPath(new URL("../cli/init/template/infra", import.meta.url));
/** Where a project has the module. */
const insideOfProject = "node_modules/tidemark/infra/terraform";

function checks(): boolean {
  const formatted = ["fmt", "-check", "-recursive", "-diff", moduleFolder, templateFolder];
  const format = spawnSync("terraform", formatted, { stdio: "inherit" });
  if (format.error !== undefined) {
    throw new TerraformUnavailable("there is no terraform on this machine");
  }
  if (format.status !== 0) return false;
  console.log("terraform fmt -check: ok");
  if (!inputsAreJudged() || !templateFits()) return false;
  for (const folder of ["", "examples/complete", "examples/localstack"]) {
    const terraform = openTerraform(folder);
    try {
      if (!terraform.run("validate", "-no-color")) return false;
      if (folder === "" && !terraform.run("test", "-no-color")) return false;
    } finally {
      terraform.close();
    }
  }
  return true;
}

/** The inputs alone need no provider: what they refuse is tested on a module of nothing else. */
function inputsAreJudged(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-inputs-"));
  try {
    mkdirSync(join(folder, "tests"));
    copyFileSync(join(moduleFolder, "variables.tf"), join(folder, "variables.tf"));
    for (const name of ["inputs", "accepted"]) {
      const file = join("tests", `${name}.tftest.hcl`);
      const tests = readFileSync(join(moduleFolder, file), "utf8");
      const mock = /^mock_provider "aws" \{(?:\}\n|[\s\S]*?^\}\n)/m;
      writeFileSync(join(folder, file), tests.replace(mock, ""));
    }
    const said = terraformIn(folder, ["init", "test"]);
    if (said === undefined) return false;
    console.log(`inputs: ${said.trim().split("\n").at(-1) ?? ""}`);
    return true;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * What `tidemark init` writes gives the module inputs that it takes, on AWS and in LocalStack:
 * planned without the provider, on a module of nothing but the inputs.
 */
function templateFits(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-template-"));
  try {
    const [project, module] = [join(folder, "infra"), join(folder, insideOfProject)];
    mkdirSync(project);
    mkdirSync(module, { recursive: true });
    copyFileSync(join(moduleFolder, "variables.tf"), join(module, "variables.tf"));
    const outputs = ["sdk", "policies"].map((name) => `output "${name}" { value = "" }\n`);
    writeFileSync(join(module, "outputs.tf"), outputs.join(""));
    const template = readFileSync(join(templateFolder, "main.tf"), "utf8");
    const ofProvider = /^(?:provider "aws" \{[\s\S]*?^\}|  required_providers \{[\s\S]*?^  \})\n/gm;
    writeFileSync(join(project, "main.tf"), template.replaceAll(ofProvider, ""));
    for (const localstack of ["false", "true"]) {
      const plan = `plan -refresh=false -var=localstack=${localstack}`;
      if (terraformIn(project, ["init", plan]) === undefined) return false;
    }
    console.log("what tidemark init writes: ok");
    return true;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the last of the commands has said; undefined, and said: one has failed. */
function terraformIn(folder: string, commands: readonly string[]): string | undefined {
  let said = "";
  for (const command of commands) {
    const args = [`-chdir=${folder}`, ...command.split(" "), "-no-color"];
    const done = spawnSync("terraform", args, {
      encoding: "utf8",
      env: { ...process.env, TF_IN_AUTOMATION: "true", CHECKPOINT_DISABLE: "1" },
    });
    said = done.stdout;
    if (done.status === 0) continue;
    console.log(done.stdout, done.stderr);
    return undefined;
  }
  return said;
}

try {
  process.exitCode = checks() ? 0 : 1;
} catch (error) {
  if (!(error instanceof TerraformUnavailable)) throw error;
  console.log(`SKIPPED: ${error.message}`);
  process.exitCode = skippedExitCode;
}
