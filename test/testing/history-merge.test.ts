/** One history from the parts of several processes, some of them killed. */
import { expect, test } from "vitest";
import { mergeTransactions, wholeLines } from "../../testing/history/merge.ts";
import { aborted, during, tx, unknown } from "./history-builder.ts";

test("of a transaction the last entry stands, and a killed process's intent stays unknown", () => {
  const merged = mergeTransactions([
    tx("b", "w x 1", { ...unknown, ...during(20, 30) }),
    tx("b", "w x 1", during(20, 40)),
    tx("a", "w x 2", { ...unknown, ...during(10, 15) }),
    tx("c", "w x 3", { ...unknown, ...during(30, 31) }),
    tx("c", "w x 3", { ...aborted, ...during(30, 35) }),
  ]);
  expect(merged.map(({ id, status }) => [id, status])).toEqual([
    ["a", "unknown"],
    ["b", "commit"],
    ["c", "abort"],
  ]);
});

test("a BASE transaction is over once any of its processes was told, the first of them", () => {
  const base = (extra: object) => tx("pay/1", "", { kind: "base", ...extra });
  const untold = base({ ...unknown, ...during(10, 90) });
  const told = base(during(10, 50));
  const toldLater = base(during(10, 60));
  for (const entries of [
    [untold, toldLater, told, untold],
    [told, untold, toldLater],
  ]) {
    expect(mergeTransactions(entries)).toEqual([told]);
  }
  expect(mergeTransactions([untold, untold])).toEqual([untold]);
});

test("what was there before is stated once, also for processes that could not any more", () => {
  const own = tx("p:init", "w x =initial", { kind: "init", start: 0, end: 0 });
  const merged = mergeTransactions([
    { ...own, ops: [["w", "x", "initial x"]] },
    { ...tx("a", ""), ops: [["r", "x", "initial x"]] },
    { ...tx("b", ""), ops: [["r", "y", "initial y"]] },
  ]);
  expect(merged.map(({ id }) => id)).toEqual(["init", "a", "b"]);
  expect(merged[0]?.ops).toEqual([
    ["w", "x", "initial x"],
    ["w", "y", "initial y"],
  ]);
});

test("a line that a kill has cut is left out", () => {
  expect(wholeLines('{"id":1}\n{"id":2}\n{"i')).toBe('{"id":1}\n{"id":2}\n');
  expect(wholeLines('{"i')).toBe("");
});
