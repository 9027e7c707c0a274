/**
 * The bank as a web backend: each route is one transaction or one snapshot, and leaves the errors
 * to one place.
 */
import { Hono } from "hono";
import { z } from "zod";
import { type Client, CommitUnknownError } from "../../sdk/index.ts";
import { accounts, accountSchema, ledger, type TransferResult } from "../bank/bank.ts";
import { notFound, problemOf, problemResponse, RequestProblem } from "../http/problems.ts";
import { idempotencyKeyOf, parsed, validated } from "../http/requests.ts";

const openingSchema = accountSchema.omit({ id: true });
const transferSchema = z
  .object({ source: z.string().min(1), target: z.string().min(1), amountCents: z.int().positive() })
  .refine(({ source, target }) => source !== target, {
    path: ["target"],
    message: "is the source, too",
  });

const entriesShown = 20;
const keyHeader = "idempotency-key";

export function createApp(db: Client): Hono {
  const app = new Hono();

  // A PUT says by itself how often it counts: what is there stays.
  app.put("/accounts/:id", async (c) => {
    const id = c.req.param("id");
    const opening = await validated(openingSchema, parsed(await c.req.text()));
    const { result } = await db.transact(async (tx) => {
      const standing = await tx.get(accounts, id);
      if (standing !== undefined) return { isNew: false, account: standing };
      const account = { id, ...opening };
      tx.put(accounts, account);
      tx.put(ledger, { accountId: id, entryId: "deposit", amountCents: opening.balanceCents });
      return { isNew: true, account };
    });
    return c.json(result.account, result.isNew ? 201 : 200);
  });

  // Both reads show one moment: the entries explain the balance, always.
  app.get("/accounts/:id", async (c) => {
    const id = c.req.param("id");
    const found = await db.snapshot(async (snapshot) => {
      const account = await snapshot.get(accounts, id);
      if (account === undefined) return undefined;
      const entries = snapshot.query(ledger, { where: { accountId: id } });
      return { ...account, entries: await entries.take(entriesShown) };
    });
    if (found === undefined) throw notFound(`there is no account ${id}`);
    return c.json(found);
  });

  app.post("/transfers", async (c) => {
    const key = idempotencyKeyOf("web-transfer", c.req.header(keyHeader));
    const order = await validated(transferSchema, parsed(await c.req.text()));
    const once = { idempotencyKey: key, idempotencyRequest: order };
    const { result, receipt } = await db.transact<TransferResult>(once, async (tx) => {
      const [from, to] = await tx.batchGet(accounts, [order.source, order.target]);
      if (from === undefined || to === undefined) {
        return { kind: "refused", reason: "unknown-account" };
      }
      const sourceBalanceCents = from.balanceCents - order.amountCents;
      if (sourceBalanceCents < -from.overdraftCents) {
        return { kind: "refused", reason: "overdraft" };
      }
      tx.put(accounts, { ...from, balanceCents: sourceBalanceCents });
      tx.put(accounts, { ...to, balanceCents: to.balanceCents + order.amountCents });
      const { source, target, amountCents } = order;
      const [out, into] = [-amountCents, amountCents];
      const entryId = key;
      tx.put(ledger, { accountId: source, entryId, amountCents: out, counterpart: target });
      tx.put(ledger, { accountId: target, entryId, amountCents: into, counterpart: source });
      return { kind: "done", sourceBalanceCents };
    });
    if (result.kind === "refused") {
      // A result like any other: kept under the key, it stays what the first call was told.
      throw new RequestProblem({ status: 422, code: result.reason, title: "Refused" });
    }
    const { transactionId, replayed } = receipt;
    return c.json({ ...result, transactionId, replayed }, 201);
  });

  // For whoever was told 503: from this answer on it is decided, for good.
  app.get("/transactions/:id", async (c) => {
    const id = c.req.param("id");
    if (!/^[0-9a-f]{32}$/.test(id)) throw notFound("that is no transaction's id");
    return c.json({ id, outcome: await db.outcome(id) });
  });

  app.notFound(() => problemResponse(notFound("there is nothing here").problem));
  app.onError((error) => {
    const problem = problemOf(error);
    if (problem.status === 500) console.error(error);
    const isUnknown = error instanceof CommitUnknownError;
    const lookup = isUnknown ? { outcome: `/transactions/${error.transactionId}` } : {};
    return problemResponse({ ...problem, ...lookup });
  });
  return app;
}
