import { describe, expect, test } from "vitest";
import { costOptions } from "../../bench/options.ts";

describe("the command line of bench:cost", () => {
  test("measures every way to commit unless it is told which", () => {
    const commits = ["stream", "auto", "express"];
    const all = { json: false, store: "dynalite", access: "transactional", commits };
    expect(costOptions([])).toEqual(all);
    const args = ["--json", "--store", "dynamodb-local", "--commit", "express,stream"];
    const some = { ...all, json: true, store: "dynamodb-local", commits: ["express", "stream"] };
    expect(costOptions(args)).toEqual(some);
    expect(costOptions(["--access", "mixed"])).toEqual({ ...all, access: "mixed" });
  });

  test.each([
    ["--commit", "fast", /--commit is one of stream, auto, express; got fast/],
    ["--commit", "auto,", /--commit is one of stream, auto, express; got $/],
    ["--store", "redis", /--store is one of dynalite, dynamodb-local; got redis/],
    ["--access", "both", /--access is one of transactional, mixed; got both/],
    ["--speed", "1", /Unknown option '--speed'/],
  ])("refuses %s %s", (option, value, complaint) => {
    expect(() => costOptions([option, value])).toThrow(complaint);
  });
});
