/**
 * What Tidemark would do on AWS, by the simulator with published latencies and limits: the real
 * client, oracle and replay, in virtual time. One command, one core, a few minutes; the same seed
 * gives the same file.
 *
 *     npm run bench:projection [-- --seed 1] [-- --brief] [-- --out file.json]
 *     npm run bench:projection -- --only hotRow --commit auto
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { projectionCharts } from "./charts.ts";
import { briefPlan, fullPlan, type ProjectionPlan } from "./plan.ts";
import { projectionTables } from "./print.ts";
import { project } from "./scenarios.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    brief: { type: "boolean", default: false },
    only: { type: "string" },
    commit: { type: "string" },
    out: { type: "string" },
  },
});

const partNames = [
  ...(["latency", "beside", "throughput", "processes", "contention"] as const),
  ...(["mixed", "hotRow", "cost"] as const),
];

/** The part of the plan that was asked for; what it leaves out is empty in the result. */
function planned(plan: ProjectionPlan, only: string | undefined): ProjectionPlan {
  if (only === undefined) return plan;
  const kept = partNames.find((name) => name === only);
  if (kept === undefined) {
    throw new TypeError(`--only is one of ${partNames.join(", ")}; got ${only}`);
  }
  const none = {
    latency: [],
    beside: [],
    throughput: [],
    processes: [],
    contention: [],
    mixed: [],
    hotRow: [],
    cost: [],
  };
  return { ...plan, ...none, [kept]: plan[kept], complete: false };
}

/** Of the plan's cases, those that commit that way. */
function committing(plan: ProjectionPlan, commit: string | undefined): ProjectionPlan {
  if (commit === undefined) return plan;
  const of = <Case extends { readonly commit: string }>(cases: readonly Case[]): readonly Case[] =>
    cases.filter((each) => each.commit === commit);
  return {
    ...plan,
    complete: false,
    latency: of(plan.latency),
    beside: plan.beside.filter(({ loud }) => loud.commit === commit),
    throughput: of(plan.throughput),
    processes: of(plan.processes),
    contention: of(plan.contention),
    mixed: of(plan.mixed),
    hotRow: of(plan.hotRow),
    cost: of(plan.cost),
  };
}

const seed = Number(values.seed);
if (!Number.isSafeInteger(seed)) throw new TypeError(`--seed is a whole number`);
const whole = values.brief ? briefPlan : fullPlan;
const plan = committing(planned(whole, values.only), values.commit);
const result = await project({ seed, plan }, (part, row) => {
  const { curve: _curve, ...shown } = row as Record<string, unknown>;
  process.stderr.write(`${part}: ${JSON.stringify(shown)}\n`);
});
console.log(projectionTables(result));
// Only the whole plan is what the documentation and the report speak of.
const out = values.out ?? (plan.complete ? "bench/results/projection.json" : undefined);
if (out !== undefined) {
  mkdirSync(dirname(out), { recursive: true });
  const text = JSON.stringify({ ...result, charts: projectionCharts(result) }, undefined, 1);
  writeFileSync(out, `${text}\n`);
  console.log(`written to ${out}`);
}
