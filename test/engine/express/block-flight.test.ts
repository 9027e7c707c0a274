/** What the answer to a put says of its block (engine/express/block-flight.ts). */
import { describe, expect, test } from "vitest";
import { StoreError } from "../../../core/errors.ts";
import type { LogPosition } from "../../../core/types.ts";
import {
  afterPut,
  type FlightState,
  type FlightStep,
  type PutAnswer,
} from "../../../engine/express/block-flight.ts";

const denied = new StoreError("rejected", "access denied");
const by = { position: 7 as LogPosition, bytes: Uint8Array.of(1) };

const cases: readonly (readonly [PutAnswer, Record<FlightState, FlightStep>])[] = [
  ["appended", both({ kind: "appended" })],
  [{ taken: by }, both({ kind: "taken", by })],
  [{ taken: undefined }, both({ kind: "taken", by: undefined })],
  ["unanswered", both({ kind: "open" })],
  ["throttled", { "in-flight": { kind: "refused", denied: undefined }, open: { kind: "open" } }],
  [{ denied }, { "in-flight": { kind: "refused", denied }, open: { kind: "open" } }],
];

function both(step: FlightStep): Record<FlightState, FlightStep> {
  return { "in-flight": step, open: step };
}

describe.each(["in-flight", "open"] as const)("a put of a block %s", (state) => {
  test.each(cases)("answered with %o", (answer, steps) => {
    expect(afterPut(state, answer)).toEqual(steps[state]);
  });
});

test("a refusal is believed only as long as no put of the block was left without an answer", () => {
  expect(afterPut("in-flight", "throttled").kind).toBe("refused");
  expect(afterPut("open", "throttled").kind).toBe("open");
});
