/**
 * Operations that a body has begun and not waited for: none of them takes effect once what the
 * commit looks at is gathered, since nobody would see to the locks of what they write.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { TransactionClosedError } from "../../../core/errors.ts";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { clientWith } from "./own-ports.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";
import { baseWays } from "./ways.ts";

let cloud: TestCloud;

function amountOf(id: string): number | undefined {
  return cloud.rows(accounts).find((row) => row.id === id)?.amount;
}

/** Does something with the transaction in so long, and nobody waits for that. */
function inAMoment(afterMs: number, act: () => void): Promise<unknown> {
  return cloud.clock
    .sleep(afterMs)
    .then(act)
    .catch((error: unknown) => error);
}

/** What a commit looks at takes two round trips or so. */
const momentsMs = [1, 3, 6, 9, 12, 15, 20];

const holdsA = () =>
  defineBase("holds-a", async (base, pauseMs: number) => {
    await base.step("write", async (tx) => tx.put(accounts, { id: "a", amount: 50 }));
    await cloud.clock.sleep(pauseMs);
    return base.step("read", async (tx) => (await tx.get(accounts, "a"))?.amount ?? null);
  });

describe.each(baseWays)("what a body does not wait for, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({ ...way, tables });
  }, 30_000);

  test("overwrites nothing that an open BASE transaction holds", async () => {
    await cloud.run(async () => {
      const [client, other] = [cloud.createClient("client"), cloud.createClient("other")];
      await openAccounts(client);
      await other.snapshot((s) => s.get(accounts, "e"));
      const { accepted } = await client.base(holdsA(), 3_000, { id: "1" });
      for (const afterMs of momentsMs) {
        let late: Promise<unknown> = Promise.resolve();
        await other.transact(async (tx) => {
          tx.put(accounts, { id: "d", amount: 1 });
          late = inAMoment(afterMs, () => {
            tx.put(accounts, { id: "a", amount: 7 });
          });
          return Promise.resolve();
        });
        expect(await late).toBeInstanceOf(TransactionClosedError);
      }
      expect(await accepted.result()).toBe(50);
    });
  });

  test("is no part of a step that has not locked it, and takes nothing of it back", async () => {
    let late: Promise<unknown>[] = [];
    const step = defineBase("step", async (base, afterMs: number) => {
      await base.step("write", (tx) => {
        tx.put(accounts, { id: "a", amount: 50 });
        late = [
          inAMoment(afterMs, () => {
            tx.put(accounts, { id: "b", amount: 7 });
          }),
          inAMoment(afterMs, () => {
            tx.delete(accounts, "c");
          }),
          inAMoment(afterMs, () => {
            tx.rollback();
          }),
        ];
        return Promise.resolve(null);
      });
      await cloud.clock.sleep(1_000);
      return base.step("end", async (tx) => (await tx.get(accounts, "a"))?.amount ?? null);
    });
    await cloud.run(async () => {
      const [client, reader] = [cloud.createClient("client"), cloud.createClient("reader")];
      await openAccounts(client);
      await client.snapshot((s) => s.get(accounts, "e"));
      for (const afterMs of momentsMs) {
        const id = afterMs.toString();
        const { accepted } = await client.base(step, afterMs, { id });
        for (const each of late) expect(await each).toBeInstanceOf(TransactionClosedError);
        const seen = await reader.snapshot((s) => s.batchGet(accounts, ["b", "c"]));
        expect(seen.map((row) => row?.amount)).toEqual([100, 100]);
        expect(await accepted.result()).toBe(50);
      }
    });
  });
});

test("a snapshot writes nothing, whenever what it has not waited for is looked up", async () => {
  cloud = await createTestCloud({ commit: "express", tables });
  const two = defineBase("two", async (base) => {
    await base.step("write", (tx) => {
      for (const id of ["a", "b"]) tx.put(accounts, { id, amount: 50 });
      return Promise.resolve(null);
    });
    await cloud.clock.sleep(600_000);
  });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    await client.base(two, undefined, { id: "1" });
    await cloud.clock.sleep(1_000);
    let turns = 0;
    let goOn = (): void => undefined;
    const { client: reader } = clientWith(cloud, (ports) => ({
      ...ports,
      versions: {
        ...ports.versions,
        find: async (table, key, at, call) => {
          const found = await ports.versions.find(table, key, at, call);
          if (JSON.stringify(key) === '{"id":{"S":"a"}}') {
            await cloud.clock.sleep(50);
            goOn();
          } else {
            await new Promise<void>((resolve) => {
              goOn = resolve;
            });
            for (let n = 0; n < turns; n += 1) await Promise.resolve();
          }
          return found;
        },
      },
    }));
    for (turns = 0; turns < 80; turns += 1) {
      const seen = await reader.snapshot((s) => {
        const late = s.get(accounts, "b");
        late.catch(() => undefined);
        return s.get(accounts, "a");
      });
      expect(seen?.amount).toBe(100);
      await cloud.clock.sleep(200);
      expect([turns, amountOf("b")]).toEqual([turns, 50]);
    }
  });
});
