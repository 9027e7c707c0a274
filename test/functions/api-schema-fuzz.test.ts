/**
 * Requests made of docs/openapi.json itself, as a client generator or a fuzzer would make them, and
 * the same with one part of another kind. Each answer is held against the contract by the caller.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { openApiText } from "../../scripts/openapi.ts";
import { memoryApi } from "./fixtures/api-harness.ts";

type Schema = Readonly<Record<string, unknown>>;
type Operation = {
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Schema }>> };
};

const { components, paths } = JSON.parse(openApiText()) as {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

/** What stands for Item and Value, which the contract leaves open, and where tables are meant. */
const leaf = fc.oneof(
  fc.constantFrom<unknown>("ada", 1, null, true, { S: "ada" }, { N: "1" }, { $typed: { N: "1" } }),
  fc.jsonValue({ maxDepth: 3 }),
);
const known: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  Item: fc.dictionary(fc.constantFrom("account", "number", "n", "$typed"), leaf, { maxKeys: 3 }),
  Value: leaf,
};

/** Values that the schema allows; lists stay short. */
function valid(schema: Schema): fc.Arbitrary<unknown> {
  const reference = schema["$ref"];
  if (typeof reference === "string") {
    const name = reference.split("/").at(-1) ?? "";
    return known[name] ?? valid(components.schemas[name] ?? {});
  }
  const choices = (schema["oneOf"] ?? schema["anyOf"] ?? schema["allOf"]) as
    | readonly Schema[]
    | undefined;
  if (choices !== undefined) return fc.oneof(...choices.map(valid));
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...(schema["enum"] as unknown[]));
  if ("const" in schema) return fc.constant(schema["const"]);
  switch (schema["type"]) {
    case "string":
      return fc.oneof(fc.constantFrom("accounts", "entries"), fc.string({ minLength: 1 }));
    case "integer": {
      const { minimum: min, maximum: max } = schema as { minimum: number; maximum: number };
      return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max }));
    }
    case "boolean":
      return fc.boolean();
    case "array": {
      const { items, minItems = 0 } = schema as { items: Schema; minItems?: number };
      return fc.array(valid(items), { minLength: minItems, maxLength: Math.max(minItems, 2) });
    }
    default:
      return validObject(schema);
  }
}

function validObject(schema: Schema): fc.Arbitrary<unknown> {
  const { additionalProperties } = schema;
  if (typeof additionalProperties === "object" && additionalProperties !== null) {
    const names = fc.constantFrom("account", "n", "constructor");
    return fc.dictionary(names, valid(additionalProperties as Schema), { maxKeys: 2 });
  }
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, Schema>>;
  const model = Object.entries(properties).map(([name, each]) => [name, valid(each)] as const);
  const requiredKeys = (schema["required"] ?? []) as string[];
  return fc.record(Object.fromEntries(model), { requiredKeys });
}

/** Puts `other` in the place that `at` leads to. */
function changed(value: unknown, at: readonly number[], other: unknown): unknown {
  const [first, ...rest] = at;
  if (first === undefined || typeof value !== "object" || value === null) return other;
  const entries = Object.entries(value);
  if (entries.length === 0) return other;
  const place = first % entries.length;
  const next = entries.map(([name, member], index): [string, unknown] => [
    name,
    index === place ? changed(member, rest, other) : member,
  ]);
  return Array.isArray(value) ? next.map(([, member]) => member) : Object.fromEntries(next);
}

const requests = Object.entries(paths).flatMap(([path, methods]) => {
  const schema = methods["post"]?.requestBody?.content["application/json"]?.schema;
  return schema === undefined ? [] : [[path, valid(schema)] as const];
});

test.each(requests)(
  "%s answers what it declares, to valid and to damaged requests",
  async (path, bodies) => {
    const { call, engine } = memoryApi();
    (await engine.bases()).put({ name: "order", id: "1" }, { phase: "parked" });
    const statuses = new Set<number>();
    // Success and refusal are reached for certain.
    const least = leastOf(path);
    const { transaction } = (await call("/v1/transactions/begin", {})).body;
    const damage = fc.option(fc.tuple(fc.array(fc.nat(20), { maxLength: 6 }), leaf), {
      nil: undefined,
    });
    await fc.assert(
      fc.asyncProperty(bodies, damage, fc.boolean(), async (body, change, own) => {
        const request =
          own && path !== "/v1/transactions/begin" ? withToken(body, transaction) : body;
        const sent = change === undefined ? request : changed(request, change[0], change[1]);
        const { status } = await call(path, JSON.stringify(sent));
        expect(status).toBeLessThan(500);
        statuses.add(status);
      }),
      {
        numRuns: 300,
        examples: [
          [least, undefined, true],
          [least, [[], 1], true],
        ],
      },
    );
    expect([...statuses]).toEqual(expect.arrayContaining([200, 422]));
  },
);

/** The one member that no schema can make up. */
function withToken(body: unknown, transaction: unknown): unknown {
  const request = body as Readonly<Record<string, unknown>>;
  return "transaction" in request ? { ...request, transaction } : request;
}

/** The members without which the route refuses. */
function leastOf(path: string): object {
  const reads = path.endsWith("/read") || path.endsWith("/snapshots") ? { reads: {} } : {};
  const token = /(?:read|commit)$/.test(path) ? { transaction: "replaced" } : {};
  const named = path.startsWith("/v1/base") ? { name: "order", id: "1" } : {};
  return { ...token, ...reads, ...named };
}
