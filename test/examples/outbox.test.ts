/** The outbox example: no letter is lost or doubled, whenever its consumer dies. */
import { expect, test } from "vitest";
import { followOrders } from "../../examples/outbox/outbox.ts";
import { standIns } from "../../examples/outbox/stand-ins.ts";
import { buySeats, cancelOrder, openSale } from "../../examples/tickets/tickets.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";

const tables = [
  testTable("ticket-events", { partitionKey: "eventId" }),
  testTable("ticket-seats", { partitionKey: "eventId", sortKey: "seatId" }),
  testTable("ticket-orders", { partitionKey: "orderId" }),
  testTable("ticket-payments", { partitionKey: "orderId" }),
];
const seatIds = Array.from({ length: 8 }, (_, n) => `A${n}`);

test.each([1, 2, 3, 4])("letters and index follow every order, seed %i", async (seed) => {
  const cloud = await createTestCloud({ seed, tables });
  const outside = standIns();
  await cloud.run(async () => {
    const db = cloud.createClient("box office");
    await openSale(db, { eventId: "e", name: "Quartet", priceCents: 100 }, seatIds);
    const selling = (async () => {
      for (const seatId of seatIds) {
        const order = { orderId: `order-${seatId}`, eventId: "e", customer: `c-${seatId}` };
        await buySeats(db, { ...order, seatIds: [seatId] });
        await cloud.clock.sleep(700);
      }
      await cancelOrder(db, "order-A0");
    })();
    for (let n = 0; n < 4; n += 1) {
      const follower = cloud.startProcess(`follower ${n}`);
      followOrders(follower.client, outside).catch(() => undefined);
      await cloud.clock.sleep(300 + 411 * n + 97 * seed);
      follower.crash();
      // Until others may take it over.
      await cloud.clock.sleep(31_000);
    }
    await selling;
    await followOrders(cloud.createClient("last"), outside, { until: "caught-up" });
  });
  const expected = seatIds.map((seatId) => `c-${seatId}: Your seats are ${seatId}.`);
  const letters = outside.letters.map(({ to, text }) => `${to}: ${text}`);
  expect(letters.sort()).toEqual([...expected, "c-A0: Your order of A0 is cancelled."].sort());
  expect(outside.find("paid")).toHaveLength(seatIds.length - 1);
  expect(outside.find("cancelled")).toEqual(["order-A0"]);
});
