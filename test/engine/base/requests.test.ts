/** BASE transactions that are asked for where their handler is not: begun, refused, cancelled. */
import { beforeEach, describe, expect, test } from "vitest";
import {
  BaseRefusedError,
  defineBase,
  InvalidRequestError,
  UnavailableError,
  type BaseStatus,
} from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { clientWith } from "./own-ports.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

type Client = ReturnType<TestCloud["createClient"]>;
type Withdrawal = { readonly account: string; readonly amount: number };

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
}, 30_000);

/** Takes money, and then makes a note of it. */
const withdraw = defineBase("withdraw", async (base, { account, amount }: Withdrawal) => {
  await base.step("take", async (tx) => {
    const row = await tx.get(accounts, account);
    if ((row?.amount ?? 0) < amount) throw new RangeError("too little money");
    tx.put(accounts, { id: account, amount: (row?.amount ?? 0) - amount });
    return null;
  });
  await base.step("note", (tx) => {
    tx.put(accounts, { id: `noted-${base.id}`, amount });
    return Promise.resolve(null);
  });
  return amount;
});

function amountOf(id: string): number | undefined {
  return cloud.rows(accounts).find((row) => row.id === id)?.amount;
}

/** A runner, until it is stopped. */
function running(handlers: readonly (typeof withdraw)[], client = cloud.createClient("runner")) {
  const stop = new AbortController();
  const over = client.baseRunner({ handlers, takeOverMs: 2_000, pollMs: 100, signal: stop.signal });
  return async (): Promise<void> => {
    stop.abort();
    await over;
  };
}

const caughtUp = { takeOverMs: 100, pollMs: 50, until: "caught-up" } as const;
const statusOf = (client: Client, id: string): Promise<BaseStatus | undefined> =>
  client.baseOf(withdraw, id).status();

describe("one that is requested", () => {
  test("holds nothing and has done nothing, until a runner begins it", async () => {
    await cloud.run(async () => {
      const [asking, runner] = [cloud.createClient("asking"), cloud.createClient("runner")];
      await openAccounts(asking);
      const input = { account: "a", amount: 30 };
      const { requested, isNew } = await asking.requestBase(withdraw, input, { id: "1" });
      expect(isNew).toBe(true);
      expect(await requested.status()).toMatchObject({
        ...{ phase: "requested", steps: 0, isReleased: false, lastMs: 0, failures: 0 },
      });
      expect(await asking.openBases()).toMatchObject([{ id: "1", phase: "requested" }]);
      await asking.transact(async (tx) => {
        const row = await tx.get(accounts, "a");
        expect(row?.amount).toBe(100);
        tx.put(accounts, { id: "a", amount: 90 });
      });
      await expect(requested.result({ deadlineMs: 100 })).rejects.toThrow(
        /waits for a runner after 100 ms; it was requested at .* and has not begun/,
      );
      await runner.baseRunner({ handlers: [withdraw], ...caughtUp });
      expect(await requested.result()).toBe(30);
      expect(await requested.status()).toMatchObject({ phase: "ended", isReleased: true });
      expect(await asking.openBases()).toEqual([]);
    });
    expect(await cloud.settled()).toBe(true);
    expect([amountOf("a"), amountOf("noted-1")]).toEqual([60, 30]);
  });

  test("is begun at once by a runner that looks", async () => {
    await cloud.run(async () => {
      const asking = cloud.createClient("asking");
      await openAccounts(asking);
      const stop = running([withdraw]);
      await cloud.clock.sleep(1_000);
      const input = { account: "a", amount: 1 };
      const askedMs = cloud.clock.monotonicMs();
      const { requested } = await asking.requestBase(withdraw, input, { id: "1" });
      expect(await requested.result()).toBe(1);
      expect(cloud.clock.monotonicMs() - askedMs).toBeLessThan(3_000);
      await stop();
    });
  });

  test("is found again; the first input counts, and the other is told", async () => {
    await cloud.run(async () => {
      const clients = ["x", "y", "z"].map((name) => cloud.createClient(name));
      const [client] = clients as [Client];
      await openAccounts(client);
      const asked = await Promise.all(
        clients.map((each, at) =>
          each.requestBase(withdraw, { account: "a", amount: at + 1 }, { id: "1" }),
        ),
      );
      expect(asked.filter(({ isNew }) => isNew)).toHaveLength(1);
      expect(asked.filter(({ isSame }) => isSame)).toHaveLength(1);
      const first = asked.findIndex(({ isNew }) => isNew);
      expect(asked[first]?.isSame).toBe(true);
      const input = { account: "a", amount: first + 1 };
      const again = await client.requestBase(withdraw, input, { id: "1" });
      expect(again).toMatchObject({ isNew: false, isSame: true });
      await client.baseRunner({ handlers: [withdraw], ...caughtUp });
      expect(await again.requested.result()).toBe(first + 1);
      const late = await client.requestBase(withdraw, input, { id: "1" });
      expect(late).toMatchObject({ isNew: false, isSame: true });
      expect(await late.requested.result()).toBe(first + 1);
    });
    expect(await cloud.settled()).toBe(true);
    expect(amountOf("a")).toBeGreaterThanOrEqual(97);
  });

  test("is begun once by several runners, and by who begins it itself", async () => {
    await cloud.run(async () => {
      const asking = cloud.createClient("asking");
      await openAccounts(asking);
      const input = { account: "a", amount: 10 };
      const stops = ["r1", "r2", "r3"].map((name) => running([withdraw], cloud.createClient(name)));
      const { requested } = await asking.requestBase(withdraw, input, { id: "1" });
      const own = await asking.base(withdraw, { account: "a", amount: 50 }, { id: "1" });
      expect(own.isNew).toBe(false);
      expect(await own.accepted.result()).toBe(10);
      expect(await requested.result()).toBe(10);
      for (const stop of stops) await stop();
    });
    expect(await cloud.settled()).toBe(true);
    expect(amountOf("a")).toBe(90);
  });

  test("is taken up again where its runner has died before its first step", async () => {
    let hangs = true;
    const slow = defineBase("withdraw", async (base, input: Withdrawal) => {
      if (hangs) await cloud.clock.sleep(1_000_000);
      return withdraw.handler(base, input);
    });
    await cloud.run(async () => {
      const asking = cloud.createClient("asking");
      await openAccounts(asking);
      await asking.requestBase(withdraw, { account: "a", amount: 5 }, { id: "1" });
      const process = cloud.startProcess("first runner");
      running([slow], process.client);
      await cloud.clock.sleep(1_500);
      expect(await statusOf(asking, "1")).toMatchObject({ phase: "requested", steps: 0 });
      process.crash();
      hangs = false;
      await cloud.createClient("second").baseRunner({ handlers: [slow], ...caughtUp });
      expect(await asking.baseOf(withdraw, "1").result()).toBe(5);
    });
    expect(await cloud.settled()).toBe(true);
    expect(amountOf("a")).toBe(95);
  });
});

describe("a first step that refuses", () => {
  test("ends it: whoever looks is told why, and asks in vain again", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const input = { account: "a", amount: 1_000 };
      const { requested } = await client.requestBase(withdraw, input, { id: "1" });
      await client.baseRunner({ handlers: [withdraw], ...caughtUp });
      const refusal = { step: "take", name: "RangeError", message: "too little money" };
      expect(await requested.status()).toMatchObject({
        ...{ phase: "refused", refusal, steps: 0, failure: "RangeError: too little money" },
      });
      const told = await requested.result().catch((error: unknown) => error);
      expect(told).toBeInstanceOf(BaseRefusedError);
      expect(told).toMatchObject({ code: "base-refused", retryable: false, refusal });
      expect(await client.openBases()).toEqual([]);
      const again = await client.requestBase(withdraw, input, { id: "1" });
      expect(again).toMatchObject({ isNew: false, isSame: true });
      const own = client.base(withdraw, { account: "a", amount: 1 }, { id: "1" });
      await expect(own).rejects.toBeInstanceOf(BaseRefusedError);
      expect(await requested.cancel()).toBe(true);
      expect((await requested.status())?.phase).toBe("refused");
    });
    expect(await cloud.settled()).toBe(true);
    expect(amountOf("a")).toBe(100);
  });

  test("refuses nothing that another runner has begun meanwhile", async () => {
    let isRefused = false;
    const gate = { open: (): void => undefined };
    const begun = new Promise<void>((resolve) => {
      gate.open = resolve;
    });
    // Its refusal is long on its way.
    const slow = clientWith(cloud, (ports) => {
      const { log } = ports;
      const append: typeof log.append = async (...block) => {
        if (isRefused) await begun;
        if (log.append === undefined) throw new Error("it appends blocks of its own");
        return log.append(...block);
      };
      return { ...ports, log: { ...log, append } };
    });
    const refusing = defineBase("withdraw", async (base, _: Withdrawal) => {
      await base.step("take", () => {
        isRefused = true;
        throw new RangeError("too little money");
      });
      return 0;
    });
    await cloud.run(async () => {
      const asking = cloud.createClient("asking");
      await openAccounts(asking);
      const { requested } = await asking.requestBase(
        withdraw,
        { account: "a", amount: 30 },
        { id: "1" },
      );
      const refused = slow.client.baseRunner({ handlers: [refusing], ...caughtUp });
      while (!isRefused) await cloud.clock.sleep(10);
      const stop = running([withdraw]);
      while ((await requested.status())?.phase === "requested") await cloud.clock.sleep(10);
      gate.open();
      await refused;
      expect(await requested.result()).toBe(30);
      expect(await requested.status()).toMatchObject({ phase: "ended", refusal: undefined });
      await stop();
    });
    expect(await cloud.settled()).toBe(true);
    expect([amountOf("a"), amountOf("noted-1")]).toEqual([70, 30]);
  });

  test("is thrown to who begins it itself, and recorded as well", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const input = { account: "a", amount: 1_000 };
      await client.requestBase(withdraw, input, { id: "1" });
      const own = client.base(withdraw, { account: "a", amount: 1 }, { id: "1" });
      await expect(own).rejects.toThrow(new RangeError("too little money"));
      expect((await statusOf(client, "1"))?.phase).toBe("refused");
    });
  });

  test("is told also where its handler makes something else of the error", async () => {
    const hiding = defineBase("withdraw", async (base, input: Withdrawal) => {
      await withdraw.handler(base, input).catch(() => undefined);
      return 0;
    });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      await client.requestBase(withdraw, { account: "a", amount: 1_000 }, { id: "1" });
      await client.baseRunner({ handlers: [hiding], ...caughtUp });
      expect(await statusOf(client, "1")).toMatchObject({
        ...{ phase: "refused", refusal: { step: "take", name: "RangeError" } },
      });
    });
  });
});

describe("to cancel one", () => {
  test("that waits is for good, whatever comes later", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const input = { account: "a", amount: 10 };
      const { requested } = await client.requestBase(withdraw, input, { id: "1" });
      expect(await requested.cancel()).toBe(true);
      expect(await requested.cancel()).toBe(true);
      expect(await client.openBases()).toEqual([]);
      const late = await client.requestBase(withdraw, input, { id: "1" });
      expect(late.isNew).toBe(false);
      await client.baseRunner({ handlers: [withdraw], ...caughtUp });
      expect((await requested.status())?.phase).toBe("cancelled");
      await expect(requested.result()).rejects.toMatchObject({
        ...{ code: "base-refused", refusal: undefined },
      });
      await expect(client.base(withdraw, input, { id: "1" })).rejects.toThrow(/was cancelled/);
    });
    expect(await cloud.settled()).toBe(true);
    expect(amountOf("a")).toBe(100);
  });

  test("that has begun, or that is none, changes nothing", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const { accepted } = await client.base(withdraw, { account: "a", amount: 1 }, { id: "1" });
      expect(await accepted.cancel()).toBe(false);
      expect(await accepted.result()).toBe(1);
      expect(await client.baseOf(withdraw, "2").cancel()).toBe(false);
      expect(await statusOf(client, "2")).toBeUndefined();
    });
  });

  test("races with runners: it is either done once, or not at all, as is told", async () => {
    const told: boolean[] = [];
    await cloud.run(async () => {
      const asking = cloud.createClient("asking");
      await openAccounts(asking);
      const stops = ["r1", "r2"].map((name) => running([withdraw], cloud.createClient(name)));
      for (let n = 0; n < 12; n += 1) {
        const input = { account: "b", amount: 1 };
        const { requested } = await asking.requestBase(withdraw, input, { id: `n${n}` });
        await cloud.clock.sleep(n * 20);
        told.push(await requested.cancel());
        if (told.at(-1) === false) expect(await requested.result()).toBe(1);
      }
      for (const stop of stops) await stop();
    });
    expect(await cloud.settled()).toBe(true);
    const done = told.filter((isCancelled) => !isCancelled).length;
    expect(amountOf("b")).toBe(100 - done);
    expect(new Set(told).size).toBe(2);
  });
});

describe("a handler that fails before its first step", () => {
  test("is tried again and parked; then it can be cancelled, or let go on", async () => {
    let isMended = false;
    let runs = 0;
    const broken = defineBase("withdraw", { parkAfterMs: 300 }, async (base, input: Withdrawal) => {
      runs += 1;
      if (!isMended) throw new TypeError("fetch failed");
      return withdraw.handler(base, input);
    });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      for (const id of ["1", "2", "3"]) {
        await client.requestBase(withdraw, { account: "a", amount: 1 }, { id });
      }
      const options = { handlers: [broken], ...caughtUp };
      await client.baseRunner(options);
      expect(runs).toBe(30);
      expect(await statusOf(client, "1")).toMatchObject({
        ...{ phase: "parked", steps: 0, failures: 10, failure: "TypeError: fetch failed" },
      });
      await expect(client.baseOf(withdraw, "1").result({ deadlineMs: 100 })).rejects.toThrow(
        UnavailableError,
      );
      expect(await client.baseOf(withdraw, "1").cancel()).toBe(true);
      isMended = true;
      expect(await client.baseOf(withdraw, "2").resume()).toBe(true);
      await client.baseRunner(options);
      expect(await client.baseOf(withdraw, "2").result()).toBe(1);
      const own = await client.base(broken, { account: "a", amount: 7 }, { id: "3" });
      expect(await own.accepted.result()).toBe(1);
    });
    expect(await cloud.settled()).toBe(true);
    expect(amountOf("a")).toBe(98);
  });

  test("is refused where it returns without a step", async () => {
    const stepless = defineBase("withdraw", (_, input: Withdrawal) =>
      Promise.resolve(input.amount),
    );
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      await client.requestBase(withdraw, { account: "a", amount: 1 }, { id: "1" });
      await client.baseRunner({ handlers: [stepless], ...caughtUp });
      expect(await statusOf(client, "1")).toMatchObject({
        ...{ phase: "refused", refusal: { step: undefined, name: "InvalidRequestError" } },
      });
    });
  });
});

test("one of another version waits for who has that one, and is told so", async () => {
  const next = { ...withdraw, version: 2 };
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const input = { account: "a", amount: 1 };
    await client.requestBase(withdraw, input, { id: "1" });
    expect(await client.requestBase(next, input, { id: "1" })).toMatchObject({ isSame: false });
    const seen: unknown[] = [];
    const onTrouble = (trouble: unknown): number => seen.push(trouble);
    await client.baseRunner({ handlers: [next], ...caughtUp, onTrouble });
    expect(seen).toEqual([{ kind: "no-handler", name: "withdraw", id: "1", version: 1 }]);
    await expect(client.base(next, input, { id: "1" })).rejects.toMatchObject({ field: "version" });
    await client.baseRunner({ handlers: [next, withdraw], ...caughtUp });
    expect(await client.baseOf(withdraw, "1").result()).toBe(1);
  });
});

test("what cannot be is refused by its field, and nothing is recorded", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const input = { account: "a".repeat(70_000), amount: 1 };
    const large = client.requestBase(withdraw, input, { id: "1" });
    await expect(large).rejects.toMatchObject({ field: "input" });
    const small = { account: "a", amount: 1 };
    const nameless = client.requestBase(withdraw, small, {} as { readonly id: string });
    await expect(nameless).rejects.toBeInstanceOf(InvalidRequestError);
    const endless = client.requestBase(withdraw, small, { id: "x".repeat(257) });
    await expect(endless).rejects.toMatchObject({ field: "id" });
    expect(await client.openBases()).toEqual([]);
  });
});

test("of many that wait some are looked at: those that have begun, then the oldest", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    for (const id of ["1", "2", "3"]) {
      await client.requestBase(withdraw, { account: "a", amount: 1 }, { id });
      await cloud.clock.sleep(10);
    }
    const slow = defineBase("slow", async (base) => {
      await base.step("take", async (tx) => tx.put(accounts, { id: "b", amount: 1 }));
      await cloud.clock.sleep(1_000);
    });
    await client.base(slow, undefined, { id: "begun" });
    const asking = await clientWith(cloud, (ports) => ports).engine.base();
    const idsOf = async (options: Parameters<typeof asking.list>[0]) => {
      const { all, bases } = await asking.list(options);
      return [all, ...bases.map(({ id }) => id)];
    };
    expect(await idsOf({ lookedAtMax: 2 })).toEqual([4, "1", "begun"]);
    expect(await idsOf({ lookedAtMax: 2, name: "withdraw" })).toEqual([3, "1", "2"]);
    expect(await idsOf({})).toEqual([4, "1", "2", "3", "begun"]);
  });
});
