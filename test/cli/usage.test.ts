/** Command lines that cannot be, in the form that was asked for. */
import { expect, test } from "vitest";
import { tidemark } from "./fixtures/command-line.ts";

test.each([
  [["status", "--nope", "--json"], /^unknown option '--nope'/],
  [["statsu", "--json"], /^unknown command 'statsu' \(Did you mean status\?\)/],
  [["item", "accounts", "--json"], /^missing required argument 'key'/],
  [["status", "--json", "--watch", "0"], /'0' is invalid. Give a span/],
  [["tables", "nope", "--json"], /^too many arguments/],
] as const)("%j ends with 2, and one line of JSON says why", async (args, message) => {
  const { code, out, err } = await tidemark(args);
  expect([code, out]).toEqual([2, ""]);
  expect(err.trimEnd().split("\n")).toHaveLength(1);
  const { error } = JSON.parse(err) as { error: { code: string; message: string } };
  expect(error.code).toBe("invalid-request");
  expect(error.message).toMatch(message);
});

test("without --json, or where it is a key, it is text", async () => {
  expect((await tidemark(["status", "--nope"])).err).toMatch(/^error: unknown option '--nope'\n/);
  const asKey = await tidemark(["item", "--nope", "accounts", "--", "--json"]);
  expect(asKey.err).toMatch(/^error: unknown option '--nope'\n/);
});
