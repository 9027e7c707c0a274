/** What the judge of reservations says of locks as a log may have them. */
import { describe, expect, test } from "vitest";
import type { Item, ShardId, Timestamp, TransactionId } from "../../core/types.ts";
import { headItem, stepItem, type BaseHead } from "../../engine/base/record.ts";
import { writeLockItem, type Reservation } from "../../engine/base/saline-locks.ts";
import { ReservationJudge } from "../../simulation/base/reservation-judge.ts";
import type { LoggedWrite } from "../../simulation/judges/logged-writes.ts";

const place = { partition: "p", sort: "-" };
const nothing = { by: "", untilMs: 0 };

function lock(reservation: Reservation, holders: readonly string[] = []): Item {
  const holds = holders.map((base) => ({ base, before: 1 as Timestamp }));
  return writeLockItem(place, { table: "t", key: {}, holds, reservation });
}

/** The commit of a first step. @param waitedMs for which it was at it. */
function begins(base: string, { waitedMs }: { readonly waitedMs: number }): readonly Item[] {
  const head: BaseHead = {
    ...{ name: "put", version: 1, input: { NULL: true }, token: undefined, steps: 1 },
    ...{ phase: "running", startedMs: 0, lastMs: waitedMs, failures: 0, failure: undefined },
    ...{ result: undefined, dependsOn: [] },
  };
  const end = { kind: "returned", value: { NULL: true } } as const;
  const step = { number: 1, name: "put", atMs: waitedMs, locks: [], end };
  return [headItem(base, head), stepItem(base, step)];
}

type Commit = { readonly atMs: number; readonly items: readonly Item[] };

function findingsOf(commits: readonly Commit[]): readonly string[] {
  const judge = new ReservationJudge();
  const table: LoggedWrite["table"] = { name: "r", partitionKey: { name: "pk", type: "S" } };
  const writes = commits.flatMap(({ atMs, items }, i): readonly LoggedWrite[] => {
    const id = i.toString() as TransactionId;
    judge.stands({ verdicts: [{ kind: "committed", id }] }, atMs);
    return items.map((item) => {
      const { pk = { S: "" }, sk = { S: "" } } = item;
      const [shard, timestamp] = ["0" as ShardId, (i + 1) as Timestamp];
      return { shard, id, table, key: { pk, sk }, item, timestamp };
    });
  });
  judge.read(writes);
  return judge.findings;
}

const kept = (atMs: number, by = "a"): Commit => ({
  atMs,
  items: [lock({ by, untilMs: atMs + 1_000 })],
});
const begun = (atMs: number, waitedMs = 0): Commit => ({
  atMs,
  items: [...begins("put/1", { waitedMs }), lock({ by: "a", untilMs: 1_000 }, ["put/1"])],
});

describe("it complains where what is kept free", () => {
  test.each([
    ["is begun with at once", [kept(0), begun(499)], /for 499 ms, and put\/1 began with it/],
    ["is begun with once it is renewed", [kept(0), kept(900), begun(1_000)], /for 100 ms, and put/],
    ["is kept free by another one then", [kept(0), kept(300, "b")], /for 300 ms, then by b/],
  ])("%s", (_, commits, complaint) => {
    expect(findingsOf(commits).join("\n")).toMatch(complaint);
  });
});

describe("it says nothing where", () => {
  const later = { atMs: 100, items: [lock({ by: "a", untilMs: 1_000 }, ["put/0"])] };
  test.each([
    ["it is renewed", [kept(0), kept(400)]],
    ["a later step writes there", [kept(0), later]],
    ["it stood unchanged for long", [kept(0), begun(600)]],
    ["somebody else puts the lock, and it stands unchanged", [kept(0), later, begun(600)]],
    ["who waits is through", [kept(0), { atMs: 100, items: [lock(nothing)] }, begun(200)]],
    ["the first step has waited long for all", [kept(0), begun(100, 17_000)]],
    [
      "it was kept free for long",
      [0, 900, 1_800, 2_700, 3_600].map((at) => kept(at)).concat(begun(4_050)),
    ],
  ])("%s", (_, commits) => {
    expect(findingsOf(commits)).toEqual([]);
  });
});
