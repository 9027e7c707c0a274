import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type {
  LogBlock,
  PreparedVerdict,
  ShardNumber,
  Timestamp,
  TransactionId,
  Verdict,
} from "../../core/types.ts";
import {
  foldPart,
  isPossible,
  unseen,
  wholeOutcome,
  type PartState,
} from "../../core/whole-outcome.ts";
import { partsOfTwo } from "./oracle-harness.ts";

const id = "00060a24181e4000112233445566778a" as TransactionId;
const parts = partsOfTwo(1 as Timestamp);
const states: fc.Arbitrary<PartState> = fc.oneof(
  fc.constant(unseen),
  fc.constant({ kind: "aborted" as const }),
  fc.integer({ min: 2, max: 9 }).map((at) => ({
    kind: "prepared" as const,
    timestamp: at as Timestamp,
  })),
);

function outcomeOf(...each: readonly PartState[]) {
  return wholeOutcome(parts, new Map(each.map((state, shard) => [shard as ShardNumber, state])));
}

function blockOf(...verdicts: readonly Verdict[]): LogBlock {
  return { verdicts } as unknown as LogBlock;
}

const prepared: PreparedVerdict = {
  ...{ kind: "prepared", id, timestamp: 5 as Timestamp, checks: [], writes: [], parts },
  payload: { kind: "none" },
};
const aborted: Verdict = {
  ...{ kind: "aborted", id, timestamp: 6 as Timestamp },
  reason: { kind: "probed" },
};

describe("the outcome of a transaction over two shards", () => {
  test("is a commit exactly if both hold it prepared, at the later of the two", () => {
    fc.assert(
      fc.property(states, states, (one, other) => {
        const whole = outcomeOf(one, other);
        if (one.kind === "prepared" && other.kind === "prepared") {
          const timestamp = Math.max(one.timestamp, other.timestamp);
          expect(whole).toEqual({ kind: "committed", timestamp });
        } else if (one.kind === "aborted" || other.kind === "aborted") {
          expect(whole).toEqual({ kind: "aborted" });
        } else expect(whole).toBeUndefined();
      }),
    );
  });

  test("is what one of them has entered already", () => {
    const entered: PartState = { kind: "committed", timestamp: 7 as Timestamp };
    expect(outcomeOf(entered, { kind: "prepared", timestamp: 4 as Timestamp })).toEqual(entered);
  });

  test("counts at or above each part, whatever its client has had one of them enter", () => {
    const entered: PartState = { kind: "committed", timestamp: 4 as Timestamp };
    const other: PartState = { kind: "prepared", timestamp: 7 as Timestamp };
    expect(outcomeOf(entered, other)).toEqual({ kind: "committed", timestamp: 7 });
    expect(outcomeOf(other, entered)).toEqual({ kind: "committed", timestamp: 7 });
  });

  test("never changes once it is known, whatever the logs take in", () => {
    const verdicts = fc.array(fc.constantFrom<Verdict>(prepared, aborted), { maxLength: 4 });
    fc.assert(
      fc.property(verdicts, verdicts, (one, other) => {
        const ends = [one, other].map((log) =>
          log.reduce((state, verdict) => foldPart(state, blockOf(verdict), id), unseen),
        );
        const first = [one, other].map((log) => foldPart(unseen, blockOf(...log.slice(0, 1)), id));
        const before = outcomeOf(...first);
        // A part that is prepared is closed by what became of the whole, and by nothing else.
        if (before?.kind === "aborted") expect(outcomeOf(...ends)).toEqual(before);
      }),
    );
  });
});

test("who lies of what lies ahead leads no log further with each of his transactions", () => {
  const arrivalMicros = 1_000_000_000;
  let last = arrivalMicros;
  for (let n = 0; n < 50; n += 1) {
    const preparedAt = Math.max(last + 1, arrivalMicros) as Timestamp;
    const furthest = preparedAt + limits.partAheadMicrosMax;
    for (const timestamp of [furthest, arrivalMicros + limits.partAheadMicrosMax]) {
      const whole = { kind: "committed", timestamp: timestamp as Timestamp } as const;
      if (isPossible(whole, { preparedAt, arrivalMicros })) last = Math.max(last, timestamp);
    }
    const own = { kind: "committed", timestamp: preparedAt } as const;
    expect(isPossible(own, { preparedAt, arrivalMicros })).toBe(true);
  }
  expect(last).toBeLessThanOrEqual(arrivalMicros + limits.partAheadMicrosMax);
});

describe("what a log holds of an id", () => {
  test("its first decision stands", () => {
    const committed: Verdict = {
      ...{ kind: "committed", id, timestamp: 5 as Timestamp, placed: 8 as Timestamp, writes: [] },
      payload: { kind: "prepared", position: 1 as LogBlock["position"] },
    };
    expect(foldPart(unseen, blockOf(prepared), id)).toEqual({ kind: "prepared", timestamp: 5 });
    expect(foldPart(unseen, blockOf(prepared, committed, aborted), id)).toEqual({
      kind: "committed",
      timestamp: 5,
    });
    expect(foldPart(unseen, blockOf(aborted, prepared), id)).toEqual({ kind: "aborted" });
  });

  test("others' verdicts say nothing", () => {
    const other = "00060a24181e40001122334455667789" as TransactionId;
    expect(foldPart(unseen, blockOf({ ...prepared, id: other }), id)).toBe(unseen);
  });
});
