#!/usr/bin/env node
/** The program `tidemark`: a command line in, an exit code out. */
import { runProgram } from "./program.ts";
import { processTerminal } from "./shell/terminal.ts";

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
process.exitCode = await runProgram(process.argv.slice(2), processTerminal());
