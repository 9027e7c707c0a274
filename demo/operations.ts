/** What a client of the demo does, as data: so that it can be journaled, repeated and audited. */
import { z } from "zod";
import type { Client, Receipt } from "../sdk/index.ts";
import { transfer } from "../examples/bank/bank.ts";
import { buySeats, cancelOrder } from "../examples/tickets/tickets.ts";

export const operationSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("transfer"),
    /** Of every operation: unique in a run, and its idempotency key. */
    id: z.string(),
    source: z.string(),
    target: z.string(),
    amountCents: z.int(),
    /** Some callers are impatient, and get an unknown outcome where others would have waited. */
    deadlineMs: z.int().optional(),
  }),
  z.object({
    kind: z.literal("purchase"),
    id: z.string(),
    eventId: z.string(),
    customer: z.string(),
    seatIds: z.array(z.string()),
  }),
  z.object({ kind: z.literal("cancellation"), id: z.string(), orderId: z.string() }),
]);

export type Operation = z.infer<typeof operationSchema>;

/** `done`: it changed the tables. A refusal is committed as well, under its idempotency key. */
export type Performed = { readonly done: boolean; readonly receipt: Receipt };

/** @throws TransactionError. Only a `CommitUnknownError` leaves open whether it was done. */
export async function perform(db: Client, operation: Operation): Promise<Performed> {
  switch (operation.kind) {
    case "transfer": {
      const { id: transferId, source, target, amountCents, deadlineMs } = operation;
      const order = { transferId, source, target, amountCents };
      const { result, receipt } = await transfer(
        db,
        order,
        deadlineMs === undefined ? {} : { deadlineMs },
      );
      return { done: result.kind === "done", receipt };
    }
    case "purchase": {
      const { id: orderId, eventId, customer, seatIds } = operation;
      const { result, receipt } = await buySeats(db, { orderId, eventId, customer, seatIds });
      return { done: result.kind === "sold", receipt };
    }
    case "cancellation": {
      const { result, receipt } = await cancelOrder(db, operation.orderId);
      return { done: result.kind === "cancelled", receipt };
    }
  }
}
