/**
 * Same seed, same run: every event at the same moment, byte for byte, in one process and in two.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { tracedRun } from "./fixtures/traced-run.ts";

const program = join(import.meta.dirname, "fixtures", "traced-run.ts");

async function inProcessOfItsOwn(seed: number): Promise<string> {
  const args = ["--import", "tsx", program, seed.toString()];
  const run = await promisify(execFile)(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 });
  return run.stdout;
}

describe("a seed", () => {
  test("gives one trace, however often it is run in a process", async () => {
    const first = await tracedRun(11);
    // Two at once share the event loop, and nothing else.
    const [second, third] = await Promise.all([tracedRun(11), tracedRun(11)]);
    expect(first.lines.length).toBeGreaterThan(300);
    expect(first.lines.filter((line) => line.includes("FAULT")).length).toBeGreaterThan(10);
    expect(second.lines).toEqual(first.lines);
    expect(third).toEqual(first);
  });

  test("gives the same bytes in another process as in this one", async () => {
    const here = await tracedRun(12);
    const text = [...here.lines, here.digest].join("\n");
    expect(await inProcessOfItsOwn(12)).toBe(text);
  });

  test("gives another trace than another seed", async () => {
    const [one, two] = await Promise.all([tracedRun(1), tracedRun(2)]);
    expect(one.digest).not.toBe(two.digest);
  });
});
