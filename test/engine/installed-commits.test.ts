import { expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import { commitName } from "../../core/tail.ts";
import type { Timestamp } from "../../core/types.ts";
import { InstalledCommits } from "../../engine/installing/installed-commits.ts";

const commit = (timestamp: number, write = 0) => ({ timestamp: timestamp as Timestamp, write });

test("what is noted after the store was asked is not known of its answer", () => {
  const installed = new InstalledCommits();
  installed.note(commit(1), undefined);
  const asked = installed.asOf();
  installed.note(commit(2), undefined);
  installed.note(commit(1), undefined);
  expect([1, 2].map((each) => asked.has(commitName(commit(each))))).toEqual([true, false]);
  expect(installed.asOf().has(commitName(commit(2)))).toBe(true);
  expect(asked.size).toBe(1);
});

test("each write of a commit counts for itself", () => {
  const installed = new InstalledCommits();
  installed.note(commit(1, 1), undefined);
  expect(installed.asOf().has(commitName(commit(1, 0)))).toBe(false);
});

test("the oldest are forgotten, so that memory is bounded", () => {
  const installed = new InstalledCommits();
  const max = limits.installedCommitsMax;
  for (let i = 0; i < max; i += 1) installed.note(commit(i), undefined);
  expect(installed.asOf().has(commitName(commit(0)))).toBe(true);
  for (let i = max; i < 3 * max; i += 1) {
    installed.note(commit(i), undefined);
    const known = installed.asOf();
    expect(known.size).toBeLessThanOrEqual(max);
    // In the order in which they were noted, and a tenth of them at most too early.
    const has = (each: number): boolean => known.has(commitName(commit(each)));
    expect([has(i - known.size), has(i - known.size + 1), has(i)]).toEqual([false, true, true]);
    expect(known.size).toBeGreaterThan(0.9 * max);
  }
});

test("of an item, what lies below its newest commit is known to be superseded", () => {
  const installed = new InstalledCommits();
  installed.note(commit(3), "x");
  installed.note(commit(2), "x");
  installed.note(commit(9), "y");
  const isAbove = [2, 3].map((timestamp) => installed.isAbove(timestamp as Timestamp, "x"));
  expect(isAbove).toEqual([true, false]);
  for (let i = 0; i < limits.installedCommitsMax; i += 1) installed.note(commit(100 + i), "z");
  expect(installed.isAbove(1 as Timestamp, "x")).toBe(false);
});
