import { expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import { LoneWriter } from "../../../engine/express/lone-writer.ts";

function committer(nowMs = 0): LoneWriter {
  const writer = new LoneWriter(nowMs);
  for (let commit = 0; commit < 3; commit += 1) writer.ended({ hasCommitted: true });
  return writer;
}

test("nobody is alone before he has committed a few times in a row", () => {
  const writer = new LoneWriter(0);
  const likely = () => writer.isLikely({ nowMs: 10_000, ageMs: 10 });
  for (const wanted of [false, false, true]) {
    writer.ended({ hasCommitted: true });
    expect(likely()).toBe(wanted);
  }
  writer.ended({ hasCommitted: false });
  expect(likely()).toBe(false);
});

test("the log must have been without others for ten times as long as it was not asked", () => {
  const writer = committer();
  writer.sawOther(1_000);
  // Complete up to 1,500: nobody for 500 ms.
  expect(writer.isLikely({ nowMs: 1_550, ageMs: 50 })).toBe(true);
  expect(writer.isLikely({ nowMs: 1_551, ageMs: 51 })).toBe(false);
});

test("what is not known of the time since the last look does not count as calm", () => {
  const writer = committer();
  // Alone for half a second, then idle: that nobody came meanwhile is what is to be found out.
  expect(writer.isLikely({ nowMs: 1_000, ageMs: 500 })).toBe(false);
});

test("the longest calm is no reason to go by a tail that is older than the limit", () => {
  const writer = committer();
  const nowMs = 3_600_000;
  expect(writer.isLikely({ nowMs, ageMs: limits.expressUnaskedMsMax })).toBe(true);
  expect(writer.isLikely({ nowMs, ageMs: limits.expressUnaskedMsMax + 1 })).toBe(false);
});

test("a tail that was never read is nobody's", () => {
  expect(committer().isLikely({ nowMs: 1_000, ageMs: Infinity })).toBe(false);
});
