/**
 * `/.well-known/tidemark/tables` of the embedded stack: lists the registered tables, and registers
 * tables that an application has made itself over the DynamoDB protocol. On AWS this right belongs
 * to an operator, so the deployed REST API has no such route.
 */
import { randomUUID } from "node:crypto";
import { adoptTables, registeredTables, type RegisteredTable } from "../aws/register-tables.ts";
import type { AwsClientOptions } from "../aws/clients.ts";
import { InvalidRequestError } from "../core/errors.ts";
import { publicError } from "../engine/public-error.ts";
import { ApiProblem, problemOf } from "../functions/api/problem.ts";
import { checkOptions, isText } from "../sdk/check-options.ts";
import { type Registration, registrationChecks } from "../sdk/tables.ts";
import type { HttpRequest, HttpResponse } from "./http-event.ts";
import { tablesRequestBytesMax } from "./limits.ts";

export const tablesPath = "/.well-known/tidemark/tables";

export async function answerTables(
  request: HttpRequest,
  options: AwsClientOptions & { readonly deployment: string },
): Promise<HttpResponse> {
  try {
    switch (request.method) {
      case "GET":
        return json(200, { tables: (await registeredTables(options)).map(shown) });
      case "POST": {
        const tables = await adoptTables(options, wantedTables(request));
        return json(200, { tables: tables.map(shown) });
      }
      default: {
        const allow = { Allow: "GET, POST" };
        const detail = "GET lists the tables, POST registers some";
        throw new ApiProblem("method-not-allowed", detail, {}, allow);
      }
    }
  } catch (cause) {
    return problem(publicError(cause));
  }
}

/** In the shape of the REST API's problems. @throws what is a failure of the stack itself. */
function problem(error: unknown): HttpResponse {
  if (!(error instanceof ApiProblem || error instanceof InvalidRequestError)) throw error;
  const requestId = randomUUID();
  const context = {
    requestId,
    format: "json",
    fixedTime: false,
    makeIncident: randomUUID,
  } as const;
  const { status, headers, body } = problemOf(error, context);
  return json(status, body, headers);
}

function wantedTables({ body, headers }: HttpRequest): Registration[] {
  const type = headers.find(([name]) => name === "content-type")?.[1] ?? "";
  // A page of some web site cannot send this type here without asking first.
  if (!/^application\/json\b/i.test(type)) {
    const detail = "send the header content-type: application/json";
    throw new ApiProblem("unsupported-media-type", detail, { field: "content-type" });
  }
  const form = 'the body is { "tables": ["orders", { "name": "accounts", "history": true }] }';
  let parsed: unknown;
  try {
    parsed = body.length > tablesRequestBytesMax ? undefined : JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw new InvalidRequestError("body", `the body is no JSON; ${form}`, { cause });
  }
  const tables = (parsed as { readonly tables?: unknown } | null | undefined)?.tables;
  if (!Array.isArray(tables)) throw new InvalidRequestError("tables", form);
  return tables.map((table: unknown, index) => {
    if (isText(table)) return { name: table };
    checkOptions(`tables[${index}]`, table, registrationChecks);
    const { name, ...rest } = table as Partial<Registration>;
    if (name === undefined) throw new InvalidRequestError(`tables[${index}].name`, form);
    return { name, ...rest };
  });
}

function shown(table: RegisteredTable): object {
  const { name, partitionKey, sortKey, history, access, move, baseSince, looked } = table;
  return { name, partitionKey, sortKey, history, access, move, baseSince, looked };
}

function json(
  status: number,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  const type = status === 200 ? "application/json" : "application/problem+json";
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  return { status, headers: [["content-type", type], ...Object.entries(headers)], body };
}
