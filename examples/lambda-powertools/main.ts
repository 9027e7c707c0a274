/**
 * The function on this machine: `npx tsx examples/lambda-powertools/main.ts` beside a running
 * `npm start`. The same event comes twice, as callers and gateways repeat it: money moves once.
 */
import { Command } from "commander";
import { endpointOption } from "../endpoint-option.ts";
import { invoke } from "./invoke.ts";
import sampleEvent from "./sample-event.json" with { type: "json" };

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
const program = new Command("lambda-powertools").description("A transfer by a Lambda function.");
program.addOption(endpointOption()).parse();

// As the function's settings would say. The handler reads it when it is loaded.
process.env["TIDEMARK_ENDPOINT"] = program.opts<{ endpoint: string }>().endpoint;
const { handler } = await import("./handler.ts");
const first = await invoke(handler, sampleEvent);
const again = await invoke(handler, sampleEvent);
console.log("\nfirst:", first.statusCode, first.body);
console.log("again:", again.statusCode, again.body);
process.exitCode = first.statusCode === 201 ? 0 : 1;
