/** Who begins a BASE transaction, where several do, or where the answer is lost. */
import { beforeEach, describe, expect, test } from "vitest";
import { CommitUnknownError, defineBase } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
}, 30_000);

function rowsFrom(first: string): readonly string[] {
  return cloud
    .rows(accounts)
    .map(({ id }) => id)
    .filter((id) => id.startsWith(first))
    .sort();
}

/** Two steps that say by which input they were made. */
function noteOf(pauseMs: number) {
  return defineBase("note", async (base, by: string) => {
    for (const step of ["one", "two"]) {
      await base.step(step, (tx) => {
        tx.put(accounts, { id: `noted-${base.id}-${step}-${by}`, amount: 0 });
        return Promise.resolve(null);
      });
      await cloud.clock.sleep(pauseMs);
    }
    return by;
  });
}

describe("of those that begin one at once", () => {
  test("one is first, and all steps go by its input; the others are told at once", async () => {
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      const clients = ["x", "y", "z"].map((by) => ({ by, client: cloud.createClient(by) }));
      for (const { client } of clients) await client.snapshot((s) => s.get(accounts, "a"));
      const beganMs = cloud.clock.monotonicMs();
      const begun = await Promise.all(
        clients.map(({ by, client }) => client.base(noteOf(4_000), by, { id: "1" })),
      );
      expect(cloud.clock.monotonicMs() - beganMs).toBeLessThan(3_000);
      expect(begun.filter(({ isNew }) => isNew)).toHaveLength(1);
      // Those with another input are told that theirs does not count.
      expect(begun.map(({ isSame }) => isSame)).toEqual(begun.map(({ isNew }) => isNew));
      const results = await Promise.all(
        begun.map(({ accepted }) => accepted.result({ deadlineMs: 100_000 })),
      );
      expect(new Set(results).size).toBe(1);
      const [by = ""] = results;
      await cloud.settled();
      expect(rowsFrom("noted-1-")).toEqual([`noted-1-one-${by}`, `noted-1-two-${by}`]);
    });
  });

  test("of one process each is told the same", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const [x, y] = await Promise.all([
        client.base(noteOf(1_000), "x", { id: "1" }),
        client.base(noteOf(1_000), "y", { id: "1" }),
      ]);
      expect([x.isNew, y.isNew].filter((isNew) => isNew)).toHaveLength(1);
      expect([x.isSame, y.isSame]).toEqual([x.isNew, y.isNew]);
      const by = await x.accepted.result();
      expect(await y.accepted.result()).toBe(by);
      await cloud.settled();
      expect(rowsFrom("noted-1-")).toEqual([`noted-1-one-${by}`, `noted-1-two-${by}`]);
    });
  });
});

describe("the first step's answer is lost", () => {
  test("and it was made: it is found, and goes on", async () => {
    await cloud.run(async () => {
      const app = cloud.startProcess("app");
      await openAccounts(app.client);
      app.nextCommitUnknown("committed");
      const { accepted, isNew } = await app.client.base(noteOf(100), "x", { id: "1" });
      expect(isNew).toBe(true);
      expect(await accepted.result({ deadlineMs: 100_000 })).toBe("x");
    });
  });

  test("and its caller gives it up: what is told holds", async () => {
    const told = new Set<string>();
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const note = noteOf(0);
      for (let afterMs = 8; afterMs <= 48; afterMs += 1) {
        const id = afterMs.toString();
        const giveUp = new AbortController();
        const begun = client.base(note, "x", { id, signal: giveUp.signal });
        const end = begun.then(
          () => "begun",
          (error: unknown) => (error instanceof CommitUnknownError ? "unknown" : "given up"),
        );
        await cloud.clock.sleep(afterMs);
        giveUp.abort(new Error("given up"));
        const how = await end;
        told.add(how);
        await cloud.clock.sleep(300);
        const status = await client.baseOf(note, id).status();
        if (how === "begun") expect(status).toBeDefined();
        if (how === "given up") expect(status).toBeUndefined();
      }
    });
    expect(told).toContain("given up");
    expect(told).toContain("begun");
    expect(told).toContain("unknown");
  });
});
