/**
 * Orders that take long: goods are set aside, a card is charged by a service outside, a parcel is
 * handed over. As one ACID transaction the stock of a popular article would be contended for as
 * long as the card takes. As a BASE transaction each part commits by itself, goes on after any
 * crash, and yet nobody else sees an order half done, nor stock that is set aside for one.
 */
import { z } from "zod";
import {
  type BaseStarted,
  type Client,
  defineBase,
  defineTable,
  type Snapshot,
} from "../../sdk/index.ts";

const stockSchema = z.object({ article: z.string(), count: z.int().min(0) });
const lineSchema = z.object({ article: z.string(), count: z.int().min(1) });
const orderSchema = z.object({
  orderId: z.string(),
  customer: z.string(),
  cents: z.int().min(0),
  lines: z.array(lineSchema).min(1),
});
const fulfilmentSchema = orderSchema.extend({
  state: z.enum(["set-aside", "shipped", "declined"]),
  parcel: z.string().optional(),
});

export type Order = z.infer<typeof orderSchema>;

export const stock = defineTable("fulfilment-stock", { schema: stockSchema, key: "article" });
export const fulfilments = defineTable("fulfilment-orders", {
  schema: fulfilmentSchema,
  key: "orderId",
});

export class OutOfStock extends Error {
  override readonly name = "OutOfStock";
}

/** Asked again after a crash: each is told by a key what it has done already. */
export type Services = {
  readonly charge: (key: string, cents: number) => Promise<"charged" | "declined">;
  readonly handOver: (key: string, lines: Order["lines"]) => Promise<{ readonly parcel: string }>;
};

export type Fulfilled =
  | { readonly kind: "shipped"; readonly parcel: string }
  | { readonly kind: "declined" };

/** The BASE transaction, with the services that it goes to. */
export function fulfilmentWith({ charge, handOver }: Services) {
  return defineBase(
    "fulfil-order",
    { input: orderSchema },
    async (base, order): Promise<Fulfilled> => {
      // The first step may refuse: then nothing has happened, and its caller is told.
      await base.step("set aside", async (tx) => {
        for (const { article, count } of order.lines) {
          const left = (await tx.get(stock, article))?.count ?? 0;
          if (left < count) throw new OutOfStock(`${article}: ${left.toString()} left`);
          tx.put(stock, { article, count: left - count });
        }
        tx.put(fulfilments, { ...order, state: "set-aside" });
      });

      if ((await charge(`${base.id}/charge`, order.cents)) === "declined") {
        await base.step("put back", async (tx) => {
          for (const { article, count } of order.lines) {
            const left = (await tx.get(stock, article))?.count ?? 0;
            tx.put(stock, { article, count: left + count });
          }
          tx.put(fulfilments, { ...order, state: "declined" });
        });
        return { kind: "declined" };
      }

      const { parcel } = await handOver(`${base.id}/parcel`, order.lines);
      await base.step("ship", async (tx) => {
        tx.put(fulfilments, { ...order, state: "shipped", parcel });
      });
      return { kind: "shipped", parcel };
    },
  );
}

export type FulfilmentBase = ReturnType<typeof fulfilmentWith>;

/** Resolves once the goods are set aside. @throws OutOfStock: nothing has happened. */
export function fulfil(
  db: Client,
  fulfilOrder: FulfilmentBase,
  order: Order,
): Promise<BaseStarted<Fulfilled>> {
  return db.base(fulfilOrder, order, { id: order.orderId });
}

/**
 * What does not add up: whoever looks sees each order whole or not at all, so that what is left in
 * stock and what was shipped are what there was.
 */
export async function auditFulfilment(
  reads: Snapshot,
  delivered: ReadonlyMap<string, number>,
  orderIds: readonly string[],
): Promise<readonly string[]> {
  const articles = [...delivered.keys()];
  const [left, orders] = await Promise.all([
    reads.batchGet(articles.map((article) => [stock, article] as const)),
    reads.batchGet(orderIds.map((orderId) => [fulfilments, orderId] as const)),
  ]);
  const found = orders.filter((order) => order !== undefined);
  return [
    ...found
      .filter(({ state }) => state === "set-aside")
      .map(({ orderId }) => `Order ${orderId} is seen half done.`),
    ...articles.flatMap((article, at) => {
      const shipped = found
        .filter(({ state }) => state === "shipped")
        .flatMap(({ lines }) => lines)
        .filter((line) => line.article === article)
        .reduce((sum, { count }) => sum + count, 0);
      const there = (left[at]?.count ?? 0) + shipped;
      const was = delivered.get(article) ?? 0;
      return there === was
        ? []
        : [`Of ${article} there were ${was.toString()}, and there are ${there.toString()}.`];
    }),
  ];
}
