/**
 * The audit of a run: what the clients were told against what the tables hold, the SDK's view of
 * the tables against DynamoDB's own, and the rules of the bank and of the box office. Pure: rows
 * and journals in, faults out.
 */
import { auditBank, type BankRows, totalCents } from "../examples/bank/audit.ts";
import { ledger } from "../examples/bank/bank.ts";
import { auditSales, type SalesRows } from "../examples/tickets/audit.ts";
import { orders } from "../examples/tickets/tickets.ts";
import type { Operation } from "./operations.ts";
import type { SettledOperation } from "./settle.ts";
import { type StoredRows, versionKey } from "./stored-rows.ts";

export type RunEvidence = {
  /** Paid in before the run began. */
  readonly depositedCents: number;
  readonly operations: readonly SettledOperation[];
  /** Read by one snapshot of the SDK. */
  readonly seen: { readonly bank: BankRows; readonly sales: SalesRows };
  readonly stored: StoredRows;
};

/** What is wrong, one line each; nothing if all is well. */
export function auditRun(evidence: RunEvidence): string[] {
  const { depositedCents, seen, stored } = evidence;
  const held = totalCents(stored.bank);
  return [
    ...(held === depositedCents
      ? []
      : [`money: ${depositedCents} cents were paid in, the accounts hold ${held}`]),
    ...auditBank(stored.bank).map((fault) => `stored: ${fault}`),
    ...auditSales(stored.sales).map((fault) => `stored: ${fault}`),
    ...auditBank(seen.bank).map((fault) => `snapshot: ${fault}`),
    ...auditSales(seen.sales).map((fault) => `snapshot: ${fault}`),
    ...differences(evidence),
    ...promises(evidence),
  ];
}

/** A snapshot of the SDK and plain scans show the same rows. */
function differences({ seen, stored }: RunEvidence): string[] {
  const tables: readonly [string, readonly object[], readonly object[]][] = [
    ["accounts", seen.bank.accounts, stored.bank.accounts],
    ["ledger", seen.bank.ledger, stored.bank.ledger],
    ["events", seen.sales.events, stored.sales.events],
    ["seats", seen.sales.seats, stored.sales.seats],
    ["orders", seen.sales.orders, stored.sales.orders],
    ["payments", seen.sales.payments, stored.sales.payments],
  ];
  return tables.flatMap(([name, bySdk, byScan]) => {
    const scanned = new Set(byScan.map(canonical));
    const missing = bySdk.map(canonical).filter((row) => !scanned.delete(row));
    return [
      ...missing.map((row) => `views: only the SDK sees this row of ${name}: ${row}`),
      ...[...scanned].map((row) => `views: only DynamoDB has this row of ${name}: ${row}`),
    ];
  });
}

function canonical(row: object): string {
  return JSON.stringify(Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/**
 * Nothing acknowledged is missing; nothing aborted or refused is there; each at its own timestamp.
 */
function promises({ operations, stored }: RunEvidence): string[] {
  const standing = new Map<string, Standing>();
  for (const { accountId, entryId, amountCents, counterpart } of stored.bank.ledger) {
    if (counterpart === undefined) continue;
    const version = stored.versions.get(versionKey(ledger, accountId, entryId)) ?? 0;
    const standingNow = standing.get(entryId)?.facts ?? [];
    const fact = `${accountId} ${amountCents} ${counterpart}`;
    standing.set(entryId, { facts: [...standingNow, fact].sort(), version });
  }
  for (const { orderId, eventId, seatIds, state } of stored.sales.orders) {
    const version = stored.versions.get(versionKey(orders, orderId)) ?? 0;
    standing.set(orderId, { facts: [`${eventId} ${seatIds.join(" ")}`], version });
    if (state === "cancelled") standing.set(`${orderId}-c`, { facts: ["cancelled"], version });
  }
  const cancelled = new Set(
    operations
      .filter(({ operation, acknowledged }) => {
        return operation.kind === "cancellation" && acknowledged?.done === true;
      })
      .map(({ operation }) => operation.id),
  );
  const found = operations.flatMap((settled) => {
    const { id } = settled.operation;
    const stands = standing.get(id);
    standing.delete(id);
    return promiseFaults(settled, stands, cancelled.has(`${id}-c`));
  });
  for (const id of standing.keys()) found.push(`made up: ${id} stands, and no client asked for it`);
  return found;
}

type Standing = { readonly facts: readonly string[]; readonly version: number };

function promiseFaults(
  { operation, acknowledged, transactionIds }: SettledOperation,
  stands: Standing | undefined,
  overwritten: boolean,
): string[] {
  const { kind, id } = operation;
  if (acknowledged?.done !== true) {
    if (kind === "cancellation" && acknowledged !== undefined) {
      return [`missing: ${id} was refused, although its order had been sold to this client`];
    }
    if (stands === undefined) return [];
    const what = acknowledged === undefined ? "aborted" : "refused";
    const requests = transactionIds.join(", ");
    return [
      `not undone: ${kind} ${id} (requests: ${requests}) was ${what}, and stands at ` +
        `${stands.version}`,
    ];
  }
  const { commitTimestamp, transactionId } = acknowledged;
  if (stands === undefined) {
    return [`missing: ${kind} ${id} was acknowledged as ${transactionId} at ${commitTimestamp}`];
  }
  const expected = expectedFacts(operation);
  if (JSON.stringify(stands.facts) !== JSON.stringify(expected)) {
    return [
      `altered: ${kind} ${id} should be ${expected.join(", ")}, is ${stands.facts.join(", ")}`,
    ];
  }
  if (overwritten || stands.version === commitTimestamp) return [];
  return [
    `moved: ${kind} ${id} was acknowledged at ${commitTimestamp}, stands at ${stands.version}`,
  ];
}

function expectedFacts(operation: Operation): string[] {
  switch (operation.kind) {
    case "transfer": {
      const { source, target, amountCents } = operation;
      return [`${source} ${-amountCents} ${target}`, `${target} ${amountCents} ${source}`].sort();
    }
    case "purchase":
      return [`${operation.eventId} ${operation.seatIds.join(" ")}`];
    case "cancellation":
      return ["cancelled"];
  }
}
