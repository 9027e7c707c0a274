/**
 * Who looks back at a blind write and finds another: right only where that one was certified with
 * it as one, after it.
 */
import { expect, test } from "vitest";
import { complaintOfPast, type Stamp } from "../../simulation/workloads/mixed-levels.ts";

const stamp: Stamp = { at: 100, place: 1, customer: "c", by: "client-1/7" };

test.each<[string, string | undefined, Partial<Stamp> | undefined, boolean]>([
  ["of its group, after it", "client-1/1/8", { at: 100, place: 2 }, true],
  ["of its process, which was never told", "client-1/1/8", undefined, true],
  ["of its group, before it", "client-1/1/8", { at: 100, place: 0 }, false],
  ["of its process, another commit", "client-1/1/8", { at: 101, place: 2 }, false],
  ["of another process", "client-2/8", { at: 101, place: 0 }, false],
  ["of another process, which was never told", "client-11/8", undefined, false],
  ["nobody's", undefined, undefined, false],
])("a statement %s", (_, found, told, isRight) => {
  const written = new Map(
    found === undefined || told === undefined ? [] : [[found, { ...stamp, by: found, ...told }]],
  );
  const complaint = complaintOfPast({ stamp, found }, written);
  if (isRight) expect(complaint).toBeUndefined();
  else expect(complaint).toMatch(/at 100 the statement of c was by .*, not client-1\/7/u);
});
