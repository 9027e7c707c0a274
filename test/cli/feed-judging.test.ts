/** When a consumer of changes is well, to be looked at, and ill. */
import { expect, test } from "vitest";
import { feedFindings, feedHealth } from "../../inspection/feed-checks.ts";
import type { SeenFeed } from "../../inspection/feeds.ts";
import * as limits from "../../inspection/limits.ts";
import * as productLimits from "../../core/limits.ts";
import type { Timestamp } from "../../core/types.ts";

const nowMs = 1_800_000_000_000;
const at = (agoMs: number): Timestamp => ((nowMs - agoMs) * 1_000) as Timestamp;

type Wish = { readonly behindMs?: number; readonly failures?: number; readonly expired?: boolean };

function feed({ behindMs = 0, failures = 0, expired = false }: Wish, name = "search"): SeenFeed {
  const oldest = behindMs === 0 ? undefined : at(behindMs);
  return {
    ...{ name, position: { timestamp: at(behindMs + 1) }, positionText: "1", damage: undefined },
    ...{ holder: undefined, heldUntilMs: 0, heardMs: nowMs, turn: 7 },
    notes: {
      ...{ tables: undefined, tablesMore: 0, movedMs: nowMs, failures },
      failure: failures === 0 ? undefined : { text: "Error: x", atMs: nowMs },
    },
    lag: { blocks: oldest === undefined ? 0 : 3, oldest, isExpired: expired, shards: [] },
  };
}

const { feedBehindWarningMs: warningMs, feedBehindBadMs: badMs } = limits;

test.each([
  [{}, "fine"],
  [{ behindMs: warningMs - 1 }, "fine"],
  [{ behindMs: warningMs }, "warning"],
  [{ behindMs: warningMs + 1 }, "warning"],
  [{ failures: 1 }, "warning"],
  [{ failures: 1, behindMs: warningMs - 1 }, "warning"],
  [{ failures: 1, behindMs: warningMs }, "bad"],
  [{ behindMs: badMs - 1 }, "warning"],
  [{ behindMs: badMs }, "bad"],
  [{ expired: true }, "bad"],
] as const)("%j is %s", (wish, level) => {
  expect(feedHealth(feed(wish), nowMs).level).toBe(level);
});

test("it is called ill before a stream of a day lets go of what it has not come to", () => {
  expect(badMs).toBeLessThan(24 * 3_600_000);
  expect(badMs).toBeLessThan(productLimits.logRetentionSeconds * 1_000);
  expect(warningMs).toBeLessThan(badMs);
});

test("the worst is named, with what to do about it; others are counted", () => {
  const found = (...feeds: readonly SeenFeed[]) =>
    feedFindings({ feeds, isCut: false, removed: [] }, nowMs);
  expect(found()).toEqual([]);
  expect(found(feed({}), feed({ behindMs: 2_000 }))).toEqual([
    { level: "fine", about: "feeds", text: "2 feeds, at most 2.0 s behind" },
  ]);
  const late = feed({ behindMs: 13 * 3_600_000 }, "late");
  expect(found(feed({ failures: 1 }), late, feed({ expired: true }))).toEqual([
    {
      ...{ level: "bad", about: "feeds" },
      text: "3 feeds: late is behind by 13 h; and 1 more like it",
      remedy:
        "nobody is at it: look whether its consumer runs; log and stream let go of what it has " +
        "not come to (docs/operations.md, Feeds)",
    },
  ]);
  expect(found(feed({ expired: true }))).toMatchObject([
    { remedy: expect.stringContaining("`tidemark feeds reset search --to beginning`") as string },
  ]);
  expect(found(feed({ failures: 2, behindMs: warningMs }))).toMatchObject([
    {
      text: "1 feed: search has failed 2 times in a row, is behind by 5 min",
      remedy: "`tidemark feeds show search` has the error: put its handler right where it runs",
    },
  ]);
  expect(feedFindings("denied", nowMs)).toMatchObject([{ level: "unknown" }]);
});
