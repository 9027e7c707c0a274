/** What the seeds of a sweep run, taken together. */
import { expect, test } from "vitest";
import { clientCommitOf, planOf } from "../../simulation/seed-plan.ts";
import {
  baseWorkloads,
  mixableWorkloads,
  nativeWorkloads,
  transactionalWorkloads,
} from "../../simulation/workloads/catalogue.ts";

const plans = Array.from({ length: 1_200 }, (_unused, i) => planOf(i + 1));

test("two fifths of the seeds commit express, in each way in every workload", () => {
  const express = plans.filter(({ commit }) => commit !== "stream");
  expect(express.length / plans.length).toBeGreaterThan(0.36);
  expect(express.length / plans.length).toBeLessThan(0.48);
  for (const workload of transactionalWorkloads) {
    const met = new Set(plans.filter((plan) => plan.workload === workload).map((it) => it.commit));
    expect([...met].sort(), workload).toEqual(["auto", "express", "mixed", "stream"]);
  }
});

test("in some seeds native writers are at the tables, and in others mixed tables alone", () => {
  const beside = plans.filter(({ workload }) => nativeWorkloads.includes(workload));
  expect(beside.length / plans.length).toBeGreaterThan(0.09);
  expect(new Set(beside.map(({ workload }) => workload)).size).toBe(nativeWorkloads.length);
  expect(new Set(beside.map(({ commit }) => commit)).size).toBe(4);
  const mixed = plans.filter((plan) => plan.mixed);
  expect(mixed.length / plans.length).toBeGreaterThan(0.05);
  expect(new Set(mixed.map(({ workload }) => workload))).toEqual(new Set(mixableWorkloads));
});

test("in some seeds clients begin BASE transactions, in each way, of either kind", () => {
  const based = plans.filter(({ workload }) => baseWorkloads.includes(workload));
  expect(based.length / plans.length).toBeGreaterThan(0.04);
  expect(based.length / plans.length).toBeLessThan(0.09);
  expect(new Set(based.map(({ workload }) => workload))).toEqual(new Set(baseWorkloads));
  expect(new Set(based.map(({ commit }) => commit)).size).toBe(4);
  expect(new Set(based.map(({ isolation }) => isolation))).toEqual(new Set(["serializable"]));
});

test("of the seeds that may, a quarter have several shards, in every workload that can", () => {
  const several = plans.filter(({ shards }) => shards > 1);
  expect(several.length / plans.length).toBeGreaterThan(0.12);
  const can = [...transactionalWorkloads, ...baseWorkloads, ...nativeWorkloads];
  expect(new Set(several.map(({ workload }) => workload))).toEqual(new Set(can));
  expect(new Set(several.map(({ commit }) => commit)).size).toBe(4);
  expect(new Set(several.map(({ shards }) => shards))).toEqual(new Set([2, 3, 4]));
  expect(several.some(({ tablesOnly }) => tablesOnly)).toBe(true);
  expect(several.filter(({ mixed }) => mixed).length).toBeGreaterThan(3);
  for (const { closings } of several) expect(closings).toBe(0);
});

test("in a mixed run three clients go three ways, and elsewhere all go one", () => {
  const waysOf = (commit: "mixed" | "auto", seed: number) =>
    [1, 2, 3].map((nth) => clientCommitOf({ seed, commit }, nth));
  expect(waysOf("auto", 1)).toEqual(["auto", "auto", "auto"]);
  expect(waysOf("mixed", 2).sort()).toEqual(["auto", "express", "stream"]);
  expect(new Set([1, 2, 3].map((seed) => waysOf("mixed", seed)[0])).size).toBe(3);
});

test("where every commit is a block, in some seeds one client is alone for long stretches", () => {
  const visited = plans.filter(({ visits }) => visits);
  expect(visited.length).toBeGreaterThan(15);
  for (const { commit, hotLog } of visited) expect([commit, hotLog]).toEqual(["express", false]);
});

test("in a fifth of the seeds the stream comes and goes, in each way of committing", () => {
  const closing = plans.filter(({ closings }) => closings > 0);
  expect(closing.length / plans.length).toBeGreaterThan(0.12);
  expect(closing.length / plans.length).toBeLessThan(0.22);
  const met = (of: (plan: (typeof plans)[number]) => unknown): number =>
    new Set(closing.map(of)).size;
  expect(met(({ commit }) => commit)).toBe(4);
  expect(met(({ workload }) => workload)).toBeGreaterThanOrEqual(transactionalWorkloads.length);
  expect(met(({ housekeeping }) => housekeeping)).toBe(3);
  expect(closing.filter(({ tablesOnly }) => tablesOnly).length).toBeGreaterThan(10);
  for (const { hotLog, visits } of closing) expect([hotLog, visits]).toEqual([false, false]);
});
