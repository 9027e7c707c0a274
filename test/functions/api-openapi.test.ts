/** docs/openapi.json and docs/rest.md say what the service does. */
import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { openApiText } from "../../scripts/openapi.ts";
import { routes } from "../../schemas/rest/routes.ts";
import { deposit, memoryApi } from "./fixtures/api-harness.ts";

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

type Example = {
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: string | undefined;
  readonly status: number;
  readonly answer: Readonly<Record<string, unknown>>;
};

/** Each `sh` block of the document is one curl call; the `json` block after it is the answer. */
function examples(): readonly Example[] {
  const blocks = /```sh\n(curl [\s\S]*?)```\s+(?:`(\d+)`[^\n]*\s+)?```json\n([\s\S]*?)```/g;
  return [...read("rest.md").matchAll(blocks)].map(([, command = "", status, answer = ""]) => {
    const data = /-d '([\s\S]*)'\s*$/.exec(command)?.[1];
    const headers = [...command.matchAll(/-H '([^:']+): ([^']*)'/g)].map(
      ([, name = "", value = ""]): [string, string] => [name, value],
    );
    return {
      path: /"\$API([^"]+)"/.exec(command)?.[1] ?? "",
      method: command.includes("-X POST") || data !== undefined ? "POST" : "GET",
      headers: Object.fromEntries(headers),
      data,
      status: Number(status ?? 200),
      answer: JSON.parse(answer) as Readonly<Record<string, unknown>>,
    };
  });
}

/** Names at every level, so that an example cannot show a member that no answer has. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]): [string, unknown] => [name, shapeOf(member)])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

describe("docs/rest.md", () => {
  test("shows every route, and its examples give the answers that it shows", async () => {
    const { call, clock } = memoryApi();
    await deposit(call, { ada: 1200, bob: 0 });
    await call("/v1/transactions", {
      writes: [1, 2, 3].map((number) => ({
        op: "put",
        table: "entries",
        item: { account: "ada", number, text: `entry ${number.toString()}` },
      })),
    });
    const variables = new Map<string, string>();
    const shown = new Set<string>();
    for (const example of examples()) {
      const data = example.data?.replaceAll(`'"$TXN"'`, variables.get("TXN") ?? "");
      const path = example.path.replace("$ID", variables.get("ID") ?? "");
      const answer = await call(path, data ?? (example.method === "POST" ? "" : undefined), {
        method: example.method,
        headers: example.headers,
      });
      expect([example.path, answer.status]).toEqual([example.path, example.status]);
      expect(shapeOf(answer.body)).toEqual(shapeOf(example.answer));
      const { transaction, receipt } = answer.body as {
        transaction?: string;
        receipt?: { transactionId: string | null };
      };
      if (transaction !== undefined) variables.set("TXN", transaction);
      if (typeof receipt?.transactionId === "string") variables.set("ID", receipt.transactionId);
      shown.add(example.path.replace("$ID", "{id}").replace(/\?.*/, ""));
      clock.advance(10);
    }
    expect([...shown].sort()).toEqual(
      Object.values(routes)
        .map(({ path }) => path)
        .sort(),
    );
  });

  test("names every status and code that the routes and the problems have", async () => {
    const text = read("rest.md");
    const { problemCodes } = await import("../../schemas/rest/answers.ts");
    for (const code of problemCodes) expect(text).toContain(`\`${code}\``);
    const statuses = new Set(Object.values(routes).flatMap((each) => Object.keys(each.responses)));
    for (const status of statuses) expect(text).toContain(status);
  });
});
