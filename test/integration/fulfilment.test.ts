/** The example of BASE transactions: its rules hold, and nobody sees an order half done. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  auditFulfilment,
  fulfil,
  type FulfilmentBase,
  fulfilments,
  fulfilmentWith,
  type Order,
  OutOfStock,
  stock,
} from "../../examples/fulfilment/fulfilment.ts";
import { standIns } from "../../examples/fulfilment/stand-ins.ts";
import { makeTables } from "../../examples/fulfilment/tables.ts";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { type Client, createClient } from "../../sdk/index.ts";

let stack: EmbeddedStack;
let db: Client;

beforeAll(async () => {
  stack = await startEmbeddedStack({ sampleTables: false });
  await makeTables(stack.endpoint);
  // Once more, as whoever starts the example again does.
  await makeTables(stack.endpoint);
  db = createClient({ endpoint: stack.endpoint });
}, 60_000);

afterAll(async () => {
  await db.close();
  await stack.stop();
});

const orderOf = (orderId: string, article: string, cents = 1_000): Order => ({
  ...{ orderId, customer: orderId, cents },
  lines: [{ article, count: 1 }],
});

async function deliver(article: string, count: number): Promise<ReadonlyMap<string, number>> {
  await db.transact(async (tx) => tx.put(stock, { article, count }));
  return new Map([[article, count]]);
}

const audit = (delivered: ReadonlyMap<string, number>, orderIds: readonly string[]) =>
  db.snapshot((reads) => auditFulfilment(reads, delivered, orderIds));

const begin = async (fulfilOrder: FulfilmentBase, order: Order) =>
  (await fulfil(db, fulfilOrder, order)).accepted;

describe("fulfilment", { timeout: 60_000 }, () => {
  test("ships what is there, puts back what is not paid, and refuses the rest", async () => {
    const delivered = await deliver("lamp", 2);
    const services = standIns((cents) => cents > 5_000);
    const fulfilOrder = fulfilmentWith(services);
    const shipped = await begin(fulfilOrder, orderOf("f1-ann", "lamp"));
    expect(await shipped.result()).toEqual({ kind: "shipped", parcel: "parcel 1" });
    const declined = await begin(fulfilOrder, orderOf("f1-bob", "lamp", 9_000));
    expect(await declined.result()).toEqual({ kind: "declined" });
    const second = await begin(fulfilOrder, orderOf("f1-cleo", "lamp"));
    await second.result();
    await expect(begin(fulfilOrder, orderOf("f1-dora", "lamp"))).rejects.toThrow(OutOfStock);
    const ids = ["f1-ann", "f1-bob", "f1-cleo", "f1-dora"];
    expect(await audit(delivered, ids)).toEqual([]);
    const states = await db.snapshot((reads) =>
      reads.batchGet(ids.map((id) => [fulfilments, id] as const)),
    );
    expect(states.map((row) => row?.state)).toEqual([
      ...["shipped", "declined", "shipped", undefined],
    ]);
  });

  test("one that a process left is unseen, and a runner charges it once", async () => {
    const delivered = await deliver("desk", 1);
    const services = standIns();
    const leaving = createClient({ endpoint: stack.endpoint });
    await new Promise<void>((charging, failed) => {
      const charge = async (key: string, cents: number): Promise<"charged"> => {
        // The card is charged, and its answer is lost with the process.
        await services.charge(key, cents);
        charging();
        return new Promise(() => undefined);
      };
      fulfil(leaving, fulfilmentWith({ ...services, charge }), orderOf("f2-ann", "desk")).catch(
        failed,
      );
    });
    await leaving.close();
    expect(await audit(delivered, ["f2-ann"])).toEqual([]);
    expect(await db.snapshot((reads) => reads.get(fulfilments, "f2-ann"))).toBeUndefined();

    const fulfilOrder = fulfilmentWith(services);
    await db.baseRunner({ handlers: [fulfilOrder], takeOverMs: 100, until: "caught-up" });
    expect(await db.baseOf(fulfilOrder, "f2-ann").result()).toMatchObject({ kind: "shipped" });
    expect([...services.charged]).toEqual([["f2-ann/charge", 1_000]]);
    expect(await audit(delivered, ["f2-ann"])).toEqual([]);
  });

  test("an audit sees an order half done, and stock that is missing", async () => {
    const delivered = await deliver("chair", 5);
    await db.transact(async (tx) => {
      tx.put(stock, { article: "chair", count: 3 });
      tx.put(fulfilments, { ...orderOf("f3-ann", "chair"), state: "set-aside" });
    });
    expect(await audit(delivered, ["f3-ann"])).toEqual([
      "Order f3-ann is seen half done.",
      "Of chair there were 5, and there are 3.",
    ]);
  });
});
