/** What a runner tells of. */
import { expect, test } from "vitest";
import { tellOnce } from "../../../engine/base/tell-once.ts";
import type { BaseTrouble } from "../../../engine/base/types.ts";

function parked(id: string): BaseTrouble {
  return { kind: "parked", name: "order", id, version: 1 };
}

test("tells of each trouble once, and of another one of the same transaction", () => {
  const told: BaseTrouble[] = [];
  const tell = tellOnce((trouble) => told.push(trouble));
  const failed = { ...parked("1"), kind: "handler-failed" } as const;
  for (const trouble of [parked("1"), parked("1"), failed, parked("2"), failed]) tell(trouble);
  expect(told).toEqual([parked("1"), failed, parked("2")]);
});

test("remembers those that it told of last, and no more than so many", () => {
  const told: string[] = [];
  const tell = tellOnce(({ id }) => told.push(id), 2);
  for (const id of ["1", "2", "3", "2", "3", "1"]) tell(parked(id));
  expect(told).toEqual(["1", "2", "3", "1"]);
});
