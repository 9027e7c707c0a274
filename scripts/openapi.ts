/**
 * `npm run openapi`: writes docs/openapi.json, from the very definitions that validate requests.
 * The deployed function does not carry this generator.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { OpenAPIHono } from "@hono/zod-openapi";
import { routes } from "../schemas/rest/routes.ts";

const description = `Interactive, multi-item, multi-table ACID transactions on DynamoDB.
Errors are RFC 9457 problems; their codes are those of the SDK. How to use it: docs/rest.md.`;

/** The OpenAPI 3.1 document as text, ending with a newline. */
export function openApiText(): string {
  const app = new OpenAPIHono();
  for (const route of Object.values(routes)) app.openAPIRegistry.registerPath(route);
  const document = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Tidemark REST API",
      version: "1.0.0",
      description,
      license: { name: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
  });
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("../docs/openapi.json", import.meta.url), openApiText());
}
