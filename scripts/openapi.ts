/**
 * `npm run openapi`: writes docs/openapi.json, from the very definitions that validate requests.
 * The deployed function does not carry this generator.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { OpenAPIHono } from "@hono/zod-openapi";
import { members } from "../schemas/rest/requests.ts";
import { routes } from "../schemas/rest/routes.ts";

const description = `Interactive, multi-item, multi-table ACID transactions on DynamoDB.
Errors are RFC 9457 problems; their codes are those of the SDK. How to use it: docs/rest.md.`;

/** The OpenAPI 3.1 document as text, ending with a newline. */
export function openApiText(): string {
  const app = new OpenAPIHono();
  const { openAPIRegistry } = app;
  for (const member of members) {
    // Cloned, since schemas that were made before the generator was loaded lack what it adds.
    openAPIRegistry.register(String(member.meta()?.id), member.clone());
  }
  openAPIRegistry.registerComponent("securitySchemes", "token", {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "Deployments with JWT authorization; the gateway answers 401 and 403 by itself.",
  });
  openAPIRegistry.registerComponent("securitySchemes", "signature", {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description: "Deployments with IAM authorization: AWS Signature Version 4, execute-api.",
    "x-amazon-apigateway-authtype": "awsSigv4",
  });
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
    // One of them, as the deployment is set up; the embedded stack asks for none.
    security: [{ token: [] }, { signature: [] }, {}],
  });
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("../docs/openapi.json", import.meta.url), openApiText());
}
