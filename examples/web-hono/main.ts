/** The bank's web backend: `npx tsx examples/web-hono/main.ts` beside a running `npm start`. */
import { Command } from "commander";
import { createClient } from "../../sdk/index.ts";
import { endpointOption } from "../endpoint-option.ts";
import { portOption, serveUntilStopped } from "../serve-until-stopped.ts";
import { createApp } from "./app.ts";

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
const program = new Command("web-hono").description("Accounts and transfers by HTTP.");
program.addOption(endpointOption()).addOption(portOption()).parse();
const { endpoint, port } = program.opts<{ endpoint: string; port: number }>();

await using db = createClient({ endpoint });
await serveUntilStopped(createApp(db), port, (address) => {
  console.log(`Listening at ${address}. In another shell:

  curl -s ${address}/accounts/dora
  curl -s ${address}/transfers -H 'idempotency-key: try-1' \\
    -d '{"source":"dora","target":"emil","amountCents":1000}'   # again: replayed
  curl -s ${address}/transfers -H 'idempotency-key: try-2' \\
    -d '{"source":"dora","target":"emil","amountCents":99999900}'

Ctrl-C stops it.`);
});
