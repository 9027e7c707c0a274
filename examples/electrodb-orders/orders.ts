/**
 * What the shop does, in ElectroDB's own words. Each function is one transaction: the plugin on the
 * shop's client makes every command within a part of it, so that none can be seen without the
 * others, and none is there if the body refuses or throws.
 */
import type { Client } from "../../sdk/index.ts";
import { withKnownOutcome } from "../known-outcome.ts";
import type { Shop } from "./entities.ts";

export type OpenShop = { readonly db: Client; readonly shop: Shop };

export type NewCustomer = { readonly customerId: string; readonly email: string };

export type Line = { readonly article: string; readonly count: number };

export type NewOrder = {
  /** Made by the caller, once per order: repeating a call does not order twice. */
  readonly orderId: string;
  readonly customerId: string;
  readonly lines: readonly Line[];
};

export type Ordered =
  | { readonly kind: "ordered"; readonly cents: number }
  | { readonly kind: "refused"; readonly reason: "unknown-customer" | "too-many-open-orders" }
  | { readonly kind: "refused"; readonly reason: "out-of-stock"; readonly article: string };

export const openOrdersMax = 3;

/** A conflict runs the body again, so many times. */
const often = { attemptsMax: 20, deadlineMs: 10_000 };

/** Of two that want one address at the same time one gets it. */
export async function register(
  { db, shop }: OpenShop,
  { customerId, email }: NewCustomer,
): Promise<"registered" | "email-taken"> {
  const once = { ...often, idempotencyKey: `register#${customerId}` };
  const { result } = await withKnownOutcome(db, () =>
    db.transact<"registered" | "email-taken">(once, async () => {
      const address = { email: email.toLowerCase() };
      const { data: taken } = await shop.entities.email.get(address).go();
      if (taken !== null) return "email-taken";
      await shop.entities.email.create({ ...address, customerId }).go();
      await shop.entities.customer.create({ customerId, ...address }).go();
      return "registered";
    }),
  );
  return result;
}

/** Takes all the goods out of the stock, or none. */
export async function placeOrder(
  { db, shop }: OpenShop,
  { orderId, customerId, lines }: NewOrder,
): Promise<Ordered> {
  const once = { ...often, idempotencyKey: `order#${orderId}` };
  const { result } = await withKnownOutcome(db, () =>
    db.transact<Ordered>(once, async () => {
      const { data: customer } = await shop.entities.customer.get({ customerId }).go();
      if (customer === null) return { kind: "refused", reason: "unknown-customer" };
      if (customer.openOrders >= openOrdersMax) {
        return { kind: "refused", reason: "too-many-open-orders" };
      }
      let cents = 0;
      const wanted = byArticle(lines);
      // Reads first: what is refused here has written nothing.
      for (const [article, count] of wanted) {
        const { data: left } = await shop.entities.stock.get({ article }).go();
        if (left === null || left.count < count) {
          return { kind: "refused", reason: "out-of-stock", article };
        }
        cents += left.cents * count;
      }
      for (const [article, count] of wanted) {
        await shop.entities.stock.patch({ article }).subtract({ count }).go();
      }
      await shop.entities.customer.patch({ customerId }).add({ openOrders: 1 }).go();
      const order = { customerId, orderId, lines: [...lines], cents, state: "open" as const };
      await shop.entities.order.create(order).go();
      return { kind: "ordered", cents };
    }),
  );
  return result;
}

/** An article may stand in several lines: what is there has to suffice for all of them. */
function byArticle(lines: readonly Line[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { article, count } of lines) counts.set(article, (counts.get(article) ?? 0) + count);
  return counts;
}

/** Puts the goods back. False if there is no such open order. */
export async function cancelOrder(
  { db, shop }: OpenShop,
  key: Pick<NewOrder, "customerId" | "orderId">,
): Promise<boolean> {
  const { result } = await db.transact(often, async () => {
    const { data: order } = await shop.entities.order.get(key).go();
    if (order?.state !== "open") return false;
    for (const { article, count } of order.lines) {
      await shop.entities.stock.patch({ article }).add({ count }).go();
    }
    const { customerId } = key;
    await shop.entities.customer.patch({ customerId }).subtract({ openOrders: 1 }).go();
    await shop.entities.order.patch(key).set({ state: "cancelled" }).go();
    return true;
  });
  return result;
}

/** A customer and all orders, by ElectroDB's collection, as they are at one moment. */
export function accountOf({ db, shop }: OpenShop, customerId: string) {
  return db.snapshot(async () => {
    const { data } = await shop.collections.account({ customerId }).go({ pages: "all" });
    return { customer: data.customer[0], orders: data.order };
  });
}

/** What does not add up. All of it is read at one moment, by the same plugin. */
export function auditShop(
  { db, shop }: OpenShop,
  delivered: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  return db.snapshot(() => audited(shop, delivered));
}

async function audited(
  shop: Shop,
  delivered: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  const { data: orders } = await shop.entities.order.scan.go({ pages: "all" });
  const { data: customers } = await shop.entities.customer.scan.go({ pages: "all" });
  const open = orders.filter(({ state }) => state === "open");
  const wrong: string[] = [];
  for (const [article, count] of delivered) {
    const { data: left } = await shop.entities.stock.get({ article }).go();
    const ordered = open
      .flatMap(({ lines }) => lines)
      .filter((line) => line.article === article)
      .reduce((sum, line) => sum + line.count, 0);
    if ((left?.count ?? 0) < 0) wrong.push(`${article}: more was sold than there was`);
    if ((left?.count ?? 0) + ordered === count) continue;
    wrong.push(`${article}: ${count} delivered, ${left?.count ?? 0} left, ${ordered} ordered`);
  }
  for (const { customerId, openOrders } of customers) {
    const counted = open.filter((order) => order.customerId === customerId).length;
    if (counted === openOrders) continue;
    wrong.push(`${customerId}: has ${counted} open orders, and says ${openOrders}`);
  }
  return wrong;
}
