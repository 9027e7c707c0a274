/** `npm run demo`: builds the demo as it stands now, and runs that. */
import { pathToFileURL } from "node:url";
import { StackError } from "../localstack/stack-error.ts";
import type * as Command from "./command.ts";
import { takeSnapshot } from "./snapshot.ts";

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
process.setSourceMapsEnabled(true);
const scripts = await takeSnapshot().catch((error: unknown) => {
  if (!(error instanceof StackError)) throw error;
  process.stderr.write(`demo: ${error.message}\n`);
  process.exit(1);
});
const { runCommand } = (await import(pathToFileURL(scripts.command).href)) as typeof Command;
await runCommand(process.argv.slice(2), scripts);
process.exit();
