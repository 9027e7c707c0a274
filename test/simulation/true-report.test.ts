/**
 * A true report of a commit of one's own, which was never installed, leaves out nothing of others:
 * not the acknowledged commit of a client that died, which the reported one overwrites.
 */
import { expect, test } from "vitest";
import type { Timestamp, TransactionId } from "../../core/types.ts";
import { CommitUnknownError, defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";
import { blindCommit, produce, putOf, sealedAt } from "./producer.ts";

const counters = defineTable<{ readonly value: number }, { readonly id: string }>("counters", {
  key: "id",
});
/** Decisions on the records of one millisecond. */
const guesses = [0, 1, 2, 3];

/** A client commits 100 over 80 and dies before it installs. Gives the commit's timestamp. */
async function commitAndDie(cloud: TestCloud): Promise<number> {
  const victim = cloud.startProcess("victim");
  victim.nextCommitUnknown("committed");
  const error = await victim.client
    .transact({ deadlineMs: 3_000 }, (tx) => {
      tx.put(counters, { id: "ann", value: 100 });
      return Promise.resolve();
    })
    .then(() => undefined)
    .catch((each: unknown) => each);
  victim.crash();
  if (!(error instanceof CommitUnknownError)) throw new Error("the scene: an open outcome");
  const id: TransactionId = error.transactionId;
  expect(await cloud.createClient("asker").outcome(id)).toBe("committed");
  return (cloud.deployment.records().at(-1)?.arrivalMs ?? 0) * 1_000;
}

/** Somebody commits 666 over it, and says truly whose that is, and falsely that it is installed. */
function overwriteAndReport(cloud: TestCloud, newest: number, history: boolean): void {
  const table = { name: "counters", partitionKey: "id", history };
  const put = putOf(table, ["id"], { id: { S: "ann" }, value: { N: "666" } });
  const mine = sealedAt(newest - 1_000_000);
  const arrivalMs = produce(cloud, [blindCommit(mine.id, newest, put)]);
  const reports = guesses.map((more) => ({
    timestamp: (arrivalMs * 1_000 + more) as Timestamp,
    proof: mine.proof,
  }));
  produce(cloud, [blindCommit(sealedAt(newest - 1_000_000).id, 0, put)], reports);
}

test.each([true, false])("history %s: the overwritten commit is not undone", async (history) => {
  const tables = [testTable("counters", { partitionKey: "id", history })];
  const cloud = await createTestCloud({ tables, commit: "stream" });
  const { now, then } = await cloud.run(async () => {
    const reader = cloud.createClient("reader");
    await reader.transact((tx) => {
      tx.put(counters, { id: "ann", value: 80 });
      return Promise.resolve();
    });
    await cloud.clock.sleep(2_000);
    await cloud.settled();
    cloud.pauseReplay();
    const timestamp = await commitAndDie(cloud);
    expect(cloud.rows(counters)).toEqual([{ id: "ann", value: 80 }]);
    overwriteAndReport(cloud, timestamp, history);
    await cloud.clock.sleep(3_000);
    cloud.resumeReplay();
    await cloud.clock.sleep(5_000);
    await cloud.settled();
    await cloud.clock.sleep(2_000);
    const seen = (asOf?: number): Promise<unknown> =>
      reader
        .snapshot(asOf === undefined ? {} : { asOf: asOf as Timestamp }, (tx) =>
          tx.get(counters, { id: "ann" }),
        )
        .catch((error: unknown) => error);
    return { now: await seen(), then: await seen(timestamp + 500) };
  });
  expect(now).toEqual({ id: "ann", value: 666 });
  // What it was between the two is kept where there is history; elsewhere nobody is told a lie.
  if (history) expect(then).toEqual({ id: "ann", value: 100 });
  else expect(then).toMatchObject({ name: "SnapshotTooOldError" });
});
