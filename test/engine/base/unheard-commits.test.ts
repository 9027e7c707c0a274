/**
 * Commits of which nobody hears: whoever asked is told that it may have happened, and nobody is
 * told of one that is not his own.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { CommitUnknownError, UnavailableError } from "../../../core/errors.ts";
import { BaseOpenError, defineBase } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { clientWith, refusedCall, unheardClient, type OwnClient } from "./own-ports.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

type Client = ReturnType<TestCloud["createClient"]>;

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
}, 30_000);

const put = (id: string, pauseMs = 0) =>
  defineBase("put", async (base, amount: number) => {
    await base.step("put", async (tx) => tx.put(accounts, { id, amount }));
    await cloud.clock.sleep(pauseMs);
    return amount;
  });

/** Has seen the deployment, and what is open. */
async function warm({ client }: OwnClient): Promise<void> {
  await client.snapshot((s) => s.get(accounts, "e"));
  await client.openBases();
}

/** One that has ended, and that nobody has released: its process is gone. */
async function leaveUnreleased(client: Client): Promise<void> {
  await client.base(put("a", 3_000), 1, { id: "first" });
  const process = cloud.startProcess("gone");
  await process.client.base(put("a"), 2, { id: "second" });
  await cloud.clock.sleep(1_000);
  expect(await client.baseOf(put("a"), "second").status()).toMatchObject({ phase: "ended" });
  process.crash();
  await client.baseOf(put("a"), "first").result();
}

/** Who hears of no commit from here on, and meets one that nobody has released. */
async function behindUnreleased(): Promise<ReturnType<typeof unheardClient>> {
  const client = cloud.createClient("client");
  await openAccounts(client);
  const waiting = unheardClient(cloud);
  await warm(waiting);
  await leaveUnreleased(client);
  waiting.silence();
  return waiting;
}

function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("whoever waits is not told of a commit that is not his:", () => {
  test("of a reservation", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      await client.base(put("a", 100_000), 1, { id: "1" });
      const waiting = unheardClient(cloud);
      await warm(waiting);
      waiting.silence();
      const write = waiting.client.transact({ deadlineMs: 30_000 }, async (tx) => {
        await tx.get(accounts, "a");
        tx.put(accounts, { id: "b", amount: 77 });
      });
      const error = await errorOf(write);
      expect(error).not.toBeInstanceOf(CommitUnknownError);
      expect(error).toMatchObject({ outcome: "aborted" });
    });
    expect(cloud.rows(accounts).find(({ id }) => id === "b")?.amount).toBe(100);
  });

  test("of a release, and goes on once he hears again", async () => {
    await cloud.run(async () => {
      const waiting = await behindUnreleased();
      const write = waiting.client.transact({ deadlineMs: 60_000 }, async (tx) => {
        const row = await tx.get(accounts, "a");
        tx.put(accounts, { id: "a", amount: (row?.amount ?? 0) + 5 });
      });
      const error = errorOf(write);
      await cloud.clock.sleep(25_000);
      waiting.hear();
      expect(await error).toBeUndefined();
    });
    expect(await cloud.settled()).toBe(true);
    expect(cloud.rows(accounts).find(({ id }) => id === "a")?.amount).toBe(7);
  });

  test("of a release, by who waits for a result", async () => {
    await cloud.run(async () => {
      const waiting = await behindUnreleased();
      const result = waiting.client.baseOf(put("a"), "second").result({ deadlineMs: 60_000 });
      const heard = cloud.clock.sleep(25_000).then(() => {
        waiting.hear();
      });
      expect(await errorOf(result)).toBeUndefined();
      await heard;
    });
  });
});

test("a refusal that cannot be recorded is no outcome of what was asked for", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const asking = unheardClient(cloud);
    await warm(asking);
    const refuses = defineBase("put", async (base, _: number) => {
      await base.step("put", () => {
        asking.silence();
        return Promise.reject(new RangeError("not that much"));
      });
    });
    const { requested } = await client.requestBase(refuses, 1, { id: "1" });
    const error = errorOf(asking.client.base(refuses, 1, { id: "1" }));
    await cloud.clock.sleep(21_000);
    asking.hear();
    expect(await error).toMatchObject({ name: "UnavailableError", outcome: "aborted" });
    expect(((await error) as Error).message).toContain("not that much");
    expect(await requested.status()).toMatchObject({ steps: 0 });
  });
});

describe("who may not write", () => {
  const readOnly = (): OwnClient =>
    clientWith(cloud, (ports) => ({
      ...ports,
      log: { ...ports.log, append: refusedCall },
      stream: { ...ports.stream, put: refusedCall },
    }));

  test("waits as others do, and keeps nothing free", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      await client.base(put("a", 3_000), 1, { id: "1" });
      const rows = await readOnly().client.snapshot({ deadlineMs: 20_000 }, async (s) => {
        await s.get(accounts, "a");
        return s.scan(accounts).all();
      });
      expect(rows.find(({ id }) => id === "a")?.amount).toBe(1);
    });
  });

  test("lists what has ended and is not released", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      await leaveUnreleased(client);
      const { client: reader } = readOnly();
      expect(await reader.openBases()).toMatchObject([{ id: "second", isReleased: false }]);
      const read = reader.snapshot({ deadlineMs: 2_000 }, (s) => s.scan(accounts).all());
      expect(await errorOf(read)).toBeInstanceOf(BaseOpenError);
      await client.baseRunner({ handlers: [put("a")], takeOverMs: 100, until: "caught-up" });
      expect(await reader.baseOf(put("a"), "second").result()).toBe(2);
    });
  });
});

describe("whoever gives up is told that it may have happened:", () => {
  const input = { M: { value: { N: "1" } } };
  const of = { name: "put", id: "1" };
  const definition = { name: "put", version: 1 };

  test.each(["requested", "cancelled", "running"] as const)("%s", async (phase) => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      if (phase === "cancelled") await client.requestBase(put("a"), 1, { id: "1" });
      const asking = unheardClient(cloud);
      await warm(asking);
      const base = await asking.engine.base();
      const giveUp = new AbortController();
      const { signal } = giveUp;
      const calls = {
        requested: () => base.request({ ...of, version: 1, input, isChecked: true, signal }),
        cancelled: () => base.cancel(of, { signal }),
        running: () =>
          base.start({
            definition: {
              ...definition,
              silentMsMax: 60_000,
              parkAfterMs: 60_000,
              handler: async (steps) => {
                await steps.step("put", (tx) => {
                  tx.put("accounts", { id: { S: "a" }, amount: { N: "1" } });
                  return Promise.resolve({ NULL: true });
                });
                return { NULL: true };
              },
            },
            ...{ id: "1", input, signal },
          }),
      };
      asking.silence();
      const error = errorOf(calls[phase]());
      // Its own commit's time was up, and the next try is under way.
      await cloud.clock.sleep(24_000);
      giveUp.abort(new UnavailableError("the request's deadline has passed"));
      expect(await error).toMatchObject({ outcome: "unknown" });
      expect(await client.baseOf(put("a"), "1").status()).toMatchObject({ phase });
    });
  });

  test("also where its first step would refuse it by then", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const asking = unheardClient(cloud);
      await warm(asking);
      let runs = 0;
      const once = defineBase("once", async (base) => {
        await base.step("put", (tx) => {
          runs += 1;
          if (runs > 1) throw new RangeError("not again");
          tx.put(accounts, { id: "a", amount: 1 });
          return Promise.resolve(null);
        });
      });
      asking.silence();
      asking.lose();
      const begun = errorOf(asking.client.base(once, undefined, { id: "1" }));
      await cloud.clock.sleep(21_000);
      asking.hear();
      expect(await begun).toBeInstanceOf(CommitUnknownError);
    });
  });
});
