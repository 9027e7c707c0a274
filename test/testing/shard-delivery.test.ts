/**
 * What an event source mapping decides for a shard, by itself: each claim is one of Lambda's. That
 * the embedded stack and the simulator live by it is event-source-mapping.test.ts and
 * stream-mapping.test.ts.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  interpretBatchResponse,
  type BatchResult,
} from "../../testing/cloud/lambda/batch-response.ts";
import {
  doubledPauseMs,
  idleDelivery,
  stepDelivery,
  type DeliveryEffect,
  type DeliveryEvent,
  type DeliverySettings,
  type DeliveryState,
} from "../../testing/cloud/lambda/shard-delivery.ts";

const settings: DeliverySettings = { batchSize: 3, windowMs: 100, eventBytesMax: 1_000 };
const envelopeBytes = '{"Records":[]}'.length;

function run(
  events: readonly DeliveryEvent[],
  state: DeliveryState = idleDelivery,
): readonly (readonly DeliveryEffect[])[] {
  let now = state;
  return events.map((event) => {
    const step = stepDelivery(settings, now, event);
    now = step.state;
    return step.effects;
  });
}

function look(
  nowMs: number,
  waitingBytes: readonly number[],
  { ended = false } = {},
): Extract<DeliveryEvent, { kind: "look" }> {
  return { kind: "look", nowMs, waitingBytes, ended };
}

const answered = (result: BatchResult): DeliveryEvent => ({ kind: "answered", result });
const failedFrom = (index: number): DeliveryEvent => answered({ kind: "failed-from", index });
const done: DeliveryEvent = answered({ kind: "done" });

describe("a batch", () => {
  test.each([
    { what: "one record short of full", bytes: [1, 1], records: undefined },
    { what: "full", bytes: [1, 1, 1], records: 3 },
    { what: "more than full", bytes: [1, 1, 1, 1], records: 3 },
    { what: "exactly an event's bytes", bytes: [500, 500 - envelopeBytes], records: undefined },
    { what: "one byte more than an event", bytes: [500, 501 - envelopeBytes], records: 1 },
    { what: "a record that fills an event alone", bytes: [5_000, 1], records: 1 },
  ])("$what, within its window", ({ bytes, records }) => {
    const [[effect] = []] = run([look(0, bytes)]);
    const expected =
      records === undefined ? { kind: "wait", untilMs: 100 } : { kind: "invoke", records };
    expect(effect).toEqual(expected);
  });

  test.each([
    { atMs: 99, effect: { kind: "wait", untilMs: 100 } },
    { atMs: 100, effect: { kind: "invoke", records: 1 } },
    { atMs: 101, effect: { kind: "invoke", records: 1 } },
  ])("that is not full is delivered when its window ends: at $atMs ms", ({ atMs, effect }) => {
    expect(run([look(0, [1]), look(atMs, [1])])[1]).toEqual([effect]);
  });

  test("has a window that begins when its first record is announced", () => {
    const announced: DeliveryEvent = { kind: "announced", nowMs: 0 };
    expect(run([announced, look(60, [1])])[1]).toEqual([{ kind: "wait", untilMs: 100 }]);
    expect(run([announced, look(200, []), look(300, [1])])[2]).toEqual([
      { kind: "wait", untilMs: 400 },
    ]);
  });

  test("of a shard that has ended waits for nothing, and its end comes last", () => {
    const events = [look(0, [1], { ended: true }), done, look(0, [], { ended: true })];
    expect(run(events)).toEqual([
      [{ kind: "invoke", records: 1 }],
      [{ kind: "done", records: 1 }],
      [{ kind: "shard-end" }],
    ]);
  });
});

describe("a failure", () => {
  const begun = { batch: 3, failures: 0, windowEndsMs: undefined };

  test("brings the whole batch again, as it was, and nothing else", () => {
    expect(run([failedFrom(0), look(0, [1, 1, 1, 1, 1]), failedFrom(0)], begun)).toEqual([
      [{ kind: "retry", failures: 1 }],
      [{ kind: "invoke", records: 3 }],
      [{ kind: "retry", failures: 2 }],
    ]);
  });

  test("in part moves the checkpoint before the record reported, and counts anew", () => {
    expect(run([failedFrom(0), failedFrom(2), look(0, [1, 1, 1])], begun)).toEqual([
      [{ kind: "retry", failures: 1 }],
      [
        { kind: "done", records: 2 },
        { kind: "retry", failures: 1 },
      ],
      [{ kind: "invoke", records: 1 }],
    ]);
  });

  test("may be answered with a part of the batch; the rest waits and is taken later", () => {
    const events = [{ kind: "cut", records: 1 } as const, done, look(0, [1, 1, 1])];
    expect(run(events, begun)[2]).toEqual([{ kind: "invoke", records: 3 }]);
  });

  test("is forgotten by a consumer that restarts", () => {
    const restarted: DeliveryEvent = { kind: "restarted" };
    expect(run([failedFrom(0), restarted, look(0, [1])], begun)[2]).toEqual([
      { kind: "wait", untilMs: 100 },
    ]);
  });

  test("is followed by pauses that double up to the longest", () => {
    const pace = { minMs: 100, maxMs: 1_000 };
    const pauses = [1, 2, 4, 5, 1_000].map((times) => doubledPauseMs(pace, times));
    expect(pauses).toEqual([100, 200, 800, 1_000, 1_000]);
  });
});

describe("a function's answer", () => {
  const records = ["1", "2", "3"].map((sequenceNumber) => ({ sequenceNumber }));
  const failures = (...names: unknown[]): unknown => ({
    batchItemFailures: names.map((itemIdentifier) => ({ itemIdentifier })),
  });

  test.each([
    { what: "nothing", response: undefined, result: { kind: "done" } },
    { what: "an empty list", response: failures(), result: { kind: "done" } },
    { what: "the lowest of two", response: failures("3", "2"), from: 1 },
    { what: "the first record", response: failures("1"), from: 0 },
    { what: "a record of another batch", response: failures("3", "4"), from: 0 },
    { what: "an empty name", response: failures(""), from: 0 },
    { what: "no list", response: { batchItemFailures: "2" }, from: 0 },
  ])("$what", ({ response, from }) => {
    const expected = from === undefined ? { kind: "done" } : { kind: "failed-from", index: from };
    expect(interpretBatchResponse(response, records)).toEqual(expected);
  });
});

test("whatever fails, all records are done, in order, in batches of the size set", () => {
  const outcome = fc.oneof(fc.constant("done" as const), fc.nat({ max: 3 }));
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 40 }), fc.nat({ max: 20 }), (script, count) => {
      let state = idleDelivery;
      let first = 0;
      let nowMs = 0;
      const answers = [...script];
      const turnsMax = 10 * (script.length + count + 2);
      for (let turn = 0; turn < turnsMax; turn += 1) {
        nowMs += 50;
        const waiting = new Array<number>(count - first).fill(1);
        const looked = stepDelivery(settings, state, look(nowMs, waiting, { ended: true }));
        const [effect] = looked.effects;
        if (effect?.kind !== "invoke") break;
        expect(effect.records).toBeLessThanOrEqual(settings.batchSize);
        const next = answers.shift() ?? "done";
        const result: BatchResult =
          next === "done" || next >= effect.records
            ? { kind: "done" }
            : { kind: "failed-from", index: next };
        const step = stepDelivery(settings, looked.state, { kind: "answered", result });
        for (const each of step.effects) if (each.kind === "done") first += each.records;
        ({ state } = step);
      }
      expect(first).toBe(count);
    }),
  );
});
