/** The language of traces: what is played, and what is refused, by line. */
import { describe, expect, test } from "vitest";
import { oracleMachine } from "./oracle-machine.ts";
import { tailMachine } from "./tail-machine.ts";
import { play } from "./trace-file.ts";
import { timeText, Words } from "./words.ts";

const machines = new Map([
  ["oracle", oracleMachine],
  ["tail", tailMachine],
]);

/** Below a rule and the machine's line: the first one is line 3. */
function played(machine: "oracle" | "tail", ...lines: readonly string[]): string {
  return play(["# §3: a rule.", `${machine} from 100`, ...lines].join("\n"), machines);
}

const record = "record 1 arrives 120";

test("wrong answers are replaced, and nothing else changes", () => {
  const text = [
    ...["# A title.", "", "# §3: a rule,", "# in two lines.", "oracle from 100", record],
    ...["  A serializable checked-to 100 writes x", "# In between.", "restart", ""],
  ];
  const right = play(text.join("\n"), machines);
  expect(right.split("\n").filter((line) => !line.startsWith("=>"))).toEqual(text);
  expect(play(right, machines)).toBe(right);
  expect(play(right.replaceAll("at 120", "at 121"), machines)).toBe(right);
  expect(play(`=> an answer to nothing\n${right}`, machines)).toBe(right);
});

test("two scenarios know nothing of each other", () => {
  const scenario = ["# §3: a rule.", "oracle from 100", record, "  A abort checked-to 100"];
  const answers = play([...scenario, ...scenario].join("\n"), machines)
    .split("\n")
    .filter((line) => line.includes("A aborted at 120: probed"));
  expect(answers).toHaveLength(2);
});

describe("a trace is refused", () => {
  test.each([
    ["restart", "line 1: a scenario begins with oracle, tail"],
    ["oracle from 100", "line 1: the comment above a scenario names its rule: # §3, …"],
    ["# A rule.\noracle from 100", "line 2: the comment above a scenario names its rule"],
    ["# §3: a rule.\n\noracle from 100", "line 3: the comment above a scenario names its rule"],
    ["  A stale", "line 1: belongs to no command"],
    ["# §3: a rule.\noracle", 'line 2: "from" expected, not ""'],
    ["# §3: a rule.\noracle from noon", 'line 2: a time is 120 or 120+1, not "noon"'],
    ["# §3: a rule.\noracle from 100 window", "line 2: a time is missing"],
    ["# §3: a rule.\ntail from 100 window 20", 'line 2: "window" is not understood'],
  ])("%j", (text, message) => {
    expect(() => play(text, machines)).toThrow(message);
  });

  test.each([
    [["append"], 'line 3: one of same-hash, record, redeliver, restart expected, not "append"'],
    [["record one arrives 120"], 'line 3: a record is a number, not "one"'],
    [["record 1 arrives 120+1"], "line 3: records arrive at whole milliseconds"],
    [[record, record], "line 4: record 1 was there: redeliver it"],
    [["redeliver 1, 2"], "line 3: there is no record 1"],
    [["restart through 1"], "line 3: the log has no such blocks"],
    [["restart", "  A abort checked-to 100"], "line 4: restart has no lines"],
    [["same-hash x orders/ann/1"], "line 3: here only items without sort keys share a hash"],
    [[record, "  a abort checked-to 100"], 'line 4: a transaction is a capital letter, not "a"'],
    [[record, "  A serialisable checked-to 100"], "line 4: one of serializable, snapshot, abort"],
    [[record, "  A abort checked to 100"], 'line 4: "checked-to" expected, not "checked"'],
    [[record, "  A abort checked-to 100 wrotes x"], 'line 4: "wrotes" is not understood'],
    [[record, "  A abort checked-to 100 writes x,"], "line 4: an item is missing"],
    [[record, "  A abort checked-to 100 writes t/*"], "line 4: an item is x, table/x or"],
    [[record, "  A snapshot checked-to 100 reads a/b/c/*"], "line 4: an item is x, table/x or"],
  ])("of an oracle: %j", (lines, message) => {
    expect(() => played("oracle", ...lines)).toThrow(message);
  });

  test.each([
    [["r1 reads x at 80"], "line 3: one of same-hash, block,"],
    [["reader one at 100 fixed serializable"], 'line 3: a reader is r1, r2, …, not "one"'],
    [["reader r1 at 100 serializable"], "line 3: one of read-write, read-only, fixed expected"],
    [["block through 120", "  A committed at 120"], 'line 4: "writes" expected, not ""'],
    [["block through 120", "  A aborted at 120 conflict"], 'line 4: "probed" expected'],
    [["watermark 1 at 120"], 'line 3: "block" expected, not "1"'],
    [["newest-commit x above 100"], 'line 3: "up-to" expected, not ""'],
    [["oldest-commit x above 100 up-to 120"], 'line 3: "below" expected, not "up-to"'],
  ])("of a tail: %j", (lines, message) => {
    expect(() => played("tail", ...lines)).toThrow(message);
  });

  test.each([
    ["r1 reads x", 'line 4: "at" expected, not ""'],
    ["r1 writes x", "line 4: one of reads, pages, conflict expected"],
    ["r1 reads x at 80 seen-to A/0", "line 4: there is no write A/0"],
    ["r1 pages x page 1", 'line 4: a page is read under a predicate, not "x"'],
    ["r1 pages t/* page 1 history now", 'line 4: "now" is not understood'],
  ])("of a reader: %j", (line, message) => {
    const reader = "reader r1 at 100 read-write serializable";
    expect(() => played("tail", reader, line)).toThrow(message);
  });
});

test("what core asserts ends a trace", () => {
  const below = ["block through 120", "  A committed at 130 writes x"];
  expect(() => played("tail", ...below)).toThrow("I2: no verdict above its block's timestamp");
});

test.each([0, 1, 999, 1_000, 120_000, 120_001, 999_999_999_999])("times read back: %i", (time) => {
  expect(new Words({ text: timeText(time), number: 1 }).time()).toBe(time);
});
