/** The benchmark's command line: what it makes of good ones, and what it says to bad ones. */
import { CommanderError } from "commander";
import { describe, expect, test } from "vitest";
import { benchCommand, readCommandLine } from "../../bench/harness/command-line.ts";
import { benchNames, workloadsOf } from "../../bench/suites.ts";
import { makeWorkload, workloadNames } from "../../bench/workloads/catalogue.ts";

async function complaintAbout(...argv: string[]): Promise<string> {
  let said = "";
  const command = benchCommand()
    .exitOverride()
    .configureOutput({ writeErr: (text) => (said += text) });
  await expect(readCommandLine(argv, command)).rejects.toBeInstanceOf(CommanderError);
  return said;
}

describe("a command line", () => {
  test("becomes a plan", async () => {
    const { plan, json } = await readCommandLine([
      ...[
        "contention",
        "--contestants",
        "tidemark-auto,native,scalardb",
        "--store",
        "dynamodb-local",
      ],
      ...["--concurrency", "1,16", "--rate", "200", "--seconds", "2.5", "--repetitions", "5"],
      ...["--processes", "2", "--seed", "7", "--no-count", "--json", "out.json"],
    ]);
    expect(plan).toMatchObject({
      name: "contention",
      place: { kind: "local", store: "dynamodb-local" },
      ratePerSecond: 200,
      seconds: 2.5,
      repetitions: 5,
      processes: 2,
      seed: 7,
      countedOperations: 0,
    });
    expect(plan.scenes).toHaveLength(5);
    expect(plan.scenes[0]).toEqual({
      workload: "contention-10",
      concurrencies: [1, 16],
      contestants: ["tidemark-auto", "native", "scalardb"],
    });
    expect(json).toBe("out.json");
  });

  test.each<[string, RegExp, ...string[]]>([
    ["no name", /missing required argument 'name'/],
    ["a workload that there is not", /there are ycsb, .*u4/, "ycsb-z"],
    [
      "a contestant that there is not",
      /there are tidemark-auto, .*native/,
      ...["u4", "--contestants", "omid"],
    ],
    ["a store that there is not", /Allowed choices are dynalite/, "u4", "--store", "redis"],
    ["no concurrency", /whole number from 1/, "u4", "--concurrency", "0"],
    ["half a worker", /whole number from 1/, "u4", "--concurrency", "1,1.5"],
    ["no time", /number above 0/, "u4", "--seconds", "0"],
    ["a rate that is none", /number above 0/, "u4", "--rate", "fast"],
    ["an option that there is not", /unknown option '--speed'/, "u4", "--speed", "1"],
    [
      "two places at once",
      /exclude each other/,
      ...["u4", "--endpoint", "http://127.0.0.1:1", "--deployment", "x"],
    ],
  ])("with %s is refused", async (_, complaint, ...argv) => {
    expect(await complaintAbout(...argv)).toMatch(complaint);
  });
});

describe("names", () => {
  test("each stand for workloads that there are", async () => {
    for (const name of benchNames) {
      for (const workload of workloadsOf(name) ?? []) expect(workloadNames).toContain(workload);
    }
    expect(workloadsOf("nothing")).toBeUndefined();
    await expect(makeWorkload("nothing")).rejects.toThrow(/no workload "nothing"/);
  });

  test("of workloads are those that the workloads bear themselves", async () => {
    for (const name of workloadNames) expect((await makeWorkload(name)).name).toBe(name);
  });
});
