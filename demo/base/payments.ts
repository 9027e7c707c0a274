/**
 * Payments between purses, in steps or at once. In steps the payer's purse is debited first, then
 * time passes, then the payee's is credited; one that is full refuses, and the payer gets back what
 * was taken. Every step leaves an entry that counts how often it was made, so that whoever looks
 * afterwards sees one that was made twice.
 */
import { z } from "zod";
import {
  type BaseDefinition,
  type Client,
  defineBase,
  defineTable,
  StepFailedError,
  type Transaction,
} from "../../sdk/index.ts";
import type { KillPoint } from "./kill-points.ts";

export const purseSchema = z.object({ id: z.string(), cents: z.int() });
export const entrySchema = z.object({
  payment: z.string(),
  step: z.enum(["taken", "given", "given-back"]),
  purse: z.string(),
  cents: z.int(),
  /** How often this step was made. */
  times: z.int(),
});

export type Purse = z.infer<typeof purseSchema>;
export type Entry = z.infer<typeof entrySchema>;

export const purses = defineTable("demo-purses", { schema: purseSchema, key: "id" });
export const entries = defineTable("demo-purse-entries", {
  schema: entrySchema,
  key: ["payment", "step"],
});

export const paymentSchema = z.object({ from: z.string(), to: z.string(), cents: z.int() });
export type Payment = z.infer<typeof paymentSchema>;

export const paymentEnds = ["given", "given-back"] as const;
export type PaymentEnd = (typeof paymentEnds)[number];

export const purseCount = 30;
export const openingCents = 1_000;
/** So many fit into a purse: some payments have to be given back. */
const purseCentsMax = 1_150;
/** Of a payment in steps, from its first step to its second. */
const waitMsMax = 300;

export class EmptyPurseError extends Error {
  override readonly name = "EmptyPurseError";
}

class FullPurseError extends Error {
  override readonly name = "FullPurseError";
}

export function pursesOf(runId: string): readonly string[] {
  return Array.from({ length: purseCount }, (_unused, i) => `${runId}-purse-${i}`);
}

/** Told of every point between two steps; it may end the process. */
export type Passing = (point: KillPoint, paymentId: string) => void;

export type PaymentBase = BaseDefinition<Payment, PaymentEnd>;

export function paymentInSteps(passing: Passing): PaymentBase {
  return defineBase(
    "demo-payment",
    { input: paymentSchema },
    async (base, { from, to, cents }: Payment): Promise<PaymentEnd> => {
      const payment = base.id;
      await base.step("take", (tx) => take(tx, { payment, from, cents }));
      passing("taken", payment);
      const waitMs = base.random() * waitMsMax;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      passing("waited", payment);
      const isGiven = await base
        .step("give", (tx) => give(tx, { payment, to, cents }))
        .then(() => true, refused);
      passing(isGiven ? "given" : "refused", payment);
      if (isGiven) return "given";
      await base.step("give back", async (tx) => {
        await enter(tx, { payment, step: "given-back", purse: from, cents });
        await change(tx, from, cents);
      });
      passing("given-back", payment);
      return "given-back";
    },
  );
}

/** The same as one ACID transaction: all of it, or nothing. */
export async function payAtOnce(
  db: Client,
  { id: payment, from, to, cents }: Payment & { readonly id: string },
): Promise<void> {
  await db.transact(async (tx) => {
    await take(tx, { payment, from, cents });
    await give(tx, { payment, to, cents });
  });
}

/** Whether a purse was too empty, or too full, for a payment at once. */
export function isRefusal(error: unknown): boolean {
  return error instanceof EmptyPurseError || error instanceof FullPurseError;
}

/** In a later run a step that failed is told by another error. */
function refused(error: unknown): false {
  if (error instanceof FullPurseError || error instanceof StepFailedError) return false;
  throw error;
}

async function take(
  tx: Transaction,
  { payment, from, cents }: Omit<Payment, "to"> & { readonly payment: string },
): Promise<void> {
  await enter(tx, { payment, step: "taken", purse: from, cents: -cents });
  if ((await change(tx, from, -cents)) < 0) throw new EmptyPurseError(from);
}

async function give(
  tx: Transaction,
  { payment, to, cents }: Omit<Payment, "from"> & { readonly payment: string },
): Promise<void> {
  // Before it is judged, on purpose: nothing of a step that fails may stand.
  await enter(tx, { payment, step: "given", purse: to, cents });
  if ((await change(tx, to, cents)) > purseCentsMax) throw new FullPurseError(to);
}

/** @returns what the purse holds then. */
async function change(tx: Transaction, id: string, cents: number): Promise<number> {
  const purse = await tx.get(purses, id);
  if (purse === undefined) throw new Error(`there is no purse ${id}`);
  const after = purse.cents + cents;
  tx.put(purses, { id, cents: after });
  return after;
}

async function enter(tx: Transaction, entry: Omit<Entry, "times">): Promise<void> {
  const known = await tx.get(entries, { payment: entry.payment, step: entry.step });
  tx.put(entries, { ...entry, times: (known?.times ?? 0) + 1 });
}
