/**
 * `npm run test:integration [-- --history DIR] [what vitest takes]`: the integration suites; with
 * `--history` every engine records what it did, a folder of history per deployment
 * (docs/formats/history.md).
 */
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { Command } from "commander";

const program = new Command("test:integration")
  .description("Runs the integration suites.")
  .option("--history <folder>", "record a history of every deployment below it")
  .argument("[arguments...]", "handed to vitest: files, -t, …")
  .allowUnknownOption()
  .parse();

const { history } = program.opts<{ history?: string }>();
const recording = history === undefined ? {} : { TIDEMARK_HISTORY_DIR: resolve(history) };
const { status } = spawnSync(
  "npx",
  ["--no-install", "vitest", "run", "--project", "integration", ...program.args],
  { stdio: "inherit", env: { ...process.env, ...recording } },
);
process.exitCode = status ?? 1;
