/**
 * The examples on an embedded stack: their rules hold under concurrency, and their audits, fed with
 * real rows, see every kind of damage that plain DynamoDB writes can do.
 */
import {
  DynamoDBClient,
  UpdateItemCommand,
  DeleteItemCommand,
  PutItemCommand,
  type AttributeValue,
} from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditBank, readBank, totalCents } from "../../examples/bank/audit.ts";
import { accounts, openAccounts, transfer } from "../../examples/bank/bank.ts";
import { awaitWatermark, readStoredRows } from "../../demo/stored-rows.ts";
import { auditSales, readSales } from "../../examples/tickets/audit.ts";
import { buySeats, cancelOrder, openSale, salesReport } from "../../examples/tickets/tickets.ts";
import { withKnownOutcome } from "../../examples/known-outcome.ts";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { type Client, CommitUnknownError, createClient } from "../../sdk/index.ts";

let stack: EmbeddedStack;
let db: Client;
let dynamodb: DynamoDBClient;

beforeAll(async () => {
  stack = await startEmbeddedStack();
  db = createClient({ endpoint: stack.endpoint });
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  dynamodb = new DynamoDBClient({
    region: stack.region,
    endpoint: stack.endpoints.dynamodb,
    credentials,
  });
});

afterAll(async () => {
  dynamodb.destroy();
  await db.close();
  await stack.stop();
});

const account = (id: string, balanceCents: number, overdraftCents = 0) => ({
  id,
  balanceCents,
  overdraftCents,
});
const books = (prefix: string) => db.snapshot((snapshot) => readBank(snapshot, prefix));
const sales = (prefix: string) => db.snapshot((snapshot) => readSales(snapshot, prefix));

async function balances(prefix: string): Promise<Record<string, number>> {
  const { accounts } = await books(prefix);
  return Object.fromEntries(accounts.map(({ id, balanceCents }) => [id, balanceCents]));
}

describe("the sample rows", () => {
  const wholeAudit = () =>
    db.snapshot(async (snapshot) => [
      ...auditBank(await readBank(snapshot)),
      ...auditSales(await readSales(snapshot)),
    ]);

  test("keep the examples' rules, and go on keeping them as transactions adopt them", async () => {
    const { deployment, region, endpoints } = stack;
    const untouched = await readStoredRows({ deployment, region, endpoints }, "");
    expect(new Set(untouched.versions.values())).toEqual(new Set([0]));
    expect(auditBank(untouched.bank)).toEqual([]);
    expect(auditSales(untouched.sales)).toEqual([]);
    const asOf = await db.snapshot(async ({ readTimestamp }) => readTimestamp);

    const order = { transferId: "sample", source: "dora", target: "emil", amountCents: 5_000 };
    expect((await transfer(db, order)).result.kind).toBe("done");
    expect((await cancelOrder(db, "matinee-dora")).result.kind).toBe("cancelled");
    const seatIds = ["A01", "A03", "A12"];
    const purchase = { orderId: "matinee-fay", eventId: "matinee", customer: "Fay", seatIds };
    expect((await buySeats(db, purchase)).result).toMatchObject({ amountCents: 4_500 });
    expect(await wholeAudit()).toEqual([]);
    expect(await balances("")).toEqual({ dora: 90_000, emil: 35_000 });
    const then = await db.snapshot({ asOf }, (snapshot) => snapshot.get(accounts, "dora"));
    expect(then?.balanceCents).toBe(95_000);
  });
});

describe("the bank", () => {
  test("moves money with an entry on both sides", async () => {
    await openAccounts(db, [account("b1-ann", 100), account("b1-bob", 0)]);
    const order = { transferId: "b1-t", source: "b1-ann", target: "b1-bob", amountCents: 40 };
    const { result } = await transfer(db, order);
    expect(result).toEqual({ kind: "done", sourceBalanceCents: 60 });
    const { accounts, ledger } = await books("b1-");
    expect(accounts).toHaveLength(2);
    expect(ledger.filter(({ entryId }) => entryId === "b1-t")).toEqual([
      { accountId: "b1-ann", entryId: "b1-t", amountCents: -40, counterpart: "b1-bob" },
      { accountId: "b1-bob", entryId: "b1-t", amountCents: 40, counterpart: "b1-ann" },
    ]);
    expect(auditBank({ accounts, ledger })).toEqual([]);
  });

  test("allows the last cent of an overdraft and refuses the next", async () => {
    await openAccounts(db, [account("b2-ann", 10, 5), account("b2-bob", 0)]);
    const order = { source: "b2-ann", target: "b2-bob" };
    const all = await transfer(db, { ...order, transferId: "b2-all", amountCents: 15 });
    expect(all.result).toEqual({ kind: "done", sourceBalanceCents: -5 });
    const more = await transfer(db, { ...order, transferId: "b2-more", amountCents: 1 });
    expect(more.result).toEqual({ kind: "refused", reason: "overdraft" });
    expect(await balances("b2-")).toEqual({ "b2-ann": -5, "b2-bob": 15 });
  });

  test("lets only as many concurrent transfers through as the money lasts for", async () => {
    await openAccounts(db, [account("b3-ann", 100), account("b3-bob", 0), account("b3-cleo", 0)]);
    const results = await Promise.all(
      Array.from({ length: 6 }, (_unused, index) =>
        transfer(db, {
          transferId: `b3-${index.toString()}`,
          source: "b3-ann",
          target: index % 2 === 0 ? "b3-bob" : "b3-cleo",
          amountCents: 30,
        }),
      ),
    );
    expect(results.filter(({ result }) => result.kind === "done")).toHaveLength(3);
    const rows = await books("b3-");
    expect(auditBank(rows)).toEqual([]);
    expect(totalCents(rows)).toBe(100);
  });

  test("does a repeated transfer once, and opens an account once", async () => {
    await openAccounts(db, [account("b4-ann", 100), account("b4-bob", 0)]);
    const order = { transferId: "b4-t", source: "b4-ann", target: "b4-bob", amountCents: 10 };
    const first = await transfer(db, order);
    const second = await transfer(db, order);
    expect(second.result).toEqual(first.result);
    expect([first.receipt.replayed, second.receipt.replayed]).toEqual([false, true]);
    await openAccounts(db, [account("b4-ann", 100)]);
    expect(await balances("b4-")).toEqual({ "b4-ann": 90, "b4-bob": 10 });
  });

  test("refuses unknown accounts, transfers to oneself and amounts that are none", async () => {
    await openAccounts(db, [account("b5-ann", 100)]);
    const order = { transferId: "b5-t", source: "b5-ann", target: "b5-none", amountCents: 1 };
    expect((await transfer(db, order)).result).toEqual({
      kind: "refused",
      reason: "unknown-account",
    });
    await expect(transfer(db, { ...order, target: "b5-ann" })).rejects.toThrow(RangeError);
    for (const amountCents of [0, -1, 0.5, NaN]) {
      await expect(transfer(db, { ...order, amountCents })).rejects.toThrow(RangeError);
    }
  });

  test("an unknown outcome is settled: done before counts once, not done is done now", async () => {
    await openAccounts(db, [account("b6-ann", 100), account("b6-bob", 0)]);
    for (const committedFirst of [true, false]) {
      const transferId = `b6-${committedFirst.toString()}`;
      const order = { transferId, source: "b6-ann", target: "b6-bob", amountCents: 10 };
      let runs = 0;
      await withKnownOutcome(db, async () => {
        runs += 1;
        if (runs > 1) return transfer(db, order);
        // What an impatient caller meets: an answer that never came, to a request that did or did
        // not arrive.
        const { receipt } = committedFirst
          ? await transfer(db, order)
          : await transfer(db, { ...order, transferId: `${transferId}-lost`, source: "b6-none" });
        const unseen = receipt.transactionId?.replace(/.{4}$/, committedFirst ? "$&" : "0000");
        throw new CommitUnknownError(
          "no answer",
          unseen as NonNullable<typeof receipt.transactionId>,
        );
      });
      expect(runs).toBe(2);
    }
    expect(await balances("b6-")).toEqual({ "b6-ann": 80, "b6-bob": 20 });
  });
});

const seat = (number: number): string => `seat-${number.toString()}`;

async function sale(eventId: string): Promise<void> {
  const event = { eventId, name: "A concert", priceCents: 700 };
  await openSale(db, event, [1, 2, 3, 4].map(seat));
}

const purchase = (eventId: string, customer: string, ...numbers: readonly number[]) => ({
  orderId: `${eventId}-${customer}`,
  eventId,
  customer,
  seatIds: numbers.map(seat),
});

describe("the box office", () => {
  test("refuses a purchase that has one taken seat, and sells none of the others", async () => {
    await sale("s1");
    const sold = await buySeats(db, purchase("s1", "ann", 1, 2));
    expect(sold.result).toEqual({ kind: "sold", amountCents: 1_400 });
    const refused = await buySeats(db, purchase("s1", "bob", 2, 3));
    expect(refused.result).toEqual({ kind: "refused", reason: "not-free", seatIds: [seat(2)] });
    const report = await db.snapshot((snapshot) => salesReport(snapshot, "s1"));
    const freeSeatIds = [seat(3), seat(4)];
    expect(report).toEqual({ seats: 4, sold: 2, freeSeatIds, takenCents: 1_400 });
    expect(auditSales(await sales("s1"))).toEqual([]);
  });

  test("sells a seat that eight customers want at once to exactly one of them", async () => {
    await sale("s2");
    const results = await Promise.all(
      Array.from({ length: 8 }, (_unused, index) =>
        buySeats(db, purchase("s2", `c${index.toString()}`, 1, 2 + (index % 3))),
      ),
    );
    expect(results.filter(({ result }) => result.kind === "sold")).toHaveLength(1);
    expect(auditSales(await sales("s2"))).toEqual([]);
  });

  test("frees the seats of a cancelled order for the next one, and refunds it once", async () => {
    await sale("s3");
    await buySeats(db, purchase("s3", "ann", 1, 2));
    const first = await cancelOrder(db, "s3-ann");
    expect(first.result).toEqual({ kind: "cancelled", refundedCents: 1_400 });
    expect((await cancelOrder(db, "s3-ann")).receipt.replayed).toBe(true);
    expect((await buySeats(db, purchase("s3", "bob", 2))).result.kind).toBe("sold");
    expect(auditSales(await sales("s3"))).toEqual([]);
  });

  test("knows no seat, event or order that is not there", async () => {
    await sale("s4");
    expect((await buySeats(db, purchase("s4", "ann", 9))).result).toMatchObject({
      reason: "not-free",
    });
    expect((await buySeats(db, purchase("s4-none", "ann", 1))).result).toMatchObject({
      reason: "unknown-event",
    });
    expect((await cancelOrder(db, "s4-none")).result).toMatchObject({ reason: "unknown-order" });
    expect(await db.snapshot((snapshot) => salesReport(snapshot, "s4-none"))).toBeUndefined();
  });
});

describe("the audits see what plain DynamoDB writes have damaged", () => {
  /** Adds to a number, as a client that knows nothing of Tidemark would. */
  async function add(
    table: string,
    key: Record<string, AttributeValue>,
    [attribute, amount]: readonly [string, number],
  ): Promise<void> {
    const [name] = Object.keys(key);
    await dynamodb.send(
      new UpdateItemCommand({
        TableName: table,
        Key: key,
        ConditionExpression: "attribute_exists(#k)",
        UpdateExpression: "ADD #a :amount",
        ExpressionAttributeNames: { "#a": attribute, "#k": name! },
        ExpressionAttributeValues: { ":amount": { N: amount.toString() } },
      }),
    );
  }

  /** Waits for the watermark: below it replay puts back what is missing, so damage would heal. */
  async function stored(prefix: string) {
    const { deployment, region, endpoints } = stack;
    const target = { deployment, region, endpoints };
    await awaitWatermark(target, await db.snapshot(async (snapshot) => snapshot.readTimestamp));
    return readStoredRows(target, prefix);
  }

  test("a balance raised by a cent", async () => {
    await openAccounts(db, [account("x1-ann", 100)]);
    expect(auditBank((await stored("x1-")).bank)).toEqual([]);
    await add("bank-accounts", { id: { S: "x1-ann" } }, ["balanceCents", 1]);
    const faults = [
      "money: 100 cents were deposited, the accounts hold 101",
      "ledger: account x1-ann stands at 101 cents, its entries add up to 100",
    ];
    expect(auditBank((await stored("x1-")).bank)).toEqual(faults);
    expect(auditBank(await books("x1-"))).toEqual(faults);
  });

  test("a ledger entry deleted", async () => {
    await openAccounts(db, [account("x2-ann", 100), account("x2-bob", 0)]);
    await transfer(db, { transferId: "x2-t", source: "x2-ann", target: "x2-bob", amountCents: 1 });
    expect(auditBank((await stored("x2-")).bank)).toEqual([]);
    const Key = { accountId: { S: "x2-bob" }, entryId: { S: "x2-t" } };
    await dynamodb.send(new DeleteItemCommand({ TableName: "bank-ledger", Key }));
    expect(auditBank((await stored("x2-")).bank)).toEqual([
      "ledger: account x2-bob stands at 1 cents, its entries add up to 0",
      "ledger: transfer x2-t of x2-ann has no other half",
    ]);
  });

  test("a seat sold twice, by an order and payment written behind everybody's back", async () => {
    await sale("x3");
    await buySeats(db, purchase("x3", "ann", 1));
    const order = { ...purchase("x3", "bob", 1), state: "paid" };
    const payment = { orderId: order.orderId, amountCents: 700, state: "received" };
    const put = (TableName: string, row: object) =>
      dynamodb.send(new PutItemCommand({ TableName, Item: marshall(row) }));
    await put("ticket-orders", order);
    await put("ticket-payments", payment);
    const faults = auditSales((await stored("x3")).sales);
    expect(faults).toHaveLength(2);
    expect(faults[0]).toMatch(
      /^sold twice: seat seat-1 of x3, to x3-(ann|bob) and to x3-(ann|bob)$/,
    );
    expect(faults[1]).toBe("order: x3-bob has paid seat seat-1 of x3 and does not have it");
  });

  test("a payment lost", async () => {
    await sale("x4");
    await buySeats(db, purchase("x4", "ann", 1));
    expect(auditSales((await stored("x4")).sales)).toEqual([]);
    const Key = { orderId: { S: "x4-ann" } };
    await dynamodb.send(new DeleteItemCommand({ TableName: "ticket-payments", Key }));
    expect(auditSales((await stored("x4")).sales)).toEqual([
      "payment: order x4-ann costs 700 cents, paid 0",
    ]);
  });
});
