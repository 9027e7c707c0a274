/** Operators close the stream, take it away and bring it back, whatever becomes of them. */
import { describe, expect, test } from "vitest";
import { streamOperators } from "../../simulation/stream-operators.ts";
import { createTestCloud } from "../../testing/test-cloud.ts";
import type { TestCloudOptions } from "../../testing/test-cloud-options.ts";

const limitMs = 4 * 3600_000;

/** What they did, of a run without any client, in its order. */
async function stepsOf(closings: number, options: TestCloudOptions) {
  const cloud = await createTestCloud({ ...options, keepTrace: true });
  const operators = streamOperators(cloud, closings);
  const before = cloud.deployment.hasStream;
  await cloud.run(
    async () => {
      operators.start();
      while (!operators.isDone) await cloud.clock.sleep(1_000);
    },
    { limitMs },
  );
  const ends = cloud.trace.flatMap((line) => {
    const [, name, step, end] =
      /(stream operator \d+): (.+): (done|failed|dead)$/u.exec(line) ?? [];
    return name === undefined ? [] : [{ name, step, end }];
  });
  return { cloud, operators, ends, before };
}

describe("operators", () => {
  test("take nothing away that is not drained, and bring back what they have taken", async () => {
    for (let seed = 1; seed <= 6; seed += 1) {
      const { ends, operators } = await stepsOf(4, { seed });
      const done = ends.filter(({ end }) => end === "done").map(({ step }) => step);
      expect(done.length).toBeGreaterThan(8);
      for (const [i, step] of done.entries()) {
        const earlier = done.slice(0, i);
        if (step === "take the functions away") expect(earlier.at(-1)).toBe("close and drain");
        if (step === "make a stream") expect(earlier).toContain("take the stream away");
      }
      expect(operators.findings).toEqual([]);
    }
  });

  test("begin with a stream where there is none", async () => {
    const { ends, before } = await stepsOf(1, { seed: 1, tablesOnly: true });
    expect([before, ends.find(({ end }) => end === "done")?.step]).toEqual([
      false,
      "make a stream",
    ]);
  });

  test("do nothing where the stream is to stay", async () => {
    const { ends, operators } = await stepsOf(0, { seed: 1 });
    expect([ends, operators.isDone]).toEqual([[], true]);
  });

  test("die, and others go on where they have left", async () => {
    const faults = { "crash-before-call": 0.05, "crash-after-call": 0.05, throttled: 0.1 };
    const { ends, operators } = await stepsOf(6, { seed: 3, faults });
    expect(new Set(ends.map(({ name }) => name)).size).toBeGreaterThan(3);
    expect(ends.filter(({ end }) => end === "dead").length).toBeGreaterThan(2);
    expect([operators.isDone, operators.findings]).toEqual([true, []]);
  });
});
