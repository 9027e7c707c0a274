/** Every option of the SDK: its check, its limits and its line in docs/sdk.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Checks, checkOptions, type LooseCheck, aText } from "../../sdk/check-options.ts";
import { createClient, InvalidRequestError } from "../../sdk/index.ts";
import { guideText, optionTables } from "../../scripts/option-tables.ts";

const guide = readFileSync(join(import.meta.dirname, "../../docs/sdk.md"), "utf8");

test("docs/sdk.md has the tables of options as the code has them", async () => {
  // Otherwise: npm run option-tables.
  expect(guide).toBe(await guideText());
});

const options = Object.entries(optionTables).flatMap(([call, { checks }]) =>
  Object.entries<LooseCheck>(checks).map(([name, check]) => [call, name, check] as const),
);

function complaintOf(name: string, check: LooseCheck, value: unknown): string {
  try {
    checkOptions("", { [name]: value }, { [name]: check });
    return "";
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect((error as InvalidRequestError).field).toBe(name);
    return (error as Error).message;
  }
}

describe.each(options)("%s: %s", (_, name, check) => {
  test("refuses a value of another type, and null, unless it is anything", () => {
    if (name === "idempotencyRequest") return;
    for (const value of [Symbol("other"), null]) {
      expect(complaintOf(name, check, value)).toContain(`\`${name}\` must be `);
    }
  });

  test("takes whole numbers between the bounds that its message states, and no other", () => {
    const message = complaintOf(name, check, Number.NaN);
    const [, low, high] = /whole number from (\d+) to (\d+)$/u.exec(message) ?? [];
    if (low === undefined || high === undefined) return;
    const [min, max] = [Number(low), Number(high)];
    for (const value of [min, max]) expect(complaintOf(name, check, value)).toBe("");
    for (const value of [min - 1, max + 1, min + 0.5, low]) {
      expect(complaintOf(name, check, value)).toBe(message);
    }
  });
});

test("the request that belongs to an idempotency key needs the key", async () => {
  const db = createClient({ deployment: "dev" });
  const call = db.transact({ idempotencyRequest: 1 }, () => Promise.resolve());
  await expect(call).rejects.toMatchObject({ field: "idempotencyRequest" });
});

test("an unknown option is refused, and the known ones are named", () => {
  const misspelt = { depolyment: "dev" } as unknown as Parameters<typeof createClient>[0];
  expect(() => createClient(misspelt)).toThrow(/there is no option `depolyment`; known are: end/u);
});

test("what a check takes is what the type says, or it does not compile", () => {
  type Options = { readonly name?: string; readonly only?: "a" | "b" };
  const only = (() => undefined) as LooseCheck;
  expect([
    { name: aText, only } satisfies Checks<Options>,
    // @ts-expect-error: an option without a check
    { name: aText } satisfies Checks<Options>,
    // @ts-expect-error: a check of other values
    { name: aText, only: aText } satisfies Checks<Options>,
    // @ts-expect-error: a check without an option
    { name: aText, only, more: aText } satisfies Checks<Options>,
  ]).toHaveLength(4);
});
