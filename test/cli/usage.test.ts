/** Command lines that cannot be, in the form that was asked for. */
import { expect, test } from "vitest";
import { similarTo } from "../../cli/shell/suggestion.ts";
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

test.each([
  [["base", "canel", "order", "17"], "tidemark base cancel"],
  [["feeds", "lst"], "tidemark feeds list"],
  [["feeds", "rset", "search"], "tidemark feeds reset"],
  [["tables", "regster", "accounts"], "tidemark tables register"],
  [["shards", "splti"], "tidemark shards split"],
] as const)("%j: says which subcommand may be meant", async (args, meant) => {
  const { code, out, err } = await tidemark(args);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain(`\n(Did you mean ${meant}?)\n`);
  const inJson = JSON.parse((await tidemark([...args, "--json"])).err) as { error: object };
  expect(inJson).toMatchObject({
    error: { message: expect.stringContaining(` (Did you mean ${meant}?)`) as string },
  });
});

test("what is like no subcommand is a word too many, and nothing else", async () => {
  expect((await tidemark(["feeds", "quite-other"])).err).not.toContain("Did you mean");
});

test.each([
  ["canel", "cancel"],
  ["cacnel", "cancel"],
  ["cancell", "cancel"],
  ["resme", "resume"],
  ["cancel", undefined],
  ["refund", undefined],
  ["order", undefined],
  ["create-order", undefined],
  ["c", undefined],
  ["", undefined],
])("of show, resume and cancel, %j is like %s", (word, name) => {
  expect(similarTo(word, ["show", "resume", "cancel"])).toBe(name);
});
