/** What is looked at of BASE transactions that are open. */
import { expect, test } from "vitest";
import { wantedOf, type OpenEntry } from "../../../engine/base/open-list.ts";

function entry(base: string, requestedMs?: number): OpenEntry {
  return { base, name: base.slice(0, base.indexOf("/")), version: 1, requestedMs };
}

const listed = {
  open: [entry("order/new", 30), entry("order/old", 10), entry("bill/1", 5), entry("order/begun")],
  released: [],
  strange: ["order/odd", "bill/odd"].map((base) => ({ base, cause: new Error("odd") })),
};
const all = { name: undefined, lookedAtMax: undefined };

function looked(wish: Parameters<typeof wantedOf>[1]): readonly string[] {
  return wantedOf(listed, wish).looked.map(({ base }) => base);
}

test("those that have begun come first, then those asked for longest ago", () => {
  expect(looked(all)).toEqual(["order/begun", "bill/1", "order/old", "order/new"]);
});

test("of too many the youngest are left out, and counted", () => {
  expect(looked({ ...all, lookedAtMax: 2 })).toEqual(["order/begun", "bill/1"]);
  expect(wantedOf(listed, { ...all, lookedAtMax: 2 }).count).toBe(4);
});

test("of one handler none of another's is looked at, nor told to be strange", () => {
  const wish = { ...all, name: "bill" };
  expect(looked(wish)).toEqual(["bill/1"]);
  expect(wantedOf(listed, wish).strange.map(({ base }) => base)).toEqual(["bill/odd"]);
});
