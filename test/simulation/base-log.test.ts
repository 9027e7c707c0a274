/** What the judge of BASE transactions says of records as a log may have them. */
import { describe, expect, test } from "vitest";
import type { Item, ShardId, Timestamp, TransactionId } from "../../core/types.ts";
import { headItem, stepItem, type BaseHead, type BaseHeadPhase } from "../../engine/base/record.ts";
import { stateItem } from "../../engine/base/base-state.ts";
import { basesOf, unfinishedBases } from "../../simulation/base/base-log.ts";
import type { LoggedWrite } from "../../simulation/judges/logged-writes.ts";

const table: LoggedWrite["table"] = {
  ...{ name: "records", partitionKey: { name: "pk", type: "S" } },
  sortKey: { name: "sk", type: "S" },
};

function head(phase: BaseHeadPhase, steps = 0): Item {
  const of: BaseHead = {
    ...{ name: "errand", version: 1, input: { NULL: true }, token: undefined, phase, steps },
    ...{ startedMs: 1, lastMs: 1, failures: 0, failure: undefined, result: undefined },
    dependsOn: [],
  };
  const isClosed = phase === "cancelled" || phase === "refused";
  return { ...headItem("errand/1", of), ...(isClosed ? { expiresAt: { N: "9" } } : {}) };
}

const end = { kind: "returned", value: { NULL: true } } as const;
const step = (number: number): Item =>
  stepItem("errand/1", { ...{ number, name: "take", atMs: 1, locks: [] }, end });
const released = stateItem({ base: "errand/1", phase: "released", dependsOn: [] });
const whole = [head("running", 1), step(1), head("ended", 1), released];

/** One commit for each. */
function findingsOf(items: readonly Item[]): readonly string[] {
  const writes = items.map((item, i): LoggedWrite => ({
    ...{ shard: "0" as ShardId, id: i.toString() as TransactionId, table },
    ...{ key: {}, item, timestamp: (i + 1) as Timestamp },
  }));
  return unfinishedBases(basesOf(writes, "records"));
}

describe("of a request it says nothing where it", () => {
  test.each([
    ["is begun, and ends", [head("requested"), ...whole]],
    ["is cancelled", [head("requested"), head("cancelled")]],
    ["is parked before its first step, and cancelled", [head("parked"), head("cancelled")]],
    ["is refused", [head("requested"), head("refused")]],
  ])("%s", (_, items) => {
    expect(findingsOf(items)).toEqual([]);
  });
});

test.each([
  ["is cancelled, and made", [head("requested"), head("cancelled"), ...whole], /has made steps/],
  ["is made, and refused", [head("requested"), ...whole, head("refused")], /has made steps/],
  ["is cancelled twice", [head("cancelled"), head("cancelled")], /cancelled 2 times/],
  ["is left", [head("requested")], /was requested, and nothing has become of it/],
  ["has begun, and is left", [head("requested"), ...whole.slice(0, 2)], /has not ended/],
])("it complains where a request %s", (_, items, complaint) => {
  expect(findingsOf(items).join("\n")).toMatch(complaint);
});
