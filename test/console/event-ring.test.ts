/** The events that all watchers share. */
import { describe, expect, test } from "vitest";
import { EventRing } from "../../console/server/event-ring.ts";
import * as limits from "../../console/limits.ts";

function filled(count: number, data = (at: number) => `event ${at}`): EventRing {
  const ring = new EventRing("run");
  for (let at = 1; at <= count; at += 1) ring.push(data(at));
  return ring;
}

const dataAfter = (ring: EventRing, number: number) => ring.after(number)?.map(({ data }) => data);

test("gives what came after an event, in order, and nothing after the newest", () => {
  const ring = filled(3);
  expect(dataAfter(ring, 1)).toEqual(["event 2", "event 3"]);
  expect(ring.after(3)).toEqual([]);
  expect(new EventRing("run").after(0)).toEqual([]);
});

describe("an id", () => {
  test("leads back to its event", () => {
    const ring = filled(3);
    expect(ring.numberOf(ring.idOf(2))).toBe(2);
  });

  test.each(["other-2", "run-4", "run-", "run", "", "run-2x", undefined])(
    "%j is none of this run's",
    (id) => {
      expect(filled(3).numberOf(id)).toBeUndefined();
    },
  );
});

describe("its bounds", () => {
  test.each([
    [limits.eventsKept, 0],
    [limits.eventsKept + 1, 1],
  ])("of %i events, those behind %i are kept", (count, gone) => {
    const ring = filled(count);
    expect(ring.after(gone)).toHaveLength(limits.eventsKept);
    expect(ring.after(gone - 1)).toBeUndefined();
  });

  test("large events push out others by their size", () => {
    const ring = filled(5, () => "x".repeat(limits.eventBytesKept / 2));
    expect(ring.after(2)).toBeUndefined();
    expect(ring.after(3)).toHaveLength(2);
  });

  test("one that alone is too large is not kept, and who waits for it begins anew", () => {
    const ring = filled(1, () => "x".repeat(limits.eventBytesKept + 1));
    expect(ring.newest).toBe(1);
    expect(ring.after(0)).toBeUndefined();
    ring.push("small");
    expect(dataAfter(ring, 1)).toEqual(["small"]);
  });
});

describe("waiting", () => {
  test("ends with the next event", async () => {
    const ring = filled(1);
    const changed = ring.changed(1, new AbortController().signal);
    ring.push("event 2");
    await changed;
    expect(dataAfter(ring, 1)).toEqual(["event 2"]);
  });

  test("ends when its watcher leaves, and for one who has left already", async () => {
    const ring = filled(1);
    const left = new AbortController();
    const changed = ring.changed(1, left.signal);
    left.abort();
    await changed;
    await ring.changed(1, left.signal);
  });
});
