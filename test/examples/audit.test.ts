/**
 * The examples' audits on rows made by hand: silent on sound books, and each rule loud on its own
 * fault.
 */
import { describe, expect, test } from "vitest";
import { auditBank, type BankRows } from "../../examples/bank/audit.ts";
import { auditSales, type SalesRows } from "../../examples/tickets/audit.ts";

const soundBank: BankRows = {
  accounts: [
    { id: "ann", balanceCents: 70, overdraftCents: 0 },
    { id: "bob", balanceCents: -20, overdraftCents: 20 },
  ],
  ledger: [
    { accountId: "ann", entryId: "deposit", amountCents: 40 },
    { accountId: "bob", entryId: "deposit", amountCents: 10 },
    { accountId: "ann", entryId: "t1", amountCents: 30, counterpart: "bob" },
    { accountId: "bob", entryId: "t1", amountCents: -30, counterpart: "ann" },
  ],
};

describe("the bank's audit", () => {
  test("is silent when the books are in order", () => {
    expect(auditBank(soundBank)).toEqual([]);
  });

  test("finds made money, and the account whose ledger does not explain it", () => {
    const [ann, bob] = soundBank.accounts;
    const accounts = [{ ...ann!, balanceCents: 71 }, bob!];
    expect(auditBank({ ...soundBank, accounts })).toEqual([
      "money: 50 cents were deposited, the accounts hold 51",
      "ledger: account ann stands at 71 cents, its entries add up to 70",
    ]);
  });

  test("finds money moved without a transfer, although the total is right", () => {
    const [ann, bob] = soundBank.accounts;
    const accounts = [
      { ...ann!, balanceCents: 69 },
      { ...bob!, balanceCents: -19 },
    ];
    expect(auditBank({ ...soundBank, accounts })).toEqual([
      "ledger: account ann stands at 69 cents, its entries add up to 70",
      "ledger: account bob stands at -19 cents, its entries add up to -20",
    ]);
  });

  test("finds an overdraft of one cent too many, and allows the last one", () => {
    const [ann, bob] = soundBank.accounts;
    const accounts = [ann!, { ...bob!, overdraftCents: 19 }];
    expect(auditBank({ ...soundBank, accounts })).toEqual([
      "overdraft: account bob stands at -20 cents",
    ]);
  });

  test("finds a ledger entry without its other half", () => {
    const ledger = soundBank.ledger.slice(0, 3);
    const accounts = [
      { id: "ann", balanceCents: 70, overdraftCents: 0 },
      { id: "bob", balanceCents: 10, overdraftCents: 0 },
    ];
    expect(auditBank({ accounts, ledger })).toEqual([
      "money: 50 cents were deposited, the accounts hold 80",
      "ledger: transfer t1 of ann has no other half",
    ]);
  });

  test("finds entries of an account that is gone", () => {
    const accounts = soundBank.accounts.slice(0, 1);
    expect(auditBank({ ...soundBank, accounts })).toContain(
      "ledger: entries of bob, which is no account",
    );
  });
});

const soundSales: SalesRows = {
  events: [{ eventId: "e", name: "Event", priceCents: 5 }],
  seats: [
    { eventId: "e", seatId: "1", orderId: "o1" },
    { eventId: "e", seatId: "2", orderId: "o1" },
    { eventId: "e", seatId: "3" },
  ],
  orders: [
    { orderId: "o1", eventId: "e", customer: "ann", seatIds: ["1", "2"], state: "paid" },
    { orderId: "o2", eventId: "e", customer: "bob", seatIds: ["2", "3"], state: "cancelled" },
  ],
  payments: [
    { orderId: "o1", amountCents: 10, state: "received" },
    { orderId: "o2", amountCents: 10, state: "refunded" },
  ],
};

describe("the box office's audit", () => {
  test("is silent when every sale is in order", () => {
    expect(auditSales(soundSales)).toEqual([]);
  });

  test("finds a seat sold twice", () => {
    const orders = soundSales.orders.map((order) => ({ ...order, state: "paid" as const }));
    const payments = soundSales.payments.map((payment) => ({
      ...payment,
      state: "received" as const,
    }));
    expect(auditSales({ ...soundSales, orders, payments })).toEqual([
      "sold twice: seat 2 of e, to o1 and to o2",
      "order: o2 has paid seat 2 of e and does not have it",
      "order: o2 has paid seat 3 of e and does not have it",
    ]);
  });

  test.each(["o2", "nobody", "o1"])("finds a seat held by %s, who has not paid it", (orderId) => {
    const [one, two] = soundSales.seats;
    const seats = [one!, two!, { eventId: "e", seatId: "3", orderId }];
    expect(auditSales({ ...soundSales, seats })).toEqual([
      `seat: seat 3 of e is held by ${orderId}, which has not paid it`,
    ]);
  });

  test("finds a paid order without one of its seats", () => {
    const [one, , three] = soundSales.seats;
    const seats = [one!, { eventId: "e", seatId: "2" }, three!];
    expect(auditSales({ ...soundSales, seats })).toEqual([
      "order: o1 has paid seat 2 of e and does not have it",
    ]);
  });

  test("finds a missing payment, a wrong amount, a wrong state, and a payment of no order", () => {
    const [first, second] = soundSales.payments;
    const withPayments = (payments: SalesRows["payments"]) =>
      auditSales({ ...soundSales, payments });
    expect(withPayments([first!])).toEqual(["payment: order o2 costs 10 cents, paid 0"]);
    expect(withPayments([{ ...first!, amountCents: 9 }, second!])).toEqual([
      "payment: order o1 costs 10 cents, paid 9",
    ]);
    expect(withPayments([first!, { ...second!, state: "received" }])).toEqual([
      "payment: order o2 is cancelled, its payment received",
    ]);
    expect(withPayments([first!, second!, { ...first!, orderId: "o3" }])).toEqual([
      "payment: of o3, which is no order",
    ]);
  });
});
