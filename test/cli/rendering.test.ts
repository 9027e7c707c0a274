/** Text as the command line sets it: columns, spans, values, keys, colours, findings. */
import { describe, expect, test } from "vitest";
import { InvalidRequestError } from "../../core/errors.ts";
import type { AttributeValue, KeyType, Timestamp } from "../../core/types.ts";
import type { SeenBase } from "../../inspection/bases.ts";
import { healthOf, type Finding } from "../../inspection/findings.ts";
import { inColumns } from "../../cli/shell/columns.ts";
import { keyFrom } from "../../inspection/words/keys.ts";
import { counted, momentText, rateText, spanText } from "../../inspection/words/moments.ts";
import { colours, plainStyles, stylesFor, widthOf } from "../../cli/shell/styles.ts";
import { itemJson, itemText, keyText } from "../../inspection/words/values.ts";
import { baseListLines, oneBaseJson, oneBaseLines } from "../../cli/views/bases.ts";
import { findingLines } from "../../cli/views/findings.ts";

describe("columns", () => {
  const columns = [{ title: "name" }, { title: "n", align: "right" }] as const;

  test("are as wide as their widest cell, and end without blanks", () => {
    const rows = [
      ["a", "1"],
      ["longer", "10"],
      ["", ""],
    ];
    expect(inColumns(columns, rows, plainStyles)).toEqual([
      "name     n",
      "a        1",
      "longer  10",
      "",
    ]);
  });

  test("no rows are no lines", () => {
    expect(inColumns(columns, [], plainStyles)).toEqual([]);
  });

  test("colours take no place", () => {
    const rows = [
      [colours.bad("bad"), "1"],
      ["good", "2"],
    ];
    const lines = inColumns(columns, rows, colours);
    expect(lines.map(widthOf)).toEqual([7, 7, 7]);
    expect(widthOf("ä😀")).toBe(2);
  });
});

describe("colours", () => {
  test.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: "1" }, false],
    [true, { NO_COLOR: "" }, true],
    [true, { TERM: "dumb" }, false],
  ])("terminal %s, environment %j: %s", (isTerminal, environment, coloured) => {
    const styles = stylesFor(isTerminal, environment);
    expect(styles.bad("x")).toBe(coloured ? "\u001b[31mx\u001b[0m" : "x");
  });

  test("set off no empty text", () => {
    expect(colours.strong("")).toBe("");
  });
});

describe("moments", () => {
  test.each([
    [-1, "0.0 s"],
    [0, "0.0 s"],
    [449, "0.4 s"],
    [9_949, "9.9 s"],
    [10_000, "10 s"],
    [119_499, "119 s"],
    [120_000, "2 min"],
    [7_199_999, "120 min"],
    [7_200_000, "2 h"],
    [172_800_000, "2 d"],
  ])("%i ms are %s", (ms, expected) => {
    expect(spanText(ms)).toBe(expected);
  });

  test("a timestamp is told to the microsecond; 0 is none", () => {
    expect(momentText(1_795_752_516_609_001 as Timestamp)).toBe("2026-11-27T04:08:36.609001Z");
    expect(momentText(0 as Timestamp)).toBe("–");
    expect(momentText(Number.MAX_SAFE_INTEGER as Timestamp)).toBe("2255-06-05T23:47:34.740991Z");
  });

  test("rates and numbers of things", () => {
    expect([rateText(5, 0), rateText(1, 60_000), rateText(6_000, 60_000)]).toEqual([
      "–",
      "0.0",
      "100",
    ]);
    expect([counted(1, "block"), counted(2, "block"), counted(0, "entry", "entries")]).toEqual([
      "1 block",
      "2 blocks",
      "0 entries",
    ]);
  });
});

const values: readonly (readonly [AttributeValue, string, unknown])[] = [
  [{ S: 'a"\n' }, '"a\\"\\n"', { S: 'a"\n' }],
  [{ S: "\u001b[31m\u009b" }, '"\\u001b[31m\\u009b"', { S: "\u001b[31m\u009b" }],
  [{ N: "1.50" }, "1.50", { N: "1.50" }],
  [{ B: Uint8Array.of(1, 255) }, "0x01ff", { B: "Af8=" }],
  [{ BOOL: false }, "false", { BOOL: false }],
  [{ NULL: true }, "null", { NULL: true }],
  [
    { L: [{ N: "1" }, { M: { b: { B: Uint8Array.of(1) } } }] },
    "[1, { b: 0x01 }]",
    { L: [{ N: "1" }, { M: { b: { B: "AQ==" } } }] },
  ],
  [{ SS: ["a", "b"] }, '<"a", "b">', { SS: ["a", "b"] }],
  [{ NS: ["1"] }, "<1>", { NS: ["1"] }],
  [{ BS: [Uint8Array.of(0)] }, "<0x00>", { BS: ["AA=="] }],
];

describe("values", () => {
  test.each(values)("%j", (value, text, json) => {
    expect(itemText({ a: value })).toBe(`{ a: ${text} }`);
    expect(itemJson({ a: value })).toEqual({ a: json });
  });

  test("strange names are quoted, and what is long is cut", () => {
    expect(itemText({ "a b": { N: "1" } })).toBe('{ "a b": 1 }');
    expect(keyText({ pk: { S: "a" }, sk: { N: "3" } })).toBe('"a" / 3');
    expect([...itemText({ a: { S: "x".repeat(500) } })]).toHaveLength(161);
    expect(itemText({ a: { S: "x".repeat(500) } })).toMatch(/x…$/);
  });
});

describe("keys", () => {
  const table = (type: KeyType) => ({ name: "t", partitionKey: { name: "id", type } });
  const sorted = { ...table("S"), sortKey: { name: "at", type: "N" } } as const;

  test.each([
    [table("S"), ["ann"], { id: { S: "ann" } }],
    [table("N"), ["-1.5e3"], { id: { N: "-1.5e3" } }],
    [table("B"), ["0x0aFF"], { id: { B: Uint8Array.of(10, 255) } }],
    [table("B"), ["AQ=="], { id: { B: Uint8Array.of(1) } }],
    [sorted, ["ann", "3"], { id: { S: "ann" }, at: { N: "3" } }],
    [sorted, ['{"at":3,"id":"ann"}'], { id: { S: "ann" }, at: { N: "3" } }],
    [sorted, ['{"at":{"N":"3"},"id":{"S":"ann"}}'], { id: { S: "ann" }, at: { N: "3" } }],
  ])("%j %j", (of, words, expected) => {
    expect(keyFrom(of, words)).toEqual(expected);
  });

  test.each([
    [table("S"), [""], /id is empty/],
    [table("N"), ["one"], /id is no number/],
    [table("B"), ["!"], /id is empty, or no base64/],
    [table("S"), ["a", "b"], /has the key id \(S\): give <id>, or one object of JSON; got 2/],
    [sorted, ["a"], /give <id> <at>, or one object of JSON; got 1/],
    [sorted, ['{"id":"a"}'], /at is missing or of another type/],
    [sorted, ['{"id":"a","at":{"S":"3"}}'], /at is missing or of another type/],
    [sorted, ['{"id":"a","at":1,"more":1}'], /more is no part of it/],
    [sorted, ['{"id":'], /it is no JSON/],
  ])("%j %j is refused", (of, words, expected) => {
    expect(() => keyFrom(of, words)).toThrow(InvalidRequestError);
    expect(() => keyFrom(of, words)).toThrow(expected);
  });
});

describe("findings", () => {
  const of = (level: Finding["level"], more: Partial<Finding> = {}): Finding => ({
    ...{ level, about: "log", text: `is ${level}` },
    ...more,
  });

  test("the worst come first, each with its remedy; what is alike of shards is said once", () => {
    const shards = [0, 1, 2].map((shard) => of("fine", { shard: shard as never }));
    const findings = [...shards, of("unknown"), of("bad", { remedy: "mend it" })];
    expect(findingLines(findings, plainStyles)).toEqual([
      " BAD   log: is bad",
      "       → mend it",
      "  ??   log: is unknown",
      "  ok   log of shards 0, 1, 2: is fine",
    ]);
    expect(findingLines(findings, plainStyles, ["unknown"])).toEqual(["  ??   log: is unknown"]);
  });

  test("what is not known makes nothing ill", () => {
    expect(healthOf([])).toBe("fine");
    expect(healthOf([of("unknown"), of("fine")])).toBe("fine");
    expect(healthOf([of("unknown"), of("warning")])).toBe("warning");
    expect(healthOf([of("warning"), of("bad")])).toBe("bad");
  });
});

describe("BASE transactions", () => {
  const nowMs = 1_000_000;
  const one: SeenBase = {
    ...{ name: "order", id: "it's 1", version: 1, steps: 1, startedMs: 0, dependsOn: [] },
    ...{ lastMs: nowMs, failures: 0, failure: undefined },
    phase: "running",
  };
  const adviceOn = (base: SeenBase): readonly string[] =>
    baseListLines({ bases: [base], all: 1, nowMs, isTaken: true }, plainStyles).slice(3);

  test("one of which nothing is heard needs a runner, and one that goes on needs nothing", () => {
    expect(adviceOn({ ...one, lastMs: nowMs - 60_000 })).toEqual([]);
    expect(adviceOn({ ...one, lastMs: nowMs - 60_001 })).toEqual([
      expect.stringMatching(
        /^→ nobody is at order it's 1 for .*: a runner with its handler, in version 1, takes it/,
      ),
    ]);
    expect(adviceOn({ ...one, lastMs: 0 })).toEqual([
      expect.stringMatching(/since it was let go on: a runner/),
    ]);
    const asked: SeenBase = { ...one, phase: "requested", steps: 0, lastMs: 0 };
    expect(adviceOn({ ...asked, startedMs: nowMs - 60_000 })).toEqual([]);
    expect(adviceOn({ ...asked, startedMs: nowMs - 60_001 })).toEqual([
      expect.stringMatching(/for 60 s: a runner with its handler, in version 1, begins it/),
    ]);
  });

  test("one that has failed rests, and nobody has to be at it until then", () => {
    const rests: SeenBase = {
      ...{ ...one, lastMs: nowMs - 200_000, failures: 9, failingSinceMs: nowMs - 600_000 },
      ...{ failure: "Error: out", retryAtMs: nowMs + 40_000 },
    };
    expect(adviceOn(rests)).toEqual([]);
    const list = { bases: [rests], all: 1, nowMs, isTaken: true };
    expect(baseListLines(list, plainStyles)[1]).toContain("is tried again in 40 s");
    expect(oneBaseLines({ ...rests, done: [] }, nowMs, plainStyles)).toEqual([
      "order it's 1: is tried again in 40 s",
      expect.any(String),
      "failed 9 times since 1970-01-01T00:06:40.000Z, last: Error: out",
    ]);
    expect(oneBaseJson({ ...rests, done: [] })).toMatchObject({
      ...{ failingSince: "1970-01-01T00:06:40.000Z", retriesAt: "1970-01-01T00:17:20.000Z" },
    });
    const late = { ...rests, retryAtMs: nowMs - 60_001 };
    expect(adviceOn(late)).toEqual([expect.stringContaining("nobody is at order")]);
    const asked: SeenBase = { ...rests, phase: "requested", steps: 0 };
    expect(baseListLines({ ...list, bases: [asked] }, plainStyles)[1]).toContain("tried again in");
  });

  test("where none is open it says of whom", () => {
    const none = { bases: [], all: 0, nowMs, isTaken: true };
    expect(baseListLines(none, plainStyles)).toEqual(["no BASE transaction is open"]);
    expect(baseListLines({ ...none, name: "ordr" }, plainStyles)).toEqual([
      'no BASE transaction of "ordr" is open',
    ]);
  });

  test("a parked one's remedy can be pasted into a shell", () => {
    expect(adviceOn({ ...one, phase: "parked" })).toEqual([
      expect.stringContaining("`tidemark base resume order 'it'\\''s 1'` lets it go on"),
    ]);
  });
});
