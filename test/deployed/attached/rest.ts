/**
 * Stands in for functions/api/service.ts when the suite of REST runs against a deployment: what a
 * test asks of a service that it has put together goes, signed, to the HTTP API of the deployment.
 */
import { signedHeaders } from "../signature.ts";
import { deployedTarget } from "../target.ts";

export function createApi() {
  return { request };
}

async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const { restUrl, region } = deployedTarget();
  if (restUrl === undefined) throw new Error("the suite of REST needs --rest-api-id or --rest-url");
  const method = init.method ?? "GET";
  const body = typeof init.body === "string" ? init.body : "";
  const url = new URL(`${restUrl}${path}`);
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(signedHeaders({ method, url, body, region }))) {
    headers.set(name, value);
  }
  return fetch(url, { ...init, headers });
}
