/** `nextCommitUnknown`: the client never hears what became of its commit, and asks. */
import { describe, expect, test } from "vitest";
import { CommitUnknownError } from "../../sdk/index.ts";
import { ann, cloudWithAnn, counters, failure, increment, valueOf } from "./counter-cloud.ts";

describe("an unknown outcome that was ordered", () => {
  test("committed: outcome(id) says so, and the row holds it", async () => {
    const cloud = await cloudWithAnn();
    const events: string[] = [];
    const app = cloud.startProcess("app", { onEvent: ({ kind }) => events.push(kind) });
    app.nextCommitUnknown("committed");
    const startMs = app.clock.nowMs();
    const error = await failure(cloud.run(() => increment(app.client, { deadlineMs: 3_000 })));
    expect(error).toBeInstanceOf(CommitUnknownError);
    expect(app.clock.nowMs() - startMs).toBeGreaterThanOrEqual(3_000);
    expect(events.slice(-2)).toEqual(["unknown", "call-failed"]);
    const { transactionId } = error as CommitUnknownError;
    expect(await cloud.run(() => app.client.outcome(transactionId))).toBe("committed");
    await cloud.settled();
    expect(valueOf(cloud)).toBe(2);
    // The client is as good as before.
    expect((await cloud.run(() => increment(app.client))).result).toBe(3);
  });

  test("committed: a put that is refused is not the one that nobody hears of", async () => {
    const cloud = await cloudWithAnn();
    const app = cloud.startProcess("app", { commit: "express" });
    cloud.conflictOn(counters, ann);
    app.nextCommitUnknown("committed");
    const error = await failure(cloud.run(() => increment(app.client, { deadlineMs: 3_000 })));
    const { transactionId } = error as CommitUnknownError;
    expect(await cloud.run(() => app.client.outcome(transactionId))).toBe("committed");
    await cloud.settled();
    expect(valueOf(cloud)).toBe(2);
  });

  test("aborted: outcome(id) says so, and nothing ever comes of it", async () => {
    const cloud = await cloudWithAnn();
    const app = cloud.startProcess("app");
    app.nextCommitUnknown("aborted");
    const error = await failure(cloud.run(() => increment(app.client)));
    expect(error).toBeInstanceOf(CommitUnknownError);
    const { transactionId } = error as CommitUnknownError;
    expect(await cloud.run(() => app.client.outcome(transactionId))).toBe("aborted");
    await cloud.advance(3600_000);
    expect(valueOf(cloud)).toBe(1);
  });

  test.each(["committed", "aborted"] as const)(
    "%s: a repeat under the same idempotency key does the work once",
    async (outcome) => {
      const cloud = await cloudWithAnn();
      const app = cloud.startProcess("app");
      app.nextCommitUnknown(outcome);
      const once = { idempotencyKey: "order-1", deadlineMs: 2_000 };
      const error = await failure(cloud.run(() => increment(app.client, once)));
      expect(error).toBeInstanceOf(CommitUnknownError);
      const { result, receipt } = await cloud.run(() => increment(app.client, once));
      expect({ result, replayed: receipt.replayed }).toEqual({
        result: 2,
        replayed: outcome === "committed",
      });
      await cloud.settled();
      expect(valueOf(cloud)).toBe(2);
    },
  );

  test("strikes commits only: not a question for an outcome, and not what only reads", async () => {
    const cloud = await cloudWithAnn();
    const app = cloud.startProcess("app");
    const { receipt } = await cloud.run(() => increment(app.client));
    app.nextCommitUnknown("aborted");
    await cloud.run(() => app.client.transact((tx) => tx.get(counters, ann)));
    expect(await cloud.run(() => app.client.outcome(receipt.transactionId ?? ""))).toBe(
      "committed",
    );
    const error = await failure(cloud.run(() => increment(app.client, { deadlineMs: 1_000 })));
    expect(error).toBeInstanceOf(CommitUnknownError);
  });
});
