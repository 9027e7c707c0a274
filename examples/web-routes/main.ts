/** The box office by HTTP: `npx tsx examples/web-routes/main.ts` beside a running `npm start`. */
import { Command } from "commander";
import { endpointOption } from "../endpoint-option.ts";
import { portOption, serveUntilStopped } from "../serve-until-stopped.ts";
import { serveRoutes } from "./serve-routes.ts";
import { tidemark } from "./tidemark-client.ts";

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
const program = new Command("web-routes").description("Sales of seats by HTTP.");
program.addOption(endpointOption()).addOption(portOption()).parse();
const { endpoint, port } = program.opts<{ endpoint: string; port: number }>();

// What a server's host would say.
process.env["TIDEMARK_ENDPOINT"] = endpoint;
await serveUntilStopped(serveRoutes(), port, (address) => {
  console.log(`Listening at ${address}. In another shell:

  curl -s ${address}/events/matinee
  curl -s ${address}/orders -H 'idempotency-key: try-1' \\
    -d '{"eventId":"matinee","customer":"Kim","seatIds":["A05","A06"]}'
  curl -s ${address}/orders/web%23try-1
  curl -s -X DELETE ${address}/orders/web%23try-1

Ctrl-C stops it.`);
});
await tidemark().close();
