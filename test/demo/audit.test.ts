/** The demo's audit of promises: journals against tables, in both directions. */
import { describe, expect, test } from "vitest";
import { auditRun, type RunEvidence } from "../../demo/audit.ts";
import type { SettledOperation } from "../../demo/settle.ts";
import { versionKey } from "../../demo/stored-rows.ts";

const bank = {
  accounts: [
    { id: "ann", balanceCents: 30, overdraftCents: 0 },
    { id: "bob", balanceCents: 20, overdraftCents: 0 },
  ],
  ledger: [
    { accountId: "ann", entryId: "deposit", amountCents: 50 },
    { accountId: "ann", entryId: "t1", amountCents: -20, counterpart: "bob" },
    { accountId: "bob", entryId: "t1", amountCents: 20, counterpart: "ann" },
  ],
};
const sales = {
  events: [{ eventId: "e", name: "Event", priceCents: 5 }],
  seats: [{ eventId: "e", seatId: "1" }],
  orders: [
    { orderId: "o1", eventId: "e", customer: "x", seatIds: ["1"], state: "cancelled" as const },
  ],
  payments: [{ orderId: "o1", amountCents: 5, state: "refunded" as const }],
};
const versions = new Map([
  [versionKey({ name: "bank-ledger" }, "ann", "t1"), 100],
  [versionKey({ name: "bank-ledger" }, "bob", "t1"), 100],
  [versionKey({ name: "ticket-orders" }, "o1"), 120],
]);

const transfer: SettledOperation = {
  operation: { kind: "transfer", id: "t1", source: "ann", target: "bob", amountCents: 20 },
  transactionIds: ["a"],
  acknowledged: { transactionId: "a", commitTimestamp: 100, done: true },
};
const purchase: SettledOperation = {
  operation: { kind: "purchase", id: "o1", eventId: "e", customer: "x", seatIds: ["1"] },
  transactionIds: ["b"],
  acknowledged: { transactionId: "b", commitTimestamp: 110, done: true },
};
const cancellation: SettledOperation = {
  operation: { kind: "cancellation", id: "o1-c", orderId: "o1" },
  transactionIds: ["c"],
  acknowledged: { transactionId: "c", commitTimestamp: 120, done: true },
};

const sound: RunEvidence = {
  depositedCents: 50,
  operations: [transfer, purchase, cancellation],
  seen: { bank, sales },
  stored: { bank, sales, versions },
};

function withTransfer(change: Partial<SettledOperation>): RunEvidence {
  return { ...sound, operations: [{ ...transfer, ...change }, purchase, cancellation] };
}

describe("the demo's audit", () => {
  test("is silent when the tables hold what was promised and nothing else", () => {
    expect(auditRun(sound)).toEqual([]);
  });

  test("misses an acknowledged transfer whose entries are gone", () => {
    const lost = {
      ...transfer,
      operation: { ...transfer.operation, id: "t2" },
      acknowledged: { transactionId: "z", commitTimestamp: 130, done: true },
    };
    expect(auditRun({ ...sound, operations: [...sound.operations, lost] })).toEqual([
      "missing: transfer t2 was acknowledged as z at 130",
    ]);
  });

  test("finds what was aborted or refused, and stands all the same", () => {
    expect(auditRun(withTransfer({ acknowledged: undefined }))).toEqual([
      "not undone: transfer t1 (requests: a) was aborted, and stands at 100",
    ]);
    const refused = { transactionId: "a", commitTimestamp: 100, done: false };
    expect(auditRun(withTransfer({ acknowledged: refused }))).toEqual([
      "not undone: transfer t1 (requests: a) was refused, and stands at 100",
    ]);
  });

  test("finds what nobody asked for", () => {
    expect(auditRun({ ...sound, operations: [purchase, cancellation] })).toEqual([
      "made up: t1 stands, and no client asked for it",
    ]);
  });

  test("finds a commit that stands at another timestamp than was acknowledged", () => {
    const acknowledged = { transactionId: "a", commitTimestamp: 99, done: true };
    expect(auditRun(withTransfer({ acknowledged }))).toEqual([
      "moved: transfer t1 was acknowledged at 99, stands at 100",
    ]);
  });

  test("finds a transfer of another amount than was asked for", () => {
    const operation = { ...transfer.operation, amountCents: 19 } as SettledOperation["operation"];
    expect(auditRun(withTransfer({ operation }))).toHaveLength(1);
    expect(auditRun(withTransfer({ operation }))[0]).toMatch(/^altered: transfer t1/);
  });

  test("finds an order that was sold and then unknown to its cancellation", () => {
    const acknowledged = { transactionId: "c", commitTimestamp: 120, done: false };
    const operations = [transfer, purchase, { ...cancellation, acknowledged }];
    expect(auditRun({ ...sound, operations })).toContain(
      "missing: o1-c was refused, although its order had been sold to this client",
    );
  });

  test("finds rows that only one of the two views has", () => {
    const seen = { ...sound.seen, sales: { ...sales, seats: [] } };
    expect(auditRun({ ...sound, seen })).toEqual([
      'views: only DynamoDB has this row of seats: [["eventId","e"],["seatId","1"]]',
    ]);
  });

  test("finds a total that is not what was paid in", () => {
    expect(auditRun({ ...sound, depositedCents: 51 })).toEqual([
      "money: 51 cents were paid in, the accounts hold 50",
    ]);
  });
});
