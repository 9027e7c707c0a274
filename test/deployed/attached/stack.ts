/**
 * Stands in for localstack/embedded-stack.ts when suites of the SDK run against a deployment: one
 * address that tells clients where it is, as `npm start`'s does, and the sample tables, fresh for
 * every suite.
 */
import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createAwsPorts } from "../../../aws/ports.ts";
import type * as embedded from "../../../localstack/embedded-stack.ts";
import { sampleRows, sampleTables } from "../../../localstack/sample-tables.ts";
import { needsControl } from "./control.ts";
import { clientOptionsOf, localTarget, makeTable, removeTables } from "./tables.ts";

export type * from "../../../localstack/embedded-stack.ts";

/** The deployment's own; all other sample tables are made here. */
const standing = ["accounts"];
/** What test/integration/hermitage makes by itself. */
const hermitageTables = ["hermitage-kept", "hermitage-plain"];

export async function startEmbeddedStack(
  options: embedded.EmbeddedStackOptions = {},
): Promise<embedded.EmbeddedStack> {
  const { sampleTables: wanted = true, ...special } = options;
  if (Object.keys(special).length > 0) {
    needsControl(`starts a stack with ${Object.keys(special).join(" and ")}`);
  }
  const target = localTarget();
  const { deployment, region } = target;
  const clientOptions = clientOptionsOf(target);
  const tables = wanted ? sampleTables.filter(({ name }) => !standing.includes(name)) : [];
  const client = new DynamoDBClient({ ...clientOptions, endpoint: target.endpoint });
  for (const { history, ...definition } of tables) {
    await makeTable(definition, { history });
    for (const row of sampleRows(definition.name)) {
      await client.send(new PutItemCommand({ TableName: definition.name, Item: row as never }));
    }
  }
  client.destroy();
  const description = JSON.stringify({ deployment, region, endpoints: clientOptions.endpoint });
  const address = await serve(description);
  const refuse = (what: string) => () => needsControl(what);
  return {
    endpoint: address.url,
    endpoints: clientOptions.endpoint,
    deployment,
    region,
    tablesOnly: false,
    shards: 1,
    tables: tables.map(({ name }) => name),
    get registered() {
      return needsControl("looks at the stack's tables");
    },
    get processes() {
      return needsControl("looks at the stack's processes");
    },
    get states() {
      return needsControl("looks at the stack's processes");
    },
    kill: refuse("kills a process of the stack"),
    freeze: refuse("stops a process of the stack"),
    resume: refuse("lets a process of the stack go on"),
    throttle: refuse("has the stores refuse calls"),
    abandon: refuse("kills the stack"),
    waitReady: () => Promise.resolve(),
    lost: new Promise(() => undefined),
    async stop() {
      await address.close();
      const ports = createAwsPorts({ ...clientOptions, deployment });
      await removeTables(ports, [...tables.map(({ name }) => name), ...hermitageTables]);
      await ports.close();
    },
  };
}

async function serve(
  description: string,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const known = request.url === "/.well-known/tidemark";
    response.writeHead(known ? 200 : 404, { "content-type": "application/json" });
    response.end(known ? description : "{}");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port.toString()}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
