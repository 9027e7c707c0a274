/**
 * The examples of docs/questions, in the test cloud, under what the pages say of them: conflicts,
 * repeats, unknown outcomes, crashes.
 */
import { describe, expect, test } from "vitest";
import * as counters from "./counters.ts";
import * as idempotency from "./idempotency.ts";
import * as locks from "./locks.ts";
import * as many from "./more-than-100-items.ts";
import * as versions from "./optimistic-locking.ts";
import * as outbox from "./outbox.ts";
import * as unique from "./unique-attributes.ts";
import { IdempotencyKeyReusedError } from "../../sdk/index.ts";
import { createTestCloud } from "../../testing/index.ts";

describe("unique attributes", () => {
  const { users, emails, signUp, changeEmail } = unique;

  test("of many who want an address at once one gets it, in whichever process", async () => {
    const cloud = await createTestCloud({ tables: [users, emails] });
    const clients = [cloud.createClient("a"), cloud.createClient("b")];
    const ended = await cloud.run(() =>
      Promise.all(
        clients.flatMap((db, at) =>
          Array.from({ length: 5 }, (_, i) =>
            signUp(db, { id: `u${at}-${i}`, email: "Ann@example.com", name: "Ann" }),
          ),
        ),
      ),
    );
    await cloud.settled();
    expect(ended.filter((end) => end === "done")).toHaveLength(1);
    const [user] = cloud.rows(users);
    expect(cloud.rows(users)).toHaveLength(1);
    expect(cloud.rows(emails)).toEqual([{ email: "ann@example.com", user: user?.id }]);
  });

  test("a changed address is free for others, and a taken one is not to be had", async () => {
    const cloud = await createTestCloud({ tables: [users, emails] });
    const db = cloud.createClient();
    await cloud.run(async () => {
      await signUp(db, { id: "ann", email: "ann@example.com", name: "Ann" });
      await signUp(db, { id: "bob", email: "bob@example.com", name: "Bob" });
      expect(await changeEmail(db, { id: "ann", to: "bob@example.com" })).toBe("taken");
      expect(await changeEmail(db, { id: "ann", to: "ann@example.org" })).toBe("done");
      expect(await changeEmail(db, { id: "ann", to: "Ann@example.org" })).toBe("done");
      expect(await changeEmail(db, { id: "bob", to: "ann@example.com" })).toBe("done");
      expect(await changeEmail(db, { id: "eve", to: "e@example.com" })).toBe("no such user");
    });
    await cloud.settled();
    expect(cloud.rows(emails)).toEqual([
      { email: "ann@example.com", user: "bob" },
      { email: "ann@example.org", user: "ann" },
    ]);
  });
});

describe("optimistic locking", () => {
  const { pages, revisions, save } = versions;

  test("of two who have edited the same version one saves, and the other sees that", async () => {
    const cloud = await createTestCloud({ tables: [pages, revisions] });
    const [a, b] = [cloud.createClient("a"), cloud.createClient("b")];
    const [first, second] = await cloud.run(async () => {
      await save(a, { id: "home", text: "old", version: 0 });
      return Promise.all([
        save(a, { id: "home", text: "from a", version: 1 }),
        save(b, { id: "home", text: "from b", version: 1 }),
      ]);
    });
    await cloud.settled();
    const [page] = cloud.rows(pages);
    expect(page?.version).toBe(2);
    expect([first, second]).toEqual(expect.arrayContaining(["saved", { newer: page?.text }]));
    expect(cloud.rows(revisions).map(({ text }) => text)).toEqual(["old", page?.text]);
  });
});

describe("more than 100 items", () => {
  const { customers, orders, closeCustomer } = many;

  test("all are closed, with one that comes in between", async () => {
    const cloud = await createTestCloud({ tables: [customers, orders] });
    const row = (i: number) => ({
      ...{ customer: "ann", order: i.toString().padStart(4, "0") },
      ...{ totalCents: i, isClosed: false },
    });
    cloud.seed(
      orders,
      Array.from({ length: 250 }, (_, i) => row(i)),
    );
    const app = cloud.startProcess("app");
    const other = cloud.createClient("other");
    app.beforeNextCommit(async () => {
      await other.transact(async (tx) => {
        tx.put(orders, row(250));
      });
    });
    expect(await cloud.run(() => closeCustomer(app.client, "ann"))).toBe(251);
    await cloud.settled();
    expect(cloud.rows(orders).filter(({ isClosed }) => !isClosed)).toEqual([]);
    expect(cloud.rows(customers)).toEqual([{ id: "ann", isClosed: true, orders: 251 }]);
  });
});

describe("idempotency", () => {
  const { balances, payments, pay } = idempotency;
  const payment = { id: "p1", account: "ann", cents: 60 };

  async function world() {
    const cloud = await createTestCloud({ tables: [balances, payments] });
    cloud.seed(balances, [{ id: "ann", cents: 100 }]);
    return { cloud, app: cloud.startProcess("app") };
  }

  test("is paid once, and answered twice", async () => {
    const { cloud, app } = await world();
    const again = cloud.createClient("again");
    const answers = await cloud.run(async () => [
      await pay(app.client, payment),
      await pay(again, payment),
    ]);
    await cloud.settled();
    expect(answers).toEqual(["paid", "paid"]);
    expect(cloud.rows(balances)).toEqual([{ id: "ann", cents: 40 }]);
  });

  test.each(["committed", "aborted"] as const)(
    "is paid once where the answer is lost, and it was %s",
    async (outcome) => {
      const { cloud, app } = await world();
      app.nextCommitUnknown(outcome);
      expect(await cloud.run(() => pay(app.client, payment))).toBe("paid");
      await cloud.settled();
      expect(cloud.rows(balances)).toEqual([{ id: "ann", cents: 40 }]);
      expect(cloud.rows(payments)).toHaveLength(1);
    },
  );

  test("keeps a refusal, and refuses the key for another payment", async () => {
    const { cloud, app } = await world();
    await cloud.run(async () => {
      const tooMuch = { ...payment, cents: 500 };
      expect(await pay(app.client, tooMuch)).toBe("too little");
      expect(await pay(app.client, tooMuch)).toBe("too little");
      await expect(pay(app.client, payment)).rejects.toBeInstanceOf(IdempotencyKeyReusedError);
    });
  });
});

describe("outbox", () => {
  const { orders, stock, placeOrder, sendLetters } = outbox;

  test("a letter for each order and for no other, though its sender dies in between", async () => {
    const cloud = await createTestCloud({ tables: [orders, stock] });
    cloud.seed(stock, [{ sku: "lamp", left: 2 }]);
    const shop = cloud.createClient("shop");
    const sent = new Map<string, string>();
    let asked = 0;
    const sender = cloud.startProcess("sender");
    const died = new Promise<void>((ended) => {
      sender.onCrash(ended);
    });
    const mail: outbox.Mail = {
      send: (name, to) => {
        sent.set(name, to);
        asked += 1;
        if (asked === 1) sender.crash();
        return Promise.resolve();
      },
    };
    await cloud.run(async () => {
      for (const customer of ["ann", "bob", "eve"]) {
        await placeOrder(shop, { id: `order of ${customer}`, customer, sku: "lamp" });
      }
      await Promise.race([sendLetters(sender.client, mail), died]);
      await cloud.clock.sleep(120_000); // Until another one may take its place.
      await sendLetters(cloud.createClient("next"), mail, "caught-up");
    });
    expect([...sent.values()]).toEqual(["ann", "bob"]);
    // More often than there are letters: the name is what makes them one each.
    expect(asked).toBeGreaterThan(sent.size);
  });
});

describe("counters", () => {
  const { shows, tickets, buy } = counters;

  test("sells each seat once, by several processes, and numbers without gaps", async () => {
    const cloud = await createTestCloud({ tables: [shows, tickets] });
    cloud.seed(shows, [{ id: "hamlet", left: 20, sold: 0 }]);
    const clients = Array.from({ length: 3 }, (_, i) => cloud.createClient(`office ${i}`));
    const numbers = await cloud.run(() =>
      Promise.all(
        clients.flatMap((db, at) =>
          Array.from({ length: 10 }, (_, i) => buy(db, { show: "hamlet", ticket: `t${at}-${i}` })),
        ),
      ),
    );
    await cloud.settled();
    const sold = numbers.filter((number) => number !== undefined).sort((a, b) => a - b);
    expect(sold).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    expect(cloud.rows(shows)).toEqual([{ id: "hamlet", left: 0, sold: 20 }]);
    expect(cloud.rows(tickets)).toHaveLength(20);
  });
});

describe("locks", () => {
  const { locks: table, reports, acquire, publish } = locks;

  test("has one holder; a late one writes nothing", async () => {
    const cloud = await createTestCloud({ tables: [table, reports] });
    const [a, b] = [cloud.createClient("a"), cloud.createClient("b")];
    const ask = (owner: string, nowMs: number) =>
      acquire(owner === "a" ? a : b, { name: "report", owner, forMs: 60_000 }, nowMs);
    await cloud.run(async () => {
      const held = await Promise.all([ask("a", 0), ask("b", 0)]);
      expect(held.filter((fence) => fence !== undefined)).toEqual([1]);
      const [first, second] = held[0] === 1 ? (["a", "b"] as const) : (["b", "a"] as const);
      expect(await ask(second, 59_999)).toBeUndefined();
      expect(await ask(second, 60_000)).toBe(2);
      const late = { name: "report", text: `by ${first}`, fence: 1 };
      expect(await publish(first === "a" ? a : b, late)).toBe("lock lost");
      const good = { name: "report", text: `by ${second}`, fence: 2 };
      expect(await publish(second === "a" ? a : b, good)).toBe("published");
    });
    await cloud.settled();
    expect(cloud.rows(reports)).toMatchObject([{ fence: 2 }]);
  });
});
