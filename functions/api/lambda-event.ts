/**
 * Between Lambda and the service: HTTP API events (payload format 2.0) in, structured results out.
 * Written out here because the router's own adapter is deprecated, carries three other event
 * formats, and answers broken events by itself instead of with a problem.
 */
import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyStructuredResultV2,
  Context,
} from "aws-lambda";
import type { ApiBindings } from "./http.ts";
import type { Api } from "./service.ts";

export type HttpApiHandler = (
  event: APIGatewayProxyEventV2,
  context: Pick<Context, "getRemainingTimeInMillis" | "awsRequestId">,
) => Promise<APIGatewayProxyStructuredResultV2>;

/** Never rejects for what a request contains. */
export function httpApiHandler(api: Pick<Api, "fetch">): HttpApiHandler {
  return async (event, context) => {
    const bindings: ApiBindings = {
      remainingMs: context.getRemainingTimeInMillis(),
      requestId: event.requestContext.requestId,
      caller: callerOf(event),
    };
    const response = await api.fetch(requestOf(event), bindings);
    return {
      statusCode: response.status,
      headers: Object.fromEntries(response.headers),
      // Every answer of the service is JSON, so that nothing needs base64.
      body: await response.text(),
      isBase64Encoded: false,
    };
  };
}

function requestOf(event: APIGatewayProxyEventV2): Request {
  const { method } = event.requestContext.http;
  const query = event.rawQueryString === "" ? "" : `?${event.rawQueryString}`;
  const hasBody = event.body !== undefined && method !== "GET" && method !== "HEAD";
  // The host is not looked at; a caller's own Host header could make the URL unreadable.
  return new Request(`https://api.invalid${pathOf(event)}${query}`, {
    method: knownMethods.has(method) ? method : `not-${method}`,
    headers: headersOf(event),
    ...(hasBody
      ? { body: event.isBase64Encoded ? Buffer.from(event.body ?? "", "base64") : event.body }
      : {}),
  });
}

/**
 * Others go by a name that no route takes, so that the answer is 405: no Request can be a TRACE,
 * and the router takes `valueOf` for something that it has.
 */
const knownMethods = new Set(["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]);

type Authorizer = {
  readonly jwt?: { readonly claims: Readonly<Record<string, unknown>> };
  readonly iam?: { readonly userArn: string };
};

/** Whom the gateway's authorizer has let in: a token's subject, or the ARN that signed. */
function callerOf({ requestContext }: APIGatewayProxyEventV2): string | undefined {
  const { authorizer } = requestContext as { readonly authorizer?: Authorizer };
  const subject = authorizer?.jwt?.claims["sub"] ?? authorizer?.iam?.userArn;
  return typeof subject === "string" ? subject : undefined;
}

/** Without the stage, which a named one puts in front. */
function pathOf(event: APIGatewayProxyEventV2): string {
  const prefix = `/${event.requestContext.stage}`;
  const { rawPath } = event;
  return rawPath.startsWith(`${prefix}/`) ? rawPath.slice(prefix.length) : rawPath;
}

function headersOf(event: APIGatewayProxyEventV2): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(event.headers)) {
    // The body's length is known from the body; what was declared may be its length in base64.
    if (value === undefined || name.toLowerCase() === "content-length") continue;
    try {
      // A character that no header can carry stays one that no route takes. Left out, or replaced
      // by an ordinary one, an Idempotency-Key would protect nothing, or the wrong request.
      headers.set(name, value.replaceAll(/[^\t\x20-\x7e]/g, "\xff"));
    } catch {
      // Not a name that HTTP allows: no route reads one like that.
    }
  }
  return headers;
}
