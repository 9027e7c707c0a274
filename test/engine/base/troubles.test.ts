/** What a runner tells of: once each, and remembering no more than it may. */
import { expect, test } from "vitest";
import { Troubles } from "../../../engine/base/troubles.ts";
import type { TroubleOfOne } from "../../../engine/base/types.ts";

const trouble = (id: string, kind: TroubleOfOne["kind"] = "no-handler"): TroubleOfOne => ({
  ...{ kind, name: "order", id, version: 1 },
});

function troublesOf(max: number) {
  const told: string[] = [];
  const troubles = new Troubles(({ kind, id }) => told.push(`${kind} ${id}`), max);
  return { troubles, told };
}

test("each is told once, as long as looks meet it", () => {
  const { troubles, told } = troublesOf(10);
  for (let look = 0; look < 5; look += 1) {
    troubles.nextLook();
    troubles.tell(trouble("a"));
    troubles.tell(trouble("a", "parked"));
  }
  expect(told).toEqual(["no-handler a", "parked a"]);
});

test("those that no look meets any more make room for others", () => {
  const { troubles, told } = troublesOf(10);
  for (let n = 0; n < 100; n += 1) {
    troubles.nextLook();
    troubles.tell(trouble(n.toString()));
  }
  expect(told).toHaveLength(100);
  expect(troubles.remembered).toBe(10);
});

test("of more than that in one look the first are told, and in no other look again", () => {
  const { troubles, told } = troublesOf(10);
  for (let look = 0; look < 5; look += 1) {
    troubles.nextLook();
    for (let n = 0; n < 100; n += 1) troubles.tell(trouble(n.toString()));
  }
  expect(told).toEqual(Array.from({ length: 10 }, (_, n) => `no-handler ${n}`));
  expect(troubles.remembered).toBe(10);
  troubles.tell(trouble("5", "parked"));
  expect(told.at(-1)).toBe("parked 5");
});
