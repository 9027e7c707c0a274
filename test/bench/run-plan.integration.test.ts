/**
 * The whole benchmark, small: embedded stack, client processes, both loops, counts of every part.
 */
import { expect, test } from "vitest";
import type { Plan } from "../../bench/harness/plan.ts";
import { type MeasuredCell, parseResults } from "../../bench/harness/results.ts";
import { runPlan } from "../../bench/harness/run-plan.ts";
import { sweep } from "../harness/sweep.ts";

const plan: Plan = {
  name: "test",
  place: { kind: "local", store: "dynalite" },
  scenes: [
    { workload: "u2", concurrencies: [3], contestants: ["tidemark-stream", "native", "scalardb"] },
    { workload: "ycsb-c", concurrencies: [2], contestants: ["tidemark-stream"] },
  ],
  ratePerSecond: undefined,
  seconds: 0.5,
  warmUpSeconds: 0.3,
  // Each of a cell starts its own stack and client processes.
  repetitions: sweep(1, 2),
  processes: 2,
  seed: 1,
  countedOperations: 60,
};

test("measures every contestant, counts every part, and says who was left out", async () => {
  const seen: string[] = [];
  const results = parseResults(
    await runPlan(plan, {
      say: () => undefined,
      onCell: ({ kind, workload, contestant }) => seen.push(`${kind} ${workload} ${contestant}`),
    }),
  );
  expect(seen).toEqual([
    "skipped u2 scalardb",
    "measured u2 tidemark-stream",
    "measured u2 native",
    "measured ycsb-c tidemark-stream",
  ]);
  const measured = results.cells.filter((cell): cell is MeasuredCell => cell.kind === "measured");
  for (const cell of measured) {
    expect(cell.perSecond.each).toHaveLength(plan.repetitions);
    expect(cell.perSecond.low).toBeGreaterThan(0);
    expect(cell.failures).toEqual({});
    expect(cell.latencyMs.p50).toBeGreaterThan(0);
  }
  const [own, native, reads] = measured;
  // Two reads in one call and two writes, of rows below 1 KB.
  expect(native?.costs?.total).toMatchObject({ calls: 3, readUnits: 2, writeUnits: 2 });
  expect(Object.keys(own?.costs?.parts ?? {}).sort()).toEqual(["client", "oracle", "replay"]);
  expect(own?.costs?.parts["client"]?.streamUnits).toBeGreaterThan(0);
  expect(own?.costs?.parts["oracle"]?.invocations).toBeGreaterThan(0);
  expect(own?.costs?.parts["replay"]?.readUnits).toBeGreaterThan(0);
  expect(reads?.costs?.parts["client"]?.streamUnits).toBe(0);
  expect(reads?.costs?.parts["oracle"]?.calls).toBe(0);
}, 180_000);

test("drives an open loop in several processes, and begins nothing after its time", async () => {
  const [scene] = plan.scenes;
  const results = await runPlan(
    {
      ...plan,
      scenes: [{ ...scene!, contestants: ["native"] }],
      ratePerSecond: 20,
      seconds: 2,
      repetitions: 1,
      countedOperations: 0,
    },
    { say: () => undefined, onCell: () => undefined },
  );
  const [cell] = results.cells;
  expect(cell).toMatchObject({ kind: "measured", ratePerSecond: 20, costs: null });
  if (cell?.kind !== "measured") return;
  expect(cell.committed + cell.unstarted).toBe(39);
  const late = await runPlan(
    { ...plan, minutesMax: 0 },
    { say: () => undefined, onCell: () => undefined },
  );
  expect(late.cells.map((one) => one.kind === "skipped" && one.reason)).toEqual(
    Array.from({ length: 4 }, () => "the time was up"),
  );
}, 180_000);
