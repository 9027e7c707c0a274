/** The appender, put by put (docs/adr/0013-express-commit.md). */
import { beforeEach, describe, expect, test, vi } from "vitest";
import { assert } from "../../../core/assert.ts";
import { provisioningNumber } from "../../../core/block-order.ts";
import * as limits from "../../../core/limits.ts";
import { AppendingLog, endOf, reportOf } from "./appending-log.ts";

let app: AppendingLog;

beforeEach(async () => {
  app = new AppendingLog();
  await app.follower.refresh();
});

/** Lets everything happen that needs no time. */
async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe("a put that is answered", () => {
  test("commits all that was sealed in its turn, and needs no look at the log", async () => {
    const { reads } = app.log;
    const ends = [1, 2, 3].map((n) => endOf(app.commit({ id: n, key: n })));
    expect(await Promise.all(ends)).toEqual(["committed", "committed", "committed"]);
    expect(app.ids()).toEqual([[1, 2, 3]]);
    expect(app.log.reads).toBe(reads);
    expect(app.follower.ageMs).toBe(0);
    expect(app.appender.state).toBe("idle");
  });

  test("is followed by one with what was sealed meanwhile", async () => {
    app.fates.push("held");
    const ends = [endOf(app.commit({ id: 1, key: 1 }))];
    await turn();
    ends.push(endOf(app.commit({ id: 2, key: 2 })), endOf(app.commit({ id: 3, key: 3 })));
    await Promise.resolve();
    expect(app.appender.state).toBe("in-flight");
    app.release();
    expect(await Promise.all(ends)).toEqual(["committed", "committed", "committed"]);
    expect(app.ids()).toEqual([[1], [2, 3]]);
  });

  test("leaves what conflicts within the block to the next turn, where it is found", async () => {
    const ends = [
      endOf(app.commit({ id: 1, key: 1 })),
      endOf(app.commit({ id: 2, key: 2, reads: 1 })),
      endOf(app.commit({ id: 3, key: 3 })),
    ];
    expect(await Promise.all(ends)).toEqual(["committed", "conflict", "committed"]);
    expect(app.ids()).toEqual([[1, 3]]);
    expect(app.sent).toEqual([1, 3]);
  });

  test("is shared by the callers, who pay for it together", async () => {
    const used = [1, 2].map(() => ({ readUnits: 0, writeUnits: 0, calls: 0 }));
    await Promise.all(
      used.map((consumption, i) => app.commit({ id: i + 1, key: i }, { consumption })),
    );
    expect(used).toEqual([
      { readUnits: 0, writeUnits: 1.5, calls: 1 },
      { readUnits: 0, writeUnits: 1.5, calls: 0 },
    ]);
  });

  test("says what was installed, once", async () => {
    app.reports.add(reportOf(900));
    await app.commit({ id: 1, key: 1 });
    await app.commit({ id: 2, key: 2 });
    expect(app.blocks().map(({ maker }) => maker?.installed)).toEqual([[reportOf(900)], []]);
  });
});

describe("a position that is taken", () => {
  test("is folded without a read, and what still holds takes the next one", async () => {
    const { reads } = app.log;
    const ends = [endOf(app.commit({ id: 1, key: 1 })), endOf(app.commit({ id: 2, key: 2 }))];
    app.competitor({ id: 50, key: 1 });
    expect(await Promise.all(ends)).toEqual(["conflict", "committed"]);
    expect(app.ids()).toEqual([[50], [2]]);
    expect(app.positions).toEqual([1, 2]);
    expect(app.log.reads).toBe(reads);
    expect(app.grounded).toEqual([1, 2]);
  });

  test("is looked up where the store does not say what stands there", async () => {
    app.fates.push("answered-blindly");
    const end = endOf(app.commit({ id: 1, key: 1 }));
    app.competitor({ id: 50, key: 2 });
    expect(await end).toBe("committed");
    expect(app.ids()).toEqual([[50], [1]]);
  });

  test("three times in a row makes it read how far the log has gone", async () => {
    const end = endOf(app.commit({ id: 1, key: 1 }));
    for (let n = 50; n < 58; n += 1) app.competitor({ id: n, key: n });
    expect(await end).toBe("committed");
    expect(app.positions).toEqual([1, 2, 3, 9]);
  });

  test("by an oracle lets it go first, and is tried again", async () => {
    app = new AppendingLog("auto");
    await app.follower.refresh();
    const end = endOf(app.commit({ id: 1, key: 1 }));
    app.log.append(50);
    expect(await end).toBe("committed");
    expect(app.ids()).toEqual([[50], [1]]);
  });

  test("by what is prepared in its way is told to who waits, without a block", async () => {
    const ends = [endOf(app.commit({ id: 1, key: 1 })), endOf(app.commit({ id: 2, key: 2 }))];
    app.competitor({ id: 50, key: 1, isPrepared: true });
    expect(await Promise.all(ends)).toEqual(["barred", "committed"]);
    expect(app.ids()).toEqual([[50], [2]]);
    expect(await endOf(app.commit({ id: 3, key: 1 }))).toBe("barred");
    expect(app.positions).toEqual([1, 2]);
  });

  test("loses no report of installs", async () => {
    app.reports.add(reportOf(900));
    const end = endOf(app.commit({ id: 1, key: 1 }));
    app.competitor({ id: 50, key: 2 });
    expect(await end).toBe("committed");
    expect(app.blocks().at(-1)?.maker?.installed).toEqual([reportOf(900)]);
  });

  test("by a decision on the id itself is that decision", async () => {
    const end = endOf(app.commit({ id: 1, key: 1 }));
    app.log.append(1);
    expect(await end).toBe("aborted");
    expect(app.ids()).toEqual([[1]]);
  });
});

describe("a lost answer", () => {
  test("is found in the log, where the block stands", async () => {
    app.fates.push("answer-lost");
    expect(await endOf(app.commit({ id: 1, key: 1 }))).toBe("committed");
    expect(app.positions).toEqual([1]);
    expect(app.ids()).toEqual([[1]]);
  });

  test("of a put that never came makes it put the same bytes again", async () => {
    app.fates.push("request-lost", "request-lost");
    expect(await endOf(app.commit({ id: 1, key: 1 }))).toBe("committed");
    const [first, ...again] = app.puts;
    expect(again).toEqual([first, first]);
    expect(app.ids()).toEqual([[1]]);
  });

  test("is no refusal: another's block there may be one's own", async () => {
    // The first look at the log fails, so that the second put finds the first one.
    app.fates.push("answer-lost");
    app.log.failures = 1;
    expect(await endOf(app.commit({ id: 1, key: 1 }))).toBe("committed");
    expect(app.positions).toEqual([1, 1]);
    expect(app.ids()).toEqual([[1]]);
  });

  test("sends whoever waits behind it by the stream", async () => {
    app.fates.push("held", "held");
    const first = endOf(app.commit({ id: 1, key: 1 }));
    await turn();
    const second = endOf(app.commit({ id: 2, key: 2 }));
    expect(await second).toBe("by-stream");
    expect(app.clock.nowMs()).toBe(limits.expressAnswerMsMax);
    expect(app.appender.state).toBe("open");
    expect(await endOf(app.commit({ id: 3, key: 3 }))).toBe("by-stream");
    app.release();
    expect(await first).toBe("committed");
    expect(app.ids()).toEqual([[1]]);
  });

  test("and a put that comes late find their position taken", async () => {
    app.fates.push("held");
    const letGo = (): void => {
      app.release();
    };
    const gaveUp = new AbortController();
    const first = endOf(app.commit({ id: 1, key: 1 }, { signal: gaveUp.signal }));
    await turn();
    app.competitor({ id: 50, key: 2 });
    expect(await first).toBe("committed");
    expect(app.ids()).toEqual([[50], [1]]);
    letGo();
    await turn();
    expect(app.ids()).toEqual([[50], [1]]);
  });

  test("whose callers have given up is asked for no longer", async () => {
    app.fates.push("request-lost", "request-lost", "request-lost", "request-lost");
    const gaveUp = new AbortController();
    const end = endOf(app.commit({ id: 1, key: 1 }, { signal: gaveUp.signal }));
    await turn();
    gaveUp.abort(new Error("enough"));
    expect(await end).toBe("Error: enough");
    const puts = app.puts.length;
    expect(await endOf(app.commit({ id: 2, key: 2 }))).toMatch(/committed|by-stream/u);
    expect(app.puts.length).toBeLessThanOrEqual(puts + 2);
  });
});

describe("what the store refuses", () => {
  test("for being too much at once goes by the stream, and so do others for a while", async () => {
    app.fates.push("throttled");
    expect(await endOf(app.commit({ id: 1, key: 1 }))).toBe("by-stream");
    expect(app.grounded).toEqual([1]);
    expect(app.appender.isReady).toBe(false);
    await app.clock.sleep(limits.expressThrottledMs);
    expect(await endOf(app.commit({ id: 2, key: 2 }))).toBe("committed");
    expect(app.denials).toEqual([]);
  });

  test("for lack of rights goes by the stream for long, and is told once", async () => {
    app.fates.push("denied", "denied");
    expect(await endOf(app.commit({ id: 1, key: 1 }))).toBe("by-stream");
    await app.clock.sleep(limits.expressDeniedMs - 1);
    expect(app.appender.isReady).toBe(false);
    await app.clock.sleep(1);
    await app.follower.refresh();
    expect(await endOf(app.commit({ id: 2, key: 2 }))).toBe("by-stream");
    expect(app.positions).toHaveLength(2);
    expect(app.denials).toHaveLength(1);
    await app.clock.sleep(limits.expressDeniedMs);
    await app.follower.refresh();
    expect(await endOf(app.commit({ id: 3, key: 3 }))).toBe("committed");
  });

  test("nothing is put on a tail that was read long ago", async () => {
    expect(await endOf(app.commit({ id: 1, key: 1 }))).toBe("committed");
    await app.clock.sleep(limits.expressTailAgeMsMax + 1);
    expect(await endOf(app.commit({ id: 2, key: 2 }))).toBe("by-stream");
    await app.follower.refresh();
    expect(await endOf(app.commit({ id: 3, key: 3 }))).toBe("committed");
    expect(app.positions).toEqual([1, 2]);
  });

  test("after a lost answer proves nothing about the put before", async () => {
    app.fates.push("request-lost", "throttled", "denied");
    expect(await endOf(app.commit({ id: 1, key: 1 }))).toBe("committed");
    expect(app.positions).toEqual([1, 1, 1, 1]);
    expect(app.denials).toEqual([]);
  });
});

describe("what has read from another that is not decided", () => {
  const half = 250_000;

  test("stands behind it in its block, one after another", async () => {
    const ends = [
      endOf(app.commit({ id: 1, key: 1 })),
      endOf(app.commit({ id: 2, key: 1, from: 1 })),
      endOf(app.commit({ id: 3, key: 3 })),
      endOf(app.commit({ id: 4, key: 1, from: 2 })),
    ];
    expect(await Promise.all(ends)).toEqual(Array(4).fill("committed"));
    expect(app.ids()).toEqual([[1, 2, 3, 4]]);
  });

  test("waits with it where the block has no room", async () => {
    const ends = [
      endOf(app.commit({ id: 1, key: 1, bytes: half })),
      endOf(app.commit({ id: 2, key: 2, bytes: half })),
      endOf(app.commit({ id: 3, key: 3, reads: 2, from: 2 })),
      endOf(app.commit({ id: 4, key: 4 })),
    ];
    expect(await Promise.all(ends)).toEqual(Array(4).fill("committed"));
    expect(app.ids()).toEqual([
      [1, 4],
      [2, 3],
    ]);
  });

  test("stands in a later one where only the other has room", async () => {
    const ends = [
      endOf(app.commit({ id: 1, key: 1, bytes: half })),
      endOf(app.commit({ id: 2, key: 2, reads: 1, from: 1, bytes: half })),
    ];
    expect(await Promise.all(ends)).toEqual(["committed", "committed"]);
    expect(app.ids()).toEqual([[1], [2]]);
  });

  test("is told to wait where it is elsewhere, and so is what has read from that", async () => {
    const ends = [
      endOf(app.commit({ id: 2, key: 1, from: 1 })),
      endOf(app.commit({ id: 3, key: 1, from: 2 })),
      endOf(app.commit({ id: 4, key: 4 })),
    ];
    expect(await Promise.all(ends)).toEqual(["by-stream", "by-stream", "committed"]);
    expect(app.ids()).toEqual([[4]]);
    expect(app.sent).toEqual([4]);
  });

  test("goes down with it and takes nobody else along", async () => {
    const ends = [
      endOf(app.commit({ id: 1, key: 1 })),
      endOf(app.commit({ id: 2, key: 2 })),
      endOf(app.commit({ id: 3, key: 3, reads: 1, from: 1 })),
      endOf(app.commit({ id: 4, key: 4, reads: 2, from: 2 })),
    ];
    // It stands where they were to stand, and has overtaken the first one.
    app.competitor({ id: 50, key: 1 });
    expect(await Promise.all(ends)).toEqual(["conflict", "committed", "conflict", "committed"]);
    expect(app.ids()).toEqual([[50], [2, 4]]);
  });

  test("is not taken over what another of the process has written meanwhile", async () => {
    const ends = [
      endOf(app.commit({ id: 1, key: 1 })),
      endOf(app.commit({ id: 2, key: 1, reads: 9 })),
      endOf(app.commit({ id: 3, key: 3, reads: 1, from: 1 })),
    ];
    expect(await Promise.all(ends)).toEqual(["committed", "committed", "conflict"]);
    expect(app.ids()).toEqual([[1, 2]]);
  });

  test("is put again with it, as one block, until it is known who stands there", async () => {
    app.fates.push("request-lost", "answer-lost");
    const ends = [
      endOf(app.commit({ id: 1, key: 1 })),
      endOf(app.commit({ id: 2, key: 2, reads: 1, from: 1 })),
    ];
    expect(await Promise.all(ends)).toEqual(["committed", "committed"]);
    expect(app.ids()).toEqual([[1, 2]]);
    expect(app.puts[1]).toEqual(app.puts[0]);
  });
});

describe("goes by the stream", () => {
  test("where too many others append, if it may choose", async () => {
    for (const mode of ["auto", "express"] as const) {
      app = new AppendingLog(mode);
      app.competitors = limits.expressMakersMax;
      for (let n = 50; n < 120; n += 1) app.competitor({ id: n, key: n });
      await app.follower.refresh();
      const way = mode === "auto" ? "by-stream" : "committed";
      expect(await endOf(app.commit({ id: 1, key: 1 }))).toBe(way);
    }
  });

  test("where the store's time is not known", async () => {
    app.nowMicros = undefined;
    expect(await endOf(app.commit({ id: 1, key: 1 }))).toBe("by-stream");
  });

  test("where that turns out before its block is made", async () => {
    const end = endOf(app.commit({ id: 1, key: 1 }));
    app.nowMicros = undefined;
    expect(await end).toBe("by-stream");
    expect(app.puts).toEqual([]);
  });

  test("where the registry has grown old before it is tried again", async () => {
    const end = endOf(app.commit({ id: 1, key: 1 }));
    app.competitor({ id: 50, key: 2 });
    app.tables.areFresh = false;
    expect(await end).toBe("by-stream");
    expect(app.ids()).toEqual([[50]]);
  });

  test("where the tail has begun anew above what its id was checked to", async () => {
    const end = endOf(app.commit({ id: 1, key: 1 }));
    app.competitor({ id: 50, key: 2 });
    app.competitor({ id: 51, key: 2 });
    app.log.expiredThrough = 1;
    app.log.moveWatermark(1);
    await app.follower.refresh();
    expect(await end).toBe("by-stream");
    expect(app.puts).toHaveLength(1);
  });
});

test("who switches the stream stands in nobody's line", async () => {
  const seen = vi.spyOn(app.policy, "saw");
  app.competitor({ id: 50, key: 2 });
  await app.follower.refresh();
  expect(seen).toHaveBeenCalledTimes(1);
  const [block] = app.blocks();
  assert(block !== undefined, "the scene: a block of another");
  const folded = { bytes: 100, awaited: { has: () => false } };
  app.appender.saw({ ...block, maker: { number: provisioningNumber, installed: [] } }, folded);
  expect(seen).toHaveBeenCalledTimes(1);
});

test("who has given up before a block is made is in none", async () => {
  const gaveUp = new AbortController();
  const ends = [
    endOf(app.commit({ id: 1, key: 1 }, { signal: gaveUp.signal })),
    endOf(app.commit({ id: 2, key: 2 })),
  ];
  gaveUp.abort(new Error("enough"));
  expect(await Promise.all(ends)).toEqual(["Error: enough", "committed"]);
  expect(app.ids()).toEqual([[2]]);
  expect(await endOf(app.commit({ id: 3, key: 3 }, { signal: gaveUp.signal }))).toBe(
    "Error: enough",
  );
});
