/** The checker's notation and output, as its own versions print them. */
import { expect, test } from "vitest";
import { readOutput } from "../../model/harness/checker.ts";
import { parseTlaValue } from "../../model/harness/tla-value.ts";

test.each([
  ["<<>>", []],
  ['<<[t |-> t1, kind |-> "commit", ts |-> 3]>>', [{ t: "t1", kind: "commit", ts: 3 }]],
  ["(a :> 0 @@ b :> 12)", { a: 0, b: 12 }],
  ["{b, a}", ["a", "b"]],
  ["[fresh |-> TRUE,\n   late |-> FALSE]", { fresh: true, late: false }],
])("reads %s", (text, value) => {
  expect(parseTlaValue(text)).toEqual(value);
});

test.each(["", "<<1", "[a |-> ]", "1 2", "(a 1)", "?"])("refuses %j", (text) => {
  expect(() => parseTlaValue(text)).toThrow(SyntaxError);
});

const states = "1,204 states generated, 12 distinct".replace(",", "");

test.each([
  ["holds", 0, `${states} states found, 0 states left on queue.`, undefined],
  ["violated", 12, "Error: Invariant I7 is violated.", "I7"],
  ["violated", 13, "Error: Action property I1 is violated.", "I1"],
  ["violated", 13, "Error: Temporal properties were violated.", "a temporal property"],
  ["broken", 0, "Error: unrecognized option", undefined],
])("calls an output %s", (kind, code, output, violated) => {
  const exit = kind === "broken" ? 1 : code;
  expect(readOutput(output, exit)).toMatchObject({ kind, violated });
});
