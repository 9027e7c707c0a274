/** Times, numbers and values as the page writes them. */
import { describe, expect, test } from "vitest";
import {
  bytesText,
  clockText,
  countText,
  keyText,
  momentFrom,
  momentText,
  rateText,
  shortId,
  spanText,
  valueText,
} from "../../console/page/format.ts";
import * as limits from "../../console/limits.ts";

const micros = Date.UTC(2026, 10, 28, 0, 12, 3, 123) * 1_000 + 45;

test("a moment is in UTC, to the microsecond, and says so", () => {
  expect(clockText(micros)).toBe("00:12:03.123045");
  expect(momentText(micros)).toBe("2026-11-28 00:12:03.123045 UTC");
  expect([clockText(0), momentText(0)]).toEqual(["–", "–"]);
});

describe("a moment as it is written down", () => {
  test.each([
    [momentText(micros), micros],
    ["2026-11-28 00:12:03.123045", micros],
    ["2026-11-28T00:12:03.123045Z", micros],
    [micros.toString(), micros],
    ["2026-11-28 00:12:03", micros - 123_045],
    [" 2026-11-28 00:12 utc ", micros - 3_123_045],
  ])("%j is read", (text, moment) => {
    expect(momentFrom(text)).toBe(moment);
  });

  test.each(["", "yesterday", "00:12", "2026-13-28 00:12", "2026-11-28", "12"])(
    "%j is not",
    (text) => {
      expect(momentFrom(text)).toBeUndefined();
    },
  );
});

test.each([
  [0, "0 ms"],
  [99, "99 ms"],
  [100, "0.1 s"],
  [9_940, "9.9 s"],
  [12_000, "12 s"],
  [120_000, "2 min"],
  [7_200_000, "2 h"],
  [172_800_000, "2 d"],
])("a span of %i ms is %s", (ms, text) => {
  expect(spanText(ms)).toBe(text);
});

test("numbers stay readable, small and large", () => {
  expect(["0.0", "99.9", "1\u2009234"]).toEqual([rateText(0), rateText(99.94), rateText(1_234.4)]);
  expect([countText(999), countText(1_000_000)]).toEqual(["999", "1\u2009000\u2009000"]);
  expect([bytesText(1_023), bytesText(1_024), bytesText(1_048_576)]).toEqual([
    "1023 B",
    "1.0 KiB",
    "1.0 MiB",
  ]);
  expect(shortId("06614b6cd9f200d60a5a694cca2666fa")).toBe("06614b…ca2666fa");
});

describe("a value", () => {
  test.each([
    [{ S: '<b>"x"</b>' }, '"<b>\\"x\\"</b>"'],
    [{ N: "1" }, "1"],
    [{ BOOL: false }, "false"],
    [{ NULL: true }, "null"],
    [{ L: [{ N: "1" }, { S: "a" }] }, '[1, "a"]'],
    [{ M: { a: { M: {} } } }, "{ a: {  } }"],
    [{ SS: ["a", "b"] }, '<"a", "b">'],
    [{ B: "AAE=" }, "base64 AAE="],
  ])("%j is %s", (value, text) => {
    expect(valueText(value)).toBe(text);
  });

  test("that is long is cut, and says so", () => {
    const text = valueText({ S: "x".repeat(limits.valueCharactersMax) });
    expect([text.length, text.at(-1)]).toEqual([limits.valueCharactersMax + 1, "…"]);
  });

  test("of a key stands without its name", () => {
    expect(keyText({ customer: { S: "ann" }, placedAt: { N: "3" } })).toBe('"ann" / 3');
  });
});
