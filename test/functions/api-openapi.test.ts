/**
 * docs/openapi.json and docs/rest.md say what the service does. That the latter's samples run is
 * rest-document.integration.test.ts.
 */
import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { openApiText } from "../../scripts/openapi.ts";
import { routes } from "../../schemas/rest/routes.ts";

const read = (path: string): string =>
  readFileSync(new URL(`../../docs/${path}`, import.meta.url), "utf8");

describe("docs/openapi.json", () => {
  test("is what the definitions generate; otherwise run: npm run openapi", () => {
    expect(read("openapi.json")).toBe(openApiText());
  });

  test("is valid OpenAPI 3.1, and a broken one is not", async () => {
    const document = JSON.parse(openApiText()) as Record<string, unknown>;
    const valid = await new Validator().validate(structuredClone(document));
    expect(valid.errors).toBeUndefined();
    expect(valid.valid).toBe(true);
    const broken = await new Validator().validate({ ...document, paths: { nowhere: 1 } });
    expect(broken.valid).toBe(false);
  });

  test("refers only to components that it has", () => {
    const text = openApiText();
    const { components } = JSON.parse(text) as {
      components: { schemas: Readonly<Record<string, unknown>> };
    };
    const references = [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name);
    expect(references.length).toBeGreaterThan(50);
    expect(Object.keys(components.schemas)).toEqual(expect.arrayContaining(references));
  });
});

describe("docs/rest.md", () => {
  test("names every status and code that the routes and the problems have", async () => {
    const text = read("rest.md");
    const { problemCodes } = await import("../../schemas/rest/answers.ts");
    for (const code of problemCodes) expect(text).toContain(`\`${code}\``);
    const statuses = new Set(Object.values(routes).flatMap((each) => Object.keys(each.responses)));
    for (const status of statuses) expect(text).toContain(status);
  });
});
