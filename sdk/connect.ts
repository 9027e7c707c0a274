/**
 * From options to a running engine on AWS's ports. Engine and ports are loaded on a client's first
 * use, and the AWS packages by the ports on their first call: what only names tables and errors, or
 * has nothing to commit yet, pays for neither.
 */
import type { AwsPortsOptions } from "../aws/client-ports.ts";
import { listeningOutside } from "../aws/command-support.ts";
import { OnDemand } from "../core/on-demand.ts";
import { type Client, ConnectedClient, type Connection } from "./client.ts";
import { checkClientOptions, type ClientOptions } from "./client-options.ts";

const discovery = new OnDemand("discovery", () => import("./discovery.ts"));

/**
 * A client of one deployment: `{ deployment, region }` on AWS, or `{ endpoint }` of an embedded
 * stack. One per process is enough; transactions share its connections and its view of the log.
 * Connects on first use.
 * @throws InvalidRequestError naming the option that is missing, unknown or wrong.
 * @example
 * const db = createClient({ deployment: "prod", region: "eu-central-1" });
 * const local = createClient({ endpoint: "http://127.0.0.1:4600" });
 */
export function createClient(options: ClientOptions): Client {
  checkClientOptions(options);
  return new ConnectedClient({
    connect: () => connect(options),
    clock: options.clock,
    marshall: options.marshall ?? {},
    numbers: options.numbers ?? "bigint-when-unsafe",
  });
}

/** Where a client's engine comes from; options that `createClient` would take. */
export async function connect(options: ClientOptions): Promise<Connection> {
  // Beside each other: who has not even loaded them all may know already that nothing answers.
  const [{ createAwsClientPorts }, { createClientEngine }, where] = await Promise.all([
    import("../aws/client-ports.ts"),
    import("../engine/client-engine.ts"),
    target(options),
  ]);
  const aws = { ...options, ...where };
  const ports = createAwsClientPorts(aws);
  const onEvent = options.onEvent && listeningOutside(options.onEvent);
  const engine = createClientEngine(ports, { ...options, onEvent });
  const connection = { engine, close: () => ports.close() };
  if (options.housekeeping !== true) return connection;
  const { withKeeper } = await import("../functions/housekeeping/by-clients/on-aws.ts");
  return withKeeper(connection, aws, onEvent);
}

type Target = Pick<AwsPortsOptions, "deployment" | "region" | "endpoint" | "dynamodb" | "kinesis">;

/** Where the deployment is; asks an embedded stack at its one address. */
export async function target(options: ClientOptions): Promise<Target> {
  const { endpoint: stackUrl } = options;
  if (stackUrl === undefined) {
    const { deployment, region, endpoints, dynamodb, kinesis } = options;
    return { deployment, region, endpoint: endpoints, dynamodb, kinesis };
  }
  const { deployment, region, endpoints } = await discovery.use(({ discover }) =>
    discover(stackUrl),
  );
  return { deployment, region, endpoint: endpoints };
}
