/** Ids and keys that begin with a dash, which a command line takes for options. */
import { expect, test } from "vitest";
import { tidemark } from "./fixtures/command-line.ts";

const nowhere = ["--endpoint", "http://127.0.0.1:9"];

test.each([
  [["outcome", "-x"], "tidemark outcome … -- -x)"],
  [["item", "accounts", "-x"], "tidemark item … -- -x)"],
  [["base", "cancel", "order", "-17a"], "tidemark base cancel … -- -17a)"],
] as const)("%j ends with 2, and says where such a word goes", async (args, where) => {
  const { code, out, err } = await tidemark(args);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain(`begins with - goes behind --: ${where}\n(tidemark ${args[0]}`);
});

test.each([["log", "--kye"] as const, ["status", "-x"] as const])(
  "%s %s is an option that there is not, and nothing else",
  async (...args) => {
    const { code, err } = await tidemark(args);
    expect(code).toBe(2);
    expect(err).not.toContain("goes behind");
  },
);

test.each(["-x", "-5", "--json"])("behind -- a key may be %s", async (key) => {
  const { code, err } = await tidemark(["item", "accounts", ...nowhere, "--", key]);
  expect(code).toBe(1);
  expect(err).toMatch(/^tidemark: no stack answers/u);
});
