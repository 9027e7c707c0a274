/** The projection as a whole, on its brief plan. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { projectionCharts } from "../../bench/projection/charts.ts";
import { Load } from "../../bench/projection/load.ts";
import {
  monthlyCost,
  nativeMonthly,
  type CostCounts,
} from "../../bench/projection/monthly-cost.ts";
import { briefPlan } from "../../bench/projection/plan.ts";
import { projectionTables } from "../../bench/projection/print.ts";
import { ProjectedDeployment } from "../../bench/projection/projected-deployment.ts";
import { serviceLimits } from "../../bench/projection/published-figures.ts";
import type { ProjectionResult } from "../../bench/projection/result.ts";
import { project } from "../../bench/projection/scenarios.ts";
import { storedProjection } from "../../bench/projection/stored-projection.ts";
import { increment, readAndWrite } from "../../bench/projection/transactions.ts";

/** For a machine with much else to do: whole worlds take seconds of processor time. */
const patienceMs = 180_000;

let result: ProjectionResult;
beforeAll(async () => {
  result = await project({ seed: 7, plan: briefPlan });
}, patienceMs);

describe("a projection", { timeout: patienceMs }, () => {
  test("of the same seed is the same, to the last figure", async () => {
    expect(await project({ seed: 7, plan: briefPlan })).toEqual(result);
  });

  test("of another seed has other figures", async () => {
    const plan = {
      ...briefPlan,
      throughput: [],
      processes: [],
      contention: [],
      mixed: [],
      hotRow: [],
      cost: [],
    };
    const other = await project({ seed: 8, plan });
    expect(other.commitLatency).not.toEqual(result.commitLatency);
  });

  test("takes no less time for a commit than its published parts do", () => {
    for (const { commit, latency, phases } of result.commitLatency) {
      if (commit !== "stream") {
        // At the least a block, at half of its median.
        expect(phases.certify.p50).toBeGreaterThan(7.6 / 2);
        continue;
      }
      // At the least a put, a delivery, a block and a poll, each at half of its median.
      expect(phases.certify.p50).toBeGreaterThan((10 + 49 + 7.6 + 10) / 2);
      expect(latency.p50).toBeGreaterThan(phases.certify.p50);
    }
  });

  test("adds at least its round trips to a transaction on a mixed table", () => {
    const certify = (access: "transactional" | "mixed", onlyRead: number): number =>
      result.mixed.find(
        (row) => row.commit === "express" && row.access === access && row.onlyRead === onlyRead,
      )?.phases.certify.p50 ?? 0;
    // A fence and a vote; and a second look. Each at half of its median, at the least.
    expect(certify("mixed", 0)).toBeGreaterThan(certify("transactional", 0) + (6 + 7.6) / 2);
    expect(certify("mixed", 1)).toBeGreaterThan(certify("mixed", 0) + 2);
  });

  test("gives charts with a value or a gap at every label", () => {
    const charts = projectionCharts(result);
    expect(new Set(charts.map(({ title }) => title)).size).toBe(charts.length);
    // The brief plan has no fan-out among its costs.
    expect(charts).toHaveLength(10);
    for (const { title, labels, series } of charts) {
      for (const { values } of series) {
        expect(values, title).toHaveLength(labels.length);
        expect(
          values.every((value) => value === null || Number.isFinite(value)),
          title,
        ).toBe(true);
        expect(
          values.some((value) => value !== null),
          title,
        ).toBe(true);
      }
    }
  });

  test("is a section of the report once it is stored, and none before", () => {
    const folder = mkdtempSync(join(tmpdir(), "projection-"));
    try {
      const path = join(folder, "projection.json");
      expect(storedProjection(path)).toEqual([]);
      const charts = projectionCharts(result);
      writeFileSync(path, JSON.stringify({ ...result, charts }));
      const [section] = storedProjection(path);
      expect(section?.parts).toHaveLength(charts.length);
      expect(section?.text.join()).toContain("Not measured on AWS");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("without some of its parts has charts of the others", () => {
    const charts = projectionCharts({ ...result, processes: [], hotRow: [], cost: [] });
    expect(charts).toHaveLength(7);
  });

  test("prints rows as wide as their heads", () => {
    const widths = new Map<string, number>();
    for (const line of projectionTables(result).split("\n")) {
      const heading = /^### (.*)/.exec(line)?.[1];
      if (heading !== undefined) widths.clear();
      if (!line.startsWith("|")) continue;
      const width = line.split("|").length;
      expect(width).toBe(widths.get("row") ?? width);
      widths.set("row", width);
    }
  });
});

describe("load", { timeout: patienceMs }, () => {
  test("does not put more into a shard than the shard takes, and loses nothing", async () => {
    const deployment = await ProjectedDeployment.create({ seed: 3, consumer: "fan-out" });
    // Items so large that the shard's bytes are the bound: at most about 30 transactions a second.
    const seconds = 3;
    const load = new Load(deployment, {
      commit: "stream",
      processes: 4,
      arrival: { kind: "closed", clientsPerProcess: 8 },
      body: readAndWrite({ items: 2, keys: 10_000, fillerBytes: 16_000 }),
      warmUpSeconds: 2,
      seconds,
    });
    const { usage, failures } = await load.run();
    const bytesPerSecond = usage.client.recordBytes / seconds;
    expect(failures).toEqual({});
    expect(usage.client.throttled).toBeGreaterThan(0);
    expect(bytesPerSecond).toBeLessThanOrEqual(1.05 * serviceLimits.shardBytesPerSecond);
    expect(bytesPerSecond).toBeGreaterThan(0.8 * serviceLimits.shardBytesPerSecond);
  });

  test.each(["stream", "express", "auto"] as const)(
    "that increments one item counts every commit: %s",
    async (commit) => {
      const deployment = await ProjectedDeployment.create({ seed: 5, consumer: "fan-out" });
      const load = new Load(deployment, {
        commit,
        processes: 2,
        arrival: { kind: "closed", clientsPerProcess: 2 },
        body: increment,
        warmUpSeconds: 1,
        seconds: 2,
      });
      const { expressShare, usage } = await load.run();
      await deployment.run(() => deployment.settled());
      const [row] = deployment.world.dynamodb.rows("items");
      expect(load.totalCommitted).toBeGreaterThan(0);
      expect(row?.item["balanceCents"]).toEqual({ N: load.totalCommitted.toString() });
      expect(expressShare).toBe(commit === "stream" ? 0 : 1);
      expect(usage.client.blocks > 0).toBe(commit !== "stream");
      expect(usage.client.records > 0).toBe(commit === "stream");
    },
  );
});

describe("the monthly cost", () => {
  const counts: CostCounts = {
    writeUnits: { install: 2, blocks: 0.25, oracle: 0.25, replay: 0 },
    readUnits: { reads: 2, tail: 1, replay: 2 },
    putUnits: 1,
    recordBytes: 250,
    oracle: { invocations: 0.5, gigabyteSeconds: 0.01 },
    replay: { invocations: 0.1, gigabyteSeconds: 0.002 },
  };

  test("is what its formulas say", () => {
    // 100 transactions a second are 262.8 million in a month of 730 hours.
    const lines = monthlyCost(counts, { perSecond: 100, shards: 2, consumer: "fan-out" });
    expect(lines.writes).toBeCloseTo(2.5 * 262.8 * 0.625, 6);
    expect(lines.reads).toBeCloseTo(5 * 262.8 * 0.125, 6);
    expect(lines.putUnits).toBeCloseTo(262.8 * 0.014, 6);
    expect(lines.shards).toBeCloseTo(2 * 730 * 0.015, 6);
    expect(lines.retention).toBeCloseTo(2 * 730 * 0.02, 6);
    expect(lines.fanOut).toBeCloseTo(2 * 730 * 0.015 + 250 * 0.2628 * 0.013, 6);
    expect(lines.functions).toBeCloseTo(0.6 * 262.8 * 0.2 + 0.012 * 262.8e6 * 0.0000133, 6);
  });

  test("has no fan-out for a standard consumer", () => {
    const lines = monthlyCost(counts, { perSecond: 100, shards: 2, consumer: "standard" });
    expect(lines.fanOut).toBe(0);
  });

  test("of TransactWriteItems counts each write twice", () => {
    const { plain, transactWriteItems } = nativeMonthly({ perSecond: 100, items: 2 });
    expect(plain).toBeCloseTo(262.8 * (2 * 0.125 + 2 * 0.625), 6);
    expect(transactWriteItems).toBeCloseTo(262.8 * (2 * 0.125 + 4 * 0.625), 6);
  });
});
