#!/usr/bin/env node
/**
 * The command `tidemark`. Each subcommand is a file that makes its own `Command`; to add one, make
 * it and name it here. Nothing heavy is imported before a subcommand runs.
 */
import { Command } from "commander";
import { moveCommand } from "./move.ts";
import { packageVersion } from "./package.ts";
import { registerCommand } from "./register.ts";
import { startCommand } from "./start.ts";

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
await new Command("tidemark")
  .description("ACID transactions for DynamoDB.")
  .version(packageVersion())
  .addCommand(startCommand())
  .addCommand(registerCommand())
  .addCommand(moveCommand())
  .parseAsync();
