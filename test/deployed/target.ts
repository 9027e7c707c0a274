/** Where the deployment under test is: scripts/test-deployed.ts says so through the environment. */
import { createClient, type Client } from "../../sdk/index.ts";
import { signedHeaders } from "./signature.ts";

export type DeployedTarget = {
  readonly endpoint: string | undefined;
  readonly deployment: string;
  readonly region: string;
  /** Undefined: the deployment has no REST. */
  readonly restUrl: string | undefined;
};

function setting(name: string): string | undefined {
  const value = process.env[`TIDEMARK_DEPLOYED_${name}`];
  return value === undefined || value === "" ? undefined : value;
}

export function deployedTarget(): DeployedTarget {
  const deployment = setting("DEPLOYMENT");
  if (deployment === undefined) {
    throw new Error("run these tests by `npm run test:deployed -- --deployment <name>`");
  }
  return {
    deployment,
    endpoint: setting("ENDPOINT"),
    region: setting("REGION") ?? "us-east-1",
    restUrl: setting("REST_URL"),
  };
}

/** A client as an application has it; against a local cloud with its one endpoint. */
export function openClient({ deployment, region, endpoint }: DeployedTarget): Client {
  return createClient({
    deployment,
    region,
    ...(endpoint === undefined ? {} : { endpoints: { dynamodb: endpoint, kinesis: endpoint } }),
  });
}

export type RestAnswer = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
};

export type RestCall = {
  readonly method?: "GET" | "POST";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default true. */
  readonly signed?: boolean;
};

/** Calls REST with a request signed for IAM by the credentials of the environment. */
export async function callRest(
  { restUrl, region }: DeployedTarget,
  path: string,
  call: RestCall = {},
): Promise<RestAnswer> {
  const method = call.method ?? "POST";
  const body = method === "GET" ? "" : JSON.stringify(call.body ?? {});
  const url = new URL(`${restUrl ?? ""}${path}`);
  const headers = {
    ...(method === "GET" ? {} : { "content-type": "application/json" }),
    ...call.headers,
  };
  const signature = call.signed === false ? {} : signedHeaders({ method, url, body, region });
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...signature },
    ...(method === "GET" ? {} : { body }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}
