/**
 * The checker's rules of BASE transactions against their definition: on thousands of small
 * histories it finds something exactly if the steps have no legal order, or the whole BASE
 * transactions are not apart from the ACID ones.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkBaseHistory } from "../../testing/checker/check-base.ts";
import {
  isWrite,
  type History,
  type HistoryTransaction,
  type VersionOrder,
} from "../../testing/history/types.ts";
import { sweep } from "../harness/sweep.ts";
import { areApart } from "./base-brute-force.ts";
import { isLegal } from "./brute-force.ts";
import { historyArbitrary } from "./random-histories.ts";

const runs = { numRuns: Number(process.env["TIDEMARK_CHECKER_RUNS"] ?? sweep(300, 1_000)) };

const shape = {
  isolations: ["serializable"],
  readsBeforeWrites: false,
  deletions: false,
  timestamps: false,
} as const;

/** Of each transaction: no step, one of the first BASE transaction, or of the second. */
const parts = fc.array(fc.constantFrom("acid", "b1", "b2"), { minLength: 5, maxLength: 5 });
/** How long after its last step each was told; negative: never. */
const told = fc.array(fc.integer({ min: -10, max: 30 }), { minLength: 2, maxLength: 2 });

function withBases(
  transactions: readonly HistoryTransaction[],
  parents: readonly string[],
  delays: readonly number[],
): readonly HistoryTransaction[] {
  const steps = new Map<string, number>();
  const members = transactions.map((transaction, i): HistoryTransaction => {
    const parent = parents[i] ?? "acid";
    if (parent !== "acid") {
      const step = (steps.get(parent) ?? 0) + 1;
      steps.set(parent, step);
      return { ...transaction, parent, step };
    }
    // Who only reads does so by a snapshot.
    const reads = !transaction.ops.some(isWrite);
    return reads ? { ...transaction, isolation: "snapshot" } : transaction;
  });
  const bases = ["b1", "b2"].flatMap((id, i): HistoryTransaction[] => {
    const own = members.filter(({ parent }) => parent === id);
    const delay = delays[i] ?? 0;
    if (own.length === 0) return [];
    const end = Math.max(...own.map((each) => each.end)) + Math.max(0, delay);
    const status = delay < 0 ? "unknown" : "commit";
    const fixed = { process: "p", kind: "base", isolation: "serializable", ops: [] } as const;
    return [{ ...fixed, id, start: 0, end, status }];
  });
  return [...members, ...bases];
}

/** The last version that each committed one left of each key, in the order of the schedule. */
function ordersOf(transactions: readonly HistoryTransaction[]): VersionOrder[] {
  const orders = new Map<string, string[]>();
  const committed = transactions.filter(({ status }) => status === "commit");
  for (const { ops } of [...committed].sort((a, b) => a.start - b.start)) {
    const last = new Map<string, string>();
    for (const [, key, version] of ops.filter(isWrite)) last.set(key, version);
    for (const [key, version] of last) orders.set(key, [...(orders.get(key) ?? []), version]);
  }
  return Array.from(orders, ([key, versions]) => ({ key, versions }));
}

describe.each([false, true])("strict: %s", (strict) => {
  test("finds something exactly if steps or wholes have no legal order", () => {
    const seen = { legal: 0, notInSteps: 0, notApart: 0 };
    fc.assert(
      fc.property(historyArbitrary(shape), parts, told, (drawn, parents, delays) => {
        const transactions = withBases(drawn, parents, delays);
        const history: History = { transactions, versionOrder: ordersOf(transactions) };
        const inSteps = transactions.filter(
          ({ kind, isolation }) => kind !== "base" && isolation === "serializable",
        );
        const rules = { strict, timestamps: false };
        const areSteps = isLegal({ ...history, transactions: inSteps }, rules);
        const readers = transactions.filter(({ isolation }) => isolation === "snapshot");
        const areReads = readers.every((reader) => readsAreLeft(reader, history));
        const isApart = areApart(history, { strict });
        const { findings } = checkBaseHistory(history, rules);
        const text = findings.map(({ description }) => description).join("\n");
        expect(findings.length === 0, text).toBe(areSteps && areReads && isApart);
        if (!areSteps || !areReads) seen.notInSteps += 1;
        else if (!isApart) seen.notApart += 1;
        else seen.legal += 1;
      }),
      runs,
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(runs.numRuns / 100);
  });
});

/** What it has read a committed transaction has left there. */
function readsAreLeft({ ops, status }: HistoryTransaction, { versionOrder }: History): boolean {
  if (status !== "commit") return true;
  const found = new Map<string, string | null>();
  return ops.every(([, key, version]) => {
    const isSame = !found.has(key) || found.get(key) === version;
    found.set(key, version);
    const left = versionOrder?.find((order) => order.key === key)?.versions ?? [];
    return isSame && (version === null || left.includes(version));
  });
}

test("a step that two runs have made is found", () => {
  const step: Omit<HistoryTransaction, "id"> = {
    process: "p",
    start: 1,
    end: 2,
    status: "commit",
    kind: "txn",
    isolation: "serializable",
    ops: [],
    parent: "b",
    step: 1,
  };
  const transactions = [
    { ...step, id: "p:1" },
    { ...step, id: "p:2", start: 3, end: 4 },
  ];
  const { findings } = checkBaseHistory({ transactions }, { strict: true });
  expect(findings.map(({ anomaly }) => anomaly)).toEqual(["step made twice"]);
});
