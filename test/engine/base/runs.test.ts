/** How BASE transactions go on: failures of steps, crashes, runners, what is refused. */
import { beforeEach, describe, expect, test } from "vitest";
import {
  defineBase,
  InvalidRequestError,
  StepFailedError,
  UnavailableError,
  type TransactionBody,
} from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { createTables } from "../../../aws/create-tables.ts";
import { registerTables } from "../../../aws/register-tables.ts";
import { registeredTable } from "../../../testing/deployment-options.ts";
import { accounts, openAccounts, tables, transferOf } from "./transfers.ts";

type Client = ReturnType<TestCloud["createClient"]>;
type Order = { readonly account: string; readonly amount: number };

let cloud: TestCloud;

beforeEach(async () => {
  const others = [testTable("plain", { partitionKey: "id" })];
  cloud = await createTestCloud({ commit: "express", tables: [...tables, ...others] });
});

function amountOf(id: string): number | undefined {
  return cloud.rows(accounts).find((row) => row.id === id)?.amount;
}

/** Until nothing is open any more. */
async function untilReleased(client: Client): Promise<void> {
  for (let n = 0; n < 100; n += 1) {
    if ((await client.openBases()).length === 0) return;
    await cloud.clock.sleep(200);
  }
  expect(await client.openBases()).toEqual([]);
}

describe("a step that fails", () => {
  const buy = defineBase("buy", async (base, { account, amount }: Order) => {
    await base.step("note", (tx) => {
      tx.put(accounts, { id: `order-${base.id}`, amount });
      return Promise.resolve(null);
    });
    try {
      await base.step("pay", async (tx) => {
        const row = await tx.get(accounts, account);
        if ((row?.amount ?? 0) < amount) throw new RangeError("too little money");
        tx.put(accounts, { id: account, amount: (row?.amount ?? 0) - amount });
        return null;
      });
    } catch {
      await base.step("take back", (tx) => {
        tx.delete(accounts, `order-${base.id}`);
        return Promise.resolve(null);
      });
      return "refused";
    }
    return "paid";
  });

  test("is told to the handler, which compensates by further steps", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const paid = await client.base(buy, { account: "a", amount: 30 }, { id: "1" });
      expect(await paid.accepted.result()).toBe("paid");
      const refused = await client.base(buy, { account: "a", amount: 90 }, { id: "2" });
      expect(await refused.accepted.result()).toBe("refused");
      await untilReleased(client);
    });
    expect(await cloud.settled()).toBe(true);
    expect(amountOf("a")).toBe(70);
    expect(amountOf("order-1")).toBe(30);
    expect(amountOf("order-2")).toBeUndefined();
  });

  test("before anything is committed leaves nothing behind", async () => {
    const refuse = defineBase("refuse", async (base, _: null) => {
      await base.step("first", () => Promise.reject(new RangeError("not today")));
    });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const begun = client.base(refuse, null, { id: "1" });
      await expect(begun).rejects.toThrow(new RangeError("not today"));
      expect(await client.baseOf(refuse, "1").status()).toBeUndefined();
      expect(await client.openBases()).toEqual([]);
    });
  });

  test("fails again in a later run, whatever its body would do by then", async () => {
    let mayFail = true;
    let runs = 0;
    const flaky = defineBase("flaky", async (base, _: null) => {
      runs += 1;
      await base.step("one", () => Promise.resolve(1));
      const two = await base
        .step("two", () => (mayFail ? Promise.reject(new RangeError("no")) : Promise.resolve(2)))
        .catch((error: unknown) => {
          if (runs === 2) expect(error).toBeInstanceOf(StepFailedError);
          return (error as Error).message;
        });
      await base.step("three", () => Promise.resolve(3));
      if (runs === 1) await cloud.clock.sleep(100_000);
      return two;
    });
    await cloud.run(async () => {
      const process = cloud.startProcess("first");
      await openAccounts(process.client);
      await process.client.base(flaky, null, { id: "1" });
      await cloud.clock.sleep(1_000);
      process.crash();
      mayFail = false;
      const runner = cloud.createClient("runner");
      await runner.baseRunner({ handlers: [flaky], takeOverMs: 500, until: "caught-up" });
      expect(await runner.baseOf(flaky, "1").result()).toBe("no");
    });
    expect(runs).toBe(2);
  });
});

describe("a handler", () => {
  test("that fails again and again is parked, and goes on once it is mended", async () => {
    let isMended = false;
    const broken = defineBase("broken", { parkAfterMs: 300 }, async (base, _: null) => {
      await base.step("one", (tx) => {
        tx.put(accounts, { id: "held", amount: 1 });
        return Promise.resolve(null);
      });
      if (!isMended) throw new TypeError("a bug");
      return "mended";
    });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const { accepted } = await client.base(broken, null, { id: "1" });
      const seen: string[] = [];
      const stop = new AbortController();
      const running = client.baseRunner({
        ...{ handlers: [broken], takeOverMs: 100, pollMs: 100, signal: stop.signal },
        onTrouble: ({ kind }) => seen.push(kind),
      });
      for (let n = 0; n < 200 && !seen.includes("parked"); n += 1) await cloud.clock.sleep(100);
      expect(await accepted.status()).toMatchObject({
        ...{ phase: "parked", failure: "TypeError: a bug", steps: 1 },
      });
      expect(seen).toEqual(["handler-failed", "parked"]);
      await expect(accepted.result({ deadlineMs: 500 })).rejects.toThrow(UnavailableError);
      isMended = true;
      expect(await accepted.resume()).toBe(true);
      expect(await accepted.resume()).toBe(false);
      expect(await accepted.result()).toBe("mended");
      stop.abort();
      await running;
    });
  });

  test("that takes another way than recorded is parked at once", async () => {
    let name = "one way";
    let runs = 0;
    const wayward = defineBase("wayward", async (base, _: null) => {
      runs += 1;
      await base.step(name, () => Promise.resolve(null));
      if (runs === 1) await cloud.clock.sleep(100_000);
    });
    await cloud.run(async () => {
      const process = cloud.startProcess("first");
      await openAccounts(process.client);
      await process.client.base(wayward, null, { id: "1" });
      process.crash();
      name = "another";
      const runner = cloud.createClient("runner");
      await cloud.clock.sleep(1_000);
      await runner.baseRunner({ handlers: [wayward], takeOverMs: 100, until: "caught-up" });
      const status = await runner.baseOf(wayward, "1").status();
      expect(status?.phase).toBe("parked");
      expect(status?.failure).toMatch(/was "one way" when it was first run, and is "another" now/);
    });
  });

  test("of another version is left to who has that one", async () => {
    const transfer = transferOf(cloud, () => 100_000);
    const next = { ...transfer, version: 2 };
    await cloud.run(async () => {
      const process = cloud.startProcess("first");
      await openAccounts(process.client);
      await process.client.base(transfer, { from: "a", to: "b" }, { id: "1" });
      process.crash();
      await cloud.clock.sleep(1_000);
      const runner = cloud.createClient("runner");
      const seen: unknown[] = [];
      const options = { takeOverMs: 100, until: "caught-up" } as const;
      const onTrouble = (trouble: unknown): number => seen.push(trouble);
      await runner.baseRunner({ ...options, handlers: [next], onTrouble });
      expect(seen).toEqual([{ kind: "no-handler", name: "transfer", id: "1", version: 1 }]);
      const quick = transferOf(cloud, () => 0);
      await runner.baseRunner({ ...options, handlers: [next, quick] });
      await untilReleased(runner);
    });
    expect(await cloud.settled()).toBe(true);
    expect([amountOf("a"), amountOf("b")]).toEqual([99, 101]);
  });

  test("is given the same time, numbers and names in every run", async () => {
    const given: unknown[][] = [];
    const draws = defineBase("draws", async (base, _: null) => {
      const own: unknown[] = [];
      given.push(own);
      await base.step("one", () => Promise.resolve(null));
      own.push(base.now().toISOString(), base.random(), base.uuid(), base.uuid());
      if (given.length === 1) await cloud.clock.sleep(100_000);
    });
    await cloud.run(async () => {
      const process = cloud.startProcess("first");
      await openAccounts(process.client);
      await process.client.base(draws, null, { id: "1" });
      process.crash();
      await cloud.clock.sleep(1_000);
      const runner = cloud.createClient("runner");
      await runner.baseRunner({ handlers: [draws], takeOverMs: 100, until: "caught-up" });
    });
    expect(given).toHaveLength(2);
    expect(given[0]).toEqual(given[1]);
    expect(given[0]?.[2]).not.toBe(given[0]?.[3]);
  });
});

describe("two processes at one BASE transaction", () => {
  test("make each step once", async () => {
    const bodies: string[] = [];
    const both = defineBase("both", async (base, _: null) => {
      for (const name of ["one", "two", "three"]) {
        await base.step(name, async (tx) => {
          const row = await tx.get(accounts, "a");
          bodies.push(name);
          tx.put(accounts, { id: "a", amount: (row?.amount ?? 0) + 1 });
          return null;
        });
        await cloud.clock.sleep(300);
      }
    });
    await cloud.run(async () => {
      const [first, second] = [cloud.createClient("first"), cloud.createClient("second")];
      await openAccounts(first);
      const { accepted } = await first.base(both, null, { id: "1" });
      // It is not dead at all.
      await cloud.clock.sleep(150);
      await second.baseRunner({
        handlers: [both],
        takeOverMs: 100,
        until: "caught-up",
        pollMs: 50,
      });
      await accepted.result();
      await untilReleased(first);
    });
    expect(await cloud.settled()).toBe(true);
    expect(amountOf("a")).toBe(103);
    expect(bodies.length).toBeGreaterThanOrEqual(3);
  });
});

describe("what cannot be", () => {
  const begin = (body: TransactionBody<unknown>): Promise<unknown> =>
    cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const bad = defineBase("bad", async (base, _: null) => {
        await base.step("one", body);
      });
      return client.base(bad, null, { id: "1" }).catch((error: unknown) => error);
    });

  test("is refused by the field: a table that takes none, a scan, an id, a name", async () => {
    const plain = { ...accounts, name: "plain" };
    const table = await begin((tx) => {
      tx.put(plain, { id: "x", amount: 1 });
      return Promise.resolve(null);
    });
    expect(table).toMatchObject({ field: "table", code: "invalid-request" });
    expect(() => defineBase("no name", () => Promise.resolve())).toThrow(InvalidRequestError);
    const missing = {} as { readonly id: string };
    const client = cloud.createClient("other");
    const definition = defineBase("none", () => Promise.resolve(null));
    await cloud.run(async () => {
      await expect(client.base(definition, null, missing)).rejects.toMatchObject({
        field: "id",
      });
      const stepless = client.base(definition, null, { id: "1" });
      await expect(stepless).rejects.toMatchObject({ field: "handler" });
      const unknown = client.baseOf(definition, "2").result({ deadlineMs: 100 });
      await expect(unknown).rejects.toMatchObject({ field: "id" });
    });
  });

  test("is a scan within a step", async () => {
    const error = await begin(async (tx) => (await tx.scan(accounts).all()).length);
    expect(error).toMatchObject({ field: "step", code: "invalid-request" });
  });

  test("is snapshot isolation of a transaction that writes beside BASE transactions", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      const write = client.transact({ isolation: "snapshot" }, (tx) => {
        tx.put(accounts, { id: "a", amount: 1 });
        return Promise.resolve();
      });
      await expect(write).rejects.toMatchObject({ field: "isolation" });
    });
  });

  test("is to read, without looking at locks, a table registered for them meanwhile", async () => {
    const empty = await createTestCloud({ commit: "express", tables: [] });
    const { world, deployment } = empty;
    await empty.run(async () => {
      const client = empty.createClient("client");
      const operator = world.startProcess("second-operator", { exact: true });
      const aws = { handles: world.handles(operator, { calm: true }), clock: operator.clock };
      let runs = 0;
      const { result } = await client.transact(async (tx) => {
        runs += 1;
        if (runs === 1) {
          await createTables(aws, tables);
          const { deployment: name } = deployment.options;
          await registerTables({ ...aws, deployment: name }, tables.map(registeredTable));
          // By this one the client learns of the table.
          await client.transact((other) => other.get(accounts, "a"));
        }
        return (await tx.get(accounts, "a")) ?? null;
      });
      expect([result, runs]).toEqual([null, 2]);
    });
  });
});
