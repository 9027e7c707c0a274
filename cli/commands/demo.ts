/** `tidemark demo`: many clients against a stack, and an audit; in a clone `npm run demo`. */
import { pathToFileURL } from "node:url";
import { Command } from "commander";
import type * as Demo from "../../demo/command.ts";
import { demoOptions, withDemoOptions } from "../../demo/options.ts";
import { assertStackPackages, builtDemo } from "../package.ts";
import type { Shell } from "../shell/shell.ts";

export function demoCommand(shell: Shell): Command {
  return withDemoOptions(new Command("demo"), "tidemark demo").action(
    shell.act((_options: object, command: Command) => demo(command)),
  );
}

/** Ends the process by itself, with 1 when the audit finds a fault. */
async function demo(command: Command): Promise<never> {
  const options = demoOptions(command);
  assertStackPackages();
  // Where it is not built it is built now, from one reading of the sources.
  const scripts = builtDemo() ?? (await (await import("../../demo/snapshot.ts")).takeSnapshot());
  const { runWith } = (await import(pathToFileURL(scripts.command).href)) as typeof Demo;
  await runWith(options, scripts);
  process.exit();
}
