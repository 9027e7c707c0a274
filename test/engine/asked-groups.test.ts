/**
 * I3 for transactions that are certified as one: whoever has joined knows the id before it is sent,
 * may give up, and ask for its outcome. What is settled as aborted then never commits.
 */
import { describe, expect, test } from "vitest";
import { CommitUnknownError } from "../../core/errors.ts";
import type { TransactionId } from "../../core/types.ts";
import { type HeldProcess, heldProcess } from "./held-process.ts";

const patient = { deadlineMs: 60_000, ack: "certified" } as const;

/** One commit whose request is held up, and a group behind it. Its second member has given up. */
async function abandonedGroup(app: HeldProcess) {
  const { sleep } = app.cloud.clock;
  app.holdNextPut();
  const first = app.increment("a", patient);
  await app.heldPut;
  const waiting = app.increment("a", patient);
  await sleep(100);
  const error: unknown = await app.increment("a", { deadlineMs: 500 }).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(CommitUnknownError);
  return { first, waiting, id: (error as CommitUnknownError).transactionId };
}

/** Decisions of others, for longer than the oracle remembers ids; the process looks on. */
async function trafficOf(app: HeldProcess, seconds: number): Promise<void> {
  const other = app.cloud.createClient("other");
  for (let passed = 0; passed < seconds; passed += 2) {
    await other.transact((tx) => {
      tx.put(app.items, { id: "z", n: passed });
      return Promise.resolve();
    });
    await app.cloud.clock.sleep(2_000);
    await lookOn(app);
  }
}

/** The process reads on, and its tail lets go of what nobody needs. */
async function lookOn(app: HeldProcess): Promise<void> {
  await app.engine.snapshot({}, (snapshot) => app.numberOf(snapshot, "z"));
}

function idsOf(app: HeldProcess): Set<TransactionId | undefined> {
  const committed = app.events.filter((event) => event.kind === "committed");
  return new Set(committed.map(({ receipt }) => receipt.transactionId));
}

describe("an open group whose outcome was asked for", () => {
  test("fails its members, who run again under another id", async () => {
    const app = await heldProcess();
    await app.cloud.run(async () => {
      const { first, waiting, id } = await abandonedGroup(app);
      expect(await app.engine.outcome(id)).toEqual({ kind: "aborted" });
      await app.cloud.clock.sleep(100);
      // The group has ended; what it waited for has not.
      const aborted = app.events.filter(({ kind }) => kind === "attempt-aborted");
      expect(aborted).toMatchObject([{ reason: "unavailable" }]);
      app.releasePut();
      await Promise.all([first, waiting]);
      expect(idsOf(app)).not.toContain(id);
      expect(await app.engine.outcome(id)).toEqual({ kind: "aborted" });
    });
    await app.cloud.settled();
    expect(app.rows()).toMatchObject({ a: 2 });
  });

  test.each([
    ["its tail is fresh", { freshMs: 0, isSlow: false }],
    ["calls are slow", { freshMs: undefined, isSlow: true }],
  ])("never commits, however late it is sent, where %s", async (_what, { freshMs, isSlow }) => {
    const app = await heldProcess(freshMs === undefined ? {} : { freshMs });
    await app.cloud.run(async () => {
      const { first, waiting, id } = await abandonedGroup(app);
      expect(await app.engine.outcome(id)).toEqual({ kind: "aborted" });
      await trafficOf(app, 14);
      const late = app.increment("a", patient);
      await app.cloud.clock.sleep(300);
      await lookOn(app);
      if (isSlow) app.cloud.slowCalls("dynamodb", 10_000, { factor: 60 });
      app.releasePut();
      await Promise.all([first, waiting, late]);
      expect(idsOf(app)).not.toContain(id);
      expect(await app.engine.outcome(id)).toEqual({ kind: "aborted" });
    });
    await app.cloud.settled();
    expect(app.rows()).toMatchObject({ a: 3 });
  });
});
