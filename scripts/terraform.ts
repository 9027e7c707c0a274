/** Terraform on the module and its examples, with its own data outside of the repository. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const moduleFolder = fileURLToPath(new URL("../infra/terraform", import.meta.url));

export type Terraform = {
  /** @returns whether it succeeded; its output goes to ours. */
  run(...parameters: readonly string[]): boolean;
  /** Of the outputs as they stand in the state. */
  outputs(): Readonly<Record<string, unknown>>;
  /** Forgets state, plugins and lock file. */
  close(): void;
};

/**
 * What a script exits with that could not do its work here; CI counts it as skipped. By hand that
 * is no failure.
 */
export const skippedExitCode =
  process.env["TIDEMARK_SKIPPED_EXIT_CODE"] === undefined
    ? 0
    : Number(process.env["TIDEMARK_SKIPPED_EXIT_CODE"]);

/** Why Terraform cannot be used here, for the log. */
export class TerraformUnavailable extends Error {
  override readonly name = "TerraformUnavailable";
}

/**
 * Ready to plan: `init` has found the provider, in the registry or in the filesystem mirror that
 * `TF_CLI_CONFIG_FILE` names.
 * @param folder below infra/terraform; empty for the module itself.
 * @throws TerraformUnavailable
 */
export function openTerraform(folder: string): Terraform {
  const where = join(moduleFolder, folder);
  const version = spawnSync("terraform", ["version", "-json"], { encoding: "utf8" });
  if (version.error !== undefined) {
    throw new TerraformUnavailable("there is no terraform on this machine");
  }
  const data = mkdtempSync(join(tmpdir(), "tidemark-terraform-"));
  const lockFile = join(where, ".terraform.lock.hcl");
  const ownLock = !existsSync(lockFile);
  const environment = {
    ...process.env,
    TF_DATA_DIR: join(data, "data"),
    TF_IN_AUTOMATION: "true",
    TF_INPUT: "0",
    CHECKPOINT_DISABLE: "1",
  };
  const close = (): void => {
    rmSync(data, { recursive: true, force: true });
    if (ownLock) rmSync(lockFile, { force: true });
  };
  const call = (parameters: readonly string[], output: "inherit" | "pipe") =>
    spawnSync("terraform", [`-chdir=${where}`, ...parameters], {
      encoding: "utf8",
      env: environment,
      stdio: ["ignore", output, output],
      maxBuffer: 64 * 1024 * 1024,
    });
  const init = call(["init", "-no-color", "-backend=false"], "pipe");
  if (init.status !== 0) {
    close();
    // Warnings about the command line's own configuration come before.
    const text = init.stderr.replaceAll(/[╷│╵\s]+/g, " ").trim();
    const reason = text.slice(Math.max(0, text.indexOf("Error: ")));
    throw new TerraformUnavailable(`terraform init found no AWS provider: ${reason.slice(0, 300)}`);
  }
  const state = `-state=${join(data, "terraform.tfstate")}`;
  const stateful = new Set(["apply", "destroy", "output"]);
  return {
    run(...parameters) {
      const [command = "", ...rest] = parameters;
      const extra = stateful.has(command) ? [state] : [];
      return call([command, ...extra, ...rest], "inherit").status === 0;
    },
    outputs() {
      const done = call(["output", state, "-json"], "pipe");
      const named = JSON.parse(done.stdout) as Record<string, { readonly value: unknown }>;
      return Object.fromEntries(Object.entries(named).map(([name, { value }]) => [name, value]));
    },
    close,
  };
}
