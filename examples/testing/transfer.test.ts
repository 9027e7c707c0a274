/**
 * How a team tests its own transactions with tidemark/testing: what conflicts, unknown outcomes and
 * faults do to them, in virtual time, without a server. In a project of yours the imports are
 * `tidemark` and `tidemark/testing`.
 */
import { beforeEach, expect, test } from "vitest";
import { CommitUnknownError } from "../../sdk/index.ts";
import { createTestCloud, type FaultPlan, type TestCloud } from "../../testing/index.ts";
import { accounts, transfer } from "./transfer.ts";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ tables: [accounts] });
  cloud.seed(accounts, [
    { id: "ann", balanceCents: 100 },
    { id: "bob", balanceCents: 0 },
  ]);
});

const annPaysBob = { transferId: "t1", source: "ann", target: "bob", amountCents: 60 };

test("moves the money", async () => {
  const db = cloud.createClient();
  expect(await cloud.run(() => transfer(db, annPaysBob))).toBe("done");
  expect(cloud.rows(accounts)).toEqual([
    { id: "ann", balanceCents: 40 },
    { id: "bob", balanceCents: 60 },
  ]);
});

test("moves it once, however often it is asked to", async () => {
  const db = cloud.createClient();
  await cloud.run(() => transfer(db, annPaysBob));
  expect(await cloud.run(() => transfer(db, annPaysBob))).toBe("done");
  expect(cloud.rows(accounts)[0]).toEqual({ id: "ann", balanceCents: 40 });
});

test("goes through when somebody else writes the account meanwhile", async () => {
  const db = cloud.createClient();
  cloud.conflictOn(accounts, "ann", { times: 3 });
  expect(await cloud.run(() => transfer(db, annPaysBob))).toBe("done");
});

test("refuses when the money has gone between its look and its commit", async () => {
  const app = cloud.startProcess("app");
  const other = cloud.createClient("other");
  app.beforeNextCommit(async () => {
    await transfer(other, { ...annPaysBob, transferId: "t2" });
  });
  expect(await cloud.run(() => transfer(app.client, annPaysBob))).toBe("refused");
  expect(cloud.rows(accounts)[0]).toEqual({ id: "ann", balanceCents: 40 });
});

test.each(["committed", "aborted"] as const)(
  "settles an unknown outcome that was %s, and moves the money once",
  async (outcome) => {
    const app = cloud.startProcess("app");
    app.nextCommitUnknown(outcome);
    expect(await cloud.run(() => transfer(app.client, annPaysBob))).toBe("done");
    await cloud.settled();
    expect(cloud.rows(accounts)).toEqual([
      { id: "ann", balanceCents: 40 },
      { id: "bob", balanceCents: 60 },
    ]);
  },
);

test("says that it does not know while the stream takes no records; repeats once", async () => {
  const app = cloud.startProcess("app", { commit: "stream" });
  cloud.refuseCalls("kinesis", 60_000);
  await expect(cloud.run(() => transfer(app.client, annPaysBob))).rejects.toBeInstanceOf(
    CommitUnknownError,
  );
  await cloud.advance(60_000);
  expect(await cloud.run(() => transfer(app.client, annPaysBob))).toBe("done");
  await cloud.settled();
  expect(cloud.rows(accounts)[0]).toEqual({ id: "ann", balanceCents: 40 });
});

const faults: FaultPlan = {
  "answer-lost": 0.02,
  "request-lost": 0.02,
  throttled: 0.05,
  "service-error-after-effect": 0.01,
  "crash-before-call": 0.002,
  "crash-after-call": 0.002,
  "batch-redelivered": 0.1,
  "consumer-overlap": 0.1,
};
const people = ["ann", "bob", "cid"];

test.each(Array.from({ length: 20 }, (_, seed) => seed))(
  "keeps the sum and overdraws nobody, whatever fails (seed %i)",
  async (seed) => {
    const stormy = await createTestCloud({ seed, tables: [accounts], faults });
    stormy.seed(
      accounts,
      people.map((id) => ({ id, balanceCents: 100 })),
    );
    await stormy.run(() => Promise.all(people.map((id) => payAround(stormy, id))));
    stormy.calm();
    await stormy.settled();
    const balances = stormy.rows(accounts).map(({ balanceCents }) => balanceCents);
    expect(balances.reduce((sum, cents) => sum + cents, 0)).toBe(300);
    expect(Math.min(...balances)).toBeGreaterThanOrEqual(0);
  },
);

/** One server, until it has made its transfers or died. */
function payAround(stormy: TestCloud, source: string): Promise<void> {
  const server = stormy.startProcess(source);
  const pay = async (): Promise<void> => {
    for (const [i, target] of [...people, ...people].entries()) {
      if (target === source) continue;
      const order = { transferId: `${source} ${i}`, source, target, amountCents: 45 };
      // Whether it says done, refused or unknown: money must not come or go.
      await transfer(server.client, order).catch(() => undefined);
    }
  };
  const died = new Promise<void>((resolve) => {
    server.onCrash(resolve);
  });
  return Promise.race([pay(), died]);
}
