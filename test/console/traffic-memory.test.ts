/** What is remembered of the traffic. */
import { expect, test } from "vitest";
import * as limits from "../../console/limits.ts";
import { TrafficMemory } from "../../console/traffic/memory.ts";
import { noCounts, type MetConflict, type TransferCourse } from "../../console/traffic/messages.ts";

function told(what: {
  readonly courses?: readonly TransferCourse[];
  readonly conflicts?: readonly MetConflict[];
}) {
  const { courses = [], conflicts = [] } = what;
  return { kind: "told", counts: noCounts, acknowledged: [], courses, conflicts } as const;
}

function course(...ids: readonly string[]): TransferCourse {
  return { ids, steps: [{ from: "client", kind: "attempt", level: "fine", text: ids.join() }] };
}

function met(key: string, more: Partial<MetConflict> = {}): MetConflict {
  return {
    ...{ table: "t", key: { id: { S: key } }, early: false, attempt: 1 },
    ...{ id: undefined, version: undefined, ...more },
  };
}

test("a course is found by each id that its attempts had", () => {
  const memory = new TrafficMemory();
  memory.note(told({ courses: [course("a", "b"), course("c")] }));
  expect(memory.course("b")).toEqual(memory.course("a"));
  expect(memory.course("c")).toMatchObject([{ text: "c" }]);
  expect(memory.course("d")).toEqual([]);
});

test("of many courses the newest are kept", () => {
  const memory = new TrafficMemory();
  const all = Array.from({ length: limits.coursesKept + 1 }, (_unused, at) => course(`${at}`));
  memory.note(told({ courses: all }));
  expect(memory.course("0")).toEqual([]);
  expect(memory.course("1")).toHaveLength(1);
});

test("conflicts are counted by key, the most contended first, with the newest who lost", () => {
  const memory = new TrafficMemory();
  const losers = Array.from({ length: limits.losersKept + 1 }, (_unused, at) => `l${at}`);
  memory.note(
    told({
      conflicts: [
        met("few", { early: true }),
        ...losers.map((id, at) => met("many", { id, attempt: at + 1 })),
      ],
    }),
  );
  const [many, few] = memory.conflicts();
  expect(few).toMatchObject({ conflicts: 1, early: 1, attemptsMax: 1, losers: [{}] });
  expect(many).toMatchObject({ conflicts: losers.length, early: 0, attemptsMax: losers.length });
  expect(many?.losers.map(({ id }) => id)).toEqual(losers.slice(1).reverse());
});

test("keys of which conflicts are remembered are bounded", () => {
  const memory = new TrafficMemory();
  const all = Array.from({ length: limits.trafficConflictKeysKept + 1 }, (_unused, at) =>
    met(`k${at}`),
  );
  memory.note(told({ conflicts: [...all, met("k0")] }));
  expect(memory.conflicts()).toHaveLength(limits.contendedMax);
  // The oldest one made room, and came back as a new one.
  expect(memory.conflicts().every(({ conflicts }) => conflicts === 1)).toBe(true);
});
