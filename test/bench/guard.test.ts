/** What the guard makes of counts and budgets. */
import { describe, expect, test } from "vitest";
import { budgetFor, type Budgets, type Count, readBudgets } from "../../bench/guard/budgets.ts";
import { judge, tightened, verdictOf } from "../../bench/guard/judge.ts";

const budgets: Budgets = {
  calls: {
    unit: "per transaction",
    why: "each costs time",
    headroomPercent: 2,
    step: 0.01,
    budgets: { "2 items": 4, "5 items": 7 },
  },
  "write units": {
    unit: "per transaction",
    why: "the largest part of the bill",
    headroomPercent: 0,
    step: 1,
    budgets: { "read only": 0 },
  },
};

function counts(figures: { readonly two?: number; readonly none?: number } = {}): readonly Count[] {
  return [
    { group: "calls", name: "2 items", figure: figures.two ?? 3.9 },
    { group: "calls", name: "5 items", figure: 6.8 },
    { group: "write units", name: "read only", figure: figures.none ?? 0 },
  ];
}

describe("a verdict", () => {
  test("passes what is at its budget", () => {
    expect(verdictOf(counts({ two: 4 }), budgets)).toMatchObject({ failures: [], exitCode: 0 });
  });

  test("fails what is over its budget, and names its figure, the budget and the reason", () => {
    const { failures, exitCode } = verdictOf(counts({ two: 4.41 }), budgets);
    expect(exitCode).toBe(1);
    expect(failures).toEqual([
      "calls, 2 items: 4.41 per transaction, over the budget of 4, 10.3 % more (each costs time)",
    ]);
  });

  test("names every count that is over", () => {
    const { failures } = verdictOf(counts({ two: 4.41, none: 1 }), budgets);
    expect(failures.map((each) => each.split(":")[0])).toEqual([
      "calls, 2 items",
      "write units, read only",
    ]);
  });

  test("fails a figure that is none", () => {
    expect(verdictOf(counts({ two: Number.NaN }), budgets).exitCode).toBe(1);
  });

  test("fails a count without a budget, and a budget without a count", () => {
    const renamed = counts().map((each) =>
      each.name === "2 items" ? { ...each, name: "3 items" } : each,
    );
    const { failures, exitCode } = verdictOf(renamed, budgets);
    expect(exitCode).toBe(1);
    expect(failures).toEqual([
      "calls, 3 items: 3.9, and no budget in budgets.json",
      "calls, 2 items: a budget in budgets.json, and nothing is counted under this name",
    ]);
  });

  test("reports what has become clearly better, without failing it", () => {
    const { lines, exitCode } = verdictOf(counts({ two: 3 }), budgets);
    expect(exitCode).toBe(0);
    expect(lines.find((line) => line.includes("2 items"))).toContain("better: 3.06 would do");
    expect(lines.join("\n")).toContain("--tighten");
  });

  test("keeps silent about what is better by a tenth", () => {
    const { lines } = verdictOf(counts({ two: 3.53 }), budgets);
    expect(lines.join("\n")).not.toContain("better");
  });

  test("tells a missed target, without failing it", () => {
    const aimed = counts().map((each) => ({ ...each, targetMax: 3.9 }));
    const { lines, exitCode } = verdictOf(aimed, budgets);
    expect(exitCode).toBe(0);
    expect(lines.find((line) => line.includes("2 items"))).toContain("3.9 met");
    expect(lines.find((line) => line.includes("5 items"))).toContain("3.9 MISSED");
    expect(lines).toContain("Targets: 3, of which 1 are missed.");
  });
});

describe("tightening", () => {
  test("lowers a budget to the figure and its headroom", () => {
    const now = counts({ two: 3 });
    const lower = tightened(judge(now, budgets), budgets);
    expect(lower["calls"]?.budgets).toEqual({ "2 items": 3.06, "5 items": 6.94 });
    expect(verdictOf(now, lower).exitCode).toBe(0);
  });

  test("never raises one: what is over its budget stays over it", () => {
    const now = counts({ two: 4.41 });
    const same = tightened(judge(now, budgets), budgets);
    expect(same["calls"]?.budgets["2 items"]).toBe(4);
    expect(verdictOf(now, same).exitCode).toBe(1);
  });

  test("enters what is counted anew in a known group", () => {
    const now = [...counts(), { group: "calls", name: "9 items", figure: 10 }];
    expect(tightened(judge(now, budgets), budgets)["calls"]?.budgets["9 items"]).toBe(10.2);
  });

  test.each([
    { figure: 45, headroomPercent: 0, step: 1, budget: 45 },
    { figure: 40.1, headroomPercent: 0, step: 0.1, budget: 40.1 },
    { figure: 40.11, headroomPercent: 0, step: 0.1, budget: 40.2 },
    { figure: 12, headroomPercent: 2, step: 0.01, budget: 12.24 },
    { figure: 0, headroomPercent: 2, step: 0.01, budget: 0 },
  ])("of $figure with $headroomPercent % gives $budget", ({ figure, budget, ...group }) => {
    expect(budgetFor(figure, group)).toBe(budget);
  });
});

test("the committed budgets can be read, and each group guards something", () => {
  const groups = Object.values(readBudgets());
  expect(groups.length).toBeGreaterThan(5);
  for (const group of groups) expect(Object.keys(group.budgets)).not.toEqual([]);
});
