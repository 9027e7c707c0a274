import { describe, expect, test } from "vitest";
import { costOptions } from "../../bench/options.ts";

describe("the command line of bench:cost", () => {
  test("measures every way to commit unless it is told which", () => {
    const all = { json: false, store: "dynalite", commits: ["stream", "auto", "express"] };
    expect(costOptions([])).toEqual(all);
    const args = ["--json", "--store", "dynamodb-local", "--commit", "express,stream"];
    const some = { json: true, store: "dynamodb-local", commits: ["express", "stream"] };
    expect(costOptions(args)).toEqual(some);
  });

  test.each([
    ["--commit", "fast", /--commit is one of stream, auto, express; got fast/],
    ["--commit", "auto,", /--commit is one of stream, auto, express; got $/],
    ["--store", "redis", /--store is one of dynalite, dynamodb-local; got redis/],
    ["--speed", "1", /Unknown option '--speed'/],
  ])("refuses %s %s", (option, value, complaint) => {
    expect(() => costOptions([option, value])).toThrow(complaint);
  });
});
