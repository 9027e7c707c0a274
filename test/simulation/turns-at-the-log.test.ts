/** The judge of turns among processes that append: whom it finds left out, and whom not. */
import { describe, expect, test } from "vitest";
import type { StoredBlock } from "../../core/ports.ts";
import type { LogBlock, LogPosition, MakerNumber, Timestamp } from "../../core/types.ts";
import { TurnJudge } from "../../simulation/judges/turns-at-the-log.ts";
import { encodeLogBlock } from "../schemas/encode-log-block.ts";

const [oracle, slow, fast, other] = [undefined, 1, 2, 3];
const bounds = { lostMax: 3, passedMax: 5 };

function blockOf(maker: number | undefined): LogBlock {
  return {
    position: 1 as LogPosition,
    ...{ previousTimestamp: 0 as Timestamp, throughTimestamp: 0 as Timestamp },
    ...{ cursor: undefined, arrivalMs: 0, rejectedRecords: 0, verdicts: [] },
    ...(maker === undefined ? {} : { maker: { number: maker as MakerNumber, installed: [] } }),
  };
}

function storedOf(maker: number | undefined): StoredBlock {
  return { position: 1 as LogPosition, bytes: encodeLogBlock(blockOf(maker)) };
}

function judged() {
  const clock = { nowMs: 0 };
  const judge = new TurnJudge({ nowMs: () => clock.nowMs, bounds });
  const loses = (maker: number | undefined, to: number | undefined, times = 1): void => {
    for (let i = 0; i < times; i += 1) {
      clock.nowMs += 10;
      judge.refused(storedOf(maker), storedOf(to));
    }
  };
  const come = (maker: number | undefined, times = 1): void => {
    for (let i = 0; i < times; i += 1) judge.stands(blockOf(maker));
  };
  return { judge, clock, loses, come };
}

describe("a process whose puts are refused", () => {
  test("while others' blocks go on to come is left out", () => {
    const { judge, loses, come } = judged();
    loses(slow, fast);
    come(fast, 6);
    loses(slow, fast, 3);
    expect(judge.findings).toEqual([
      "fairness: a process lost 4 puts in a row to others that append, in 30 ms, while 6 of " +
        "their blocks came",
    ]);
  });

  test.each([
    ["puts", 3, 50],
    ["blocks", 50, 5],
  ])("is not left out by few %s", (_what, lost, passed) => {
    const { judge, loses, come } = judged();
    loses(slow, fast);
    come(fast, passed);
    loses(slow, fast, lost - 1);
    expect(judge.findings).toEqual([]);
  });

  test("is left out although the row of another is longer, within one of the bounds", () => {
    const { judge, loses, come } = judged();
    // 50 puts, 5 blocks.
    loses(other, fast);
    come(fast, 5);
    loses(other, fast, 49);
    come(other);
    // 4 puts, 6 blocks.
    loses(slow, fast);
    come(fast, 6);
    loses(slow, fast, 3);
    expect(judge.longest).toMatchObject({ lost: 5, passed: 5 });
    expect(judge.findings).toHaveLength(1);
    expect(judge.findings[0]).toContain("lost 4 puts");
  });

  test("begins anew with a block of its own", () => {
    const { judge, loses, come } = judged();
    loses(slow, fast, 3);
    come(fast, 6);
    come(slow);
    loses(slow, fast, 3);
    come(fast, 6);
    expect(judge.findings).toEqual([]);
  });

  test("begins anew after a while without a try", () => {
    const { judge, clock, loses, come } = judged();
    loses(slow, fast, 3);
    come(fast, 6);
    clock.nowMs += 500;
    loses(slow, fast, 3);
    expect(judge.findings).toEqual([]);
  });

  test("by its own block, or by an oracle's, has lost to nobody", () => {
    const { judge, loses, come } = judged();
    loses(slow, slow, 9);
    loses(slow, oracle, 9);
    loses(oracle, fast, 9);
    come(fast, 9);
    loses(slow, slow, 9);
    expect(judge.longest).toMatchObject({ lost: 0, passed: 0 });
    expect(judge.findings).toEqual([]);
  });
});
