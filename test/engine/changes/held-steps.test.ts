/** What a feed holds of open BASE transactions weighs no more than it may, whatever is written. */
import { expect, test } from "vitest";
import type { Timestamp, TransactionId } from "../../../core/types.ts";
import { HeldSteps, type HeldStep } from "../../../engine/changes/held-steps.ts";

const bytesMax = 1_000_000;

function step(items: number, text: string): HeldStep {
  const table = { name: "seats", partitionKey: "id", history: false };
  const at = { timestamp: 1 as Timestamp, id: "a" as TransactionId };
  const writes = Array.from({ length: items }, (_, n) => {
    const key = { id: { S: n.toString() } };
    return [n.toString(), { table, key, item: { ...key, text: { S: text } } }] as const;
  });
  return { number: 1, at, writes: new Map(writes) };
}

/** How many of those that have begun one after the other are still held. */
function heldOf(count: number, each: HeldStep): number {
  const held = new HeldSteps(bytesMax);
  for (let n = 0; n < count; n += 1) held.add(n.toString(), each);
  let found = 0;
  for (let n = 0; n < count; n += 1) if (held.take(n.toString()).length > 0) found += 1;
  return found;
}

test.each([
  ["few large items", step(2, "x".repeat(100_000)), 4],
  ["many small ones", step(1_000, "x"), 8],
  ["nothing that is asked for", step(0, ""), 5_000],
])("of those that have written %s the first are forgotten", (_, each, atMost) => {
  const found = heldOf(4 * atMost, each);
  expect(found).toBeGreaterThan(atMost / 4);
  expect(found).toBeLessThanOrEqual(atMost);
});

test("what was taken makes room", () => {
  const held = new HeldSteps(bytesMax);
  for (let n = 0; n < 100; n += 1) {
    held.add("one", step(1, "x".repeat(300_000)));
    expect(held.take("one")).toHaveLength(1);
  }
  held.add("one", step(1, "x".repeat(300_000)));
  held.add("one", step(1, "x".repeat(300_000)));
  expect(held.take("one")).toHaveLength(2);
});
