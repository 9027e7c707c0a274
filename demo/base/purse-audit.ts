/**
 * What must hold of purses and payments. While all runs: whoever is no step finds all the money,
 * and each payment whole or not at all. In the end: what was accepted has ended as its caller was
 * told, each step of it was made once, and nothing stands that nobody asked for.
 */
import type { BaseStatus, Snapshot } from "../../sdk/index.ts";
import type { JournaledPayment } from "./base-journal.ts";
import {
  entries,
  type Entry,
  openingCents,
  type PaymentEnd,
  type Purse,
  purseCount,
  purses,
  pursesOf,
} from "./payments.ts";

const totalCents = purseCount * openingCents;

export type PurseRows = { readonly purses: readonly Purse[]; readonly entries: readonly Entry[] };

/** In the middle of it all. @returns what does not add up, or nothing. */
export async function auditLive(
  reads: Snapshot,
  { runId, payments }: { readonly runId: string; readonly payments: readonly string[] },
): Promise<readonly string[]> {
  const rows = await reads.batchGet(purses, pursesOf(runId));
  const held = rows.reduce((sum, row) => sum + (row?.cents ?? 0), 0);
  const faults = held === totalCents ? [] : [`${held} cents in all purses, and not ${totalCents}`];
  for (const payment of payments) {
    const steps = await reads.query(entries, { where: { payment } }).all();
    if (sumOf(steps) !== 0) faults.push(`payment ${payment} is seen half done: ${named(steps)}`);
  }
  return faults;
}

/** What the deployment says of a payment in steps. */
export type PaymentState = Pick<BaseStatus, "phase" | "isReleased"> & {
  /** What its handler returned; undefined: it has not ended. */
  readonly end: PaymentEnd | undefined;
};

export type PurseEvidence = {
  readonly payments: readonly JournaledPayment[];
  /** Of those in steps, those that have begun. */
  readonly begun: ReadonlyMap<string, PaymentState>;
  /** By plain scans, when all is released and installed. */
  readonly stored: PurseRows;
  /** By one snapshot of the SDK. */
  readonly seen: PurseRows;
};

/** When nothing runs any more. @returns what is wrong, one line each. */
export function auditPurses(evidence: PurseEvidence): readonly string[] {
  const { payments, stored, seen } = evidence;
  const byPayment = grouped(stored.entries, ({ payment }) => payment);
  const faults = payments.flatMap((payment) => {
    const steps = byPayment.get(payment.id) ?? [];
    byPayment.delete(payment.id);
    return paymentFaults(payment, steps, evidence.begun.get(payment.id));
  });
  return [
    ...faults,
    ...[...byPayment.keys()].map((id) => `payments: ${id} stands, and nobody asked for it`),
    ...stored.entries
      .filter(({ times }) => times !== 1)
      .map(({ payment, step, times }) => `payments: "${step}" of ${payment} was made ${times}×`),
    ...balanceFaults(stored),
    ...differences("purse", seen.purses, stored.purses),
    ...differences("entry", seen.entries, stored.entries),
  ];
}

function paymentFaults(
  payment: JournaledPayment,
  steps: readonly Entry[],
  state: PaymentState | undefined,
): readonly string[] {
  const { id, way, isAccepted, openTries } = payment;
  const end = way === "once" ? payment.end : state?.end;
  if (way === "steps" && state === undefined && (isAccepted || payment.end !== undefined)) {
    return [`payments: ${id} was accepted, and the deployment knows nothing of it`];
  }
  if (state !== undefined && (state.end === undefined || !state.isReleased)) {
    const released = state.isReleased ? "" : ", and is not released";
    return [`payments: ${id} was accepted, and stands at "${state.phase}"${released}`];
  }
  if (payment.end !== undefined && payment.end !== end) {
    return [`payments: of ${id} its caller was told "${payment.end}", and it ended "${end ?? ""}"`];
  }
  if (end !== undefined) return stepFaults(payment, steps, end);
  if (steps.length === 0) return [];
  // At once, and its caller was killed before it heard: all of it, or nothing.
  if (way === "once" && openTries > 0) return stepFaults(payment, steps, "given");
  return [`payments: ${id} has done nothing, and there stands ${named(steps)}`];
}

function stepFaults(
  { id, of: { from, to, cents } }: JournaledPayment,
  steps: readonly Entry[],
  end: PaymentEnd,
): readonly string[] {
  const wanted: readonly Omit<Entry, "times">[] = [
    { payment: id, step: "taken", purse: from, cents: -cents },
    { payment: id, step: end, purse: end === "given" ? to : from, cents },
  ];
  if (named(wanted) === named(steps)) return [];
  return [`payments: ${id} has ended "${end}", and there stands ${named(steps)}`];
}

function balanceFaults({ purses: all, entries: made }: PurseRows): readonly string[] {
  const held = all.reduce((sum, { cents }) => sum + cents, 0);
  const byPurse = grouped(made, ({ purse }) => purse);
  return [
    ...(held === totalCents ? [] : [`purses: ${held} cents in all, and not ${totalCents}`]),
    ...all.flatMap(({ id, cents }) => {
      const booked = openingCents + sumOf((byPurse.get(id) ?? []).map(timesOver));
      return cents === booked
        ? []
        : [`purses: ${id} holds ${cents} cents, and its entries come to ${booked}`];
    }),
    ...all
      .filter(({ cents }) => cents < 0)
      .map(({ id, cents }) => `purses: ${id} holds ${cents} cents`),
  ];
}

function grouped(rows: readonly Entry[], by: (row: Entry) => string): Map<string, Entry[]> {
  const groups = new Map<string, Entry[]>();
  for (const row of rows) groups.set(by(row), [...(groups.get(by(row)) ?? []), row]);
  return groups;
}

function timesOver({ cents, times }: Entry): { readonly cents: number } {
  return { cents: cents * times };
}

function sumOf(rows: readonly { readonly cents: number }[]): number {
  return rows.reduce((sum, { cents }) => sum + cents, 0);
}

function named(steps: readonly Omit<Entry, "times">[]): string {
  const texts = steps.map(({ step, purse, cents }) => `${step} ${cents} at ${purse}`);
  return texts.length === 0 ? "nothing" : texts.sort().join(", ");
}

/** A snapshot of the SDK and plain scans show the same rows. */
function differences(
  what: string,
  seen: readonly object[],
  stored: readonly object[],
): readonly string[] {
  const scanned = new Set(stored.map(canonical));
  const missing = seen.map(canonical).filter((row) => !scanned.delete(row));
  return [
    ...missing.map((row) => `purses: only the SDK sees this ${what}: ${row}`),
    ...[...scanned].map((row) => `purses: only DynamoDB has this ${what}: ${row}`),
  ];
}

function canonical(row: object): string {
  return JSON.stringify(Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1)));
}
