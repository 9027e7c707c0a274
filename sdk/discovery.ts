/**
 * Finding an embedded stack's parts by its one address: `GET <endpoint>/.well-known/tidemark`
 * answers with the deployment's name, a region, and where DynamoDB and Kinesis are spoken.
 */
import { InvalidRequestError, UnavailableError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { anHttpUrl, isText } from "./check-options.ts";

export type StackDescription = {
  readonly deployment: string;
  readonly region: string;
  readonly endpoints: { readonly dynamodb: string; readonly kinesis: string };
};

/**
 * @throws UnavailableError when nothing answers in time, or not yet.
 * @throws InvalidRequestError naming `endpoint` when something answers that is no stack.
 */
export async function discover(endpoint: string): Promise<StackDescription> {
  const url = new URL(".well-known/tidemark", endpoint.endsWith("/") ? endpoint : `${endpoint}/`);
  let status: number;
  let body: unknown;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(limits.discoveryTimeoutMs) });
    status = response.status;
    body = await response.json().catch(() => undefined);
  } catch (cause) {
    throw new UnavailableError(`no stack answers at ${url.href}; is it running?`, { cause });
  }
  if (status >= 500) {
    throw new UnavailableError(`the stack at ${url.href} is not ready (HTTP ${status})`);
  }
  if (status === 200 && isDescription(body)) return body;
  throw new InvalidRequestError(
    "endpoint",
    `what answers at ${url.href} is not a Tidemark stack (HTTP ${status})`,
  );
}

function isDescription(body: unknown): body is StackDescription {
  const { deployment, region, endpoints } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const { dynamodb, kinesis } = (endpoints ?? {}) as Readonly<Record<string, unknown>>;
  const urls = [dynamodb, kinesis].every((url) => anHttpUrl(url) === undefined);
  return isText(deployment) && isText(region) && urls;
}
