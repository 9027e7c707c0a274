/**
 * The judge of a history with BASE transactions (docs/adr/0017-base-transactions.md). Their steps
 * are serializable, among themselves and against ACID transactions that write; each is made once.
 * As wholes they are apart from all ACID ones (base-wholes.ts).
 */
import { isWrite, type History, type HistoryTransaction } from "../history/types.ts";
import { judgeWholes } from "./base-wholes.ts";
import { checkHistory, type CheckOptions, type CheckReport } from "./check-history.ts";
import type { Finding } from "./findings.ts";

/**
 * Judges any history, with BASE transactions or without.
 * @returns as `checkHistory`; beside BASE transactions those who only read are not counted.
 * @example
 * const { findings } = checkHistory(cloud.history(), { strict: true });
 * if (findings.length > 0) throw new Error(findings[0]?.description);
 */
export function checkBaseHistory(history: History, options: CheckOptions): CheckReport {
  if (!history.transactions.some(isOfBase)) return checkHistory(history, options);
  const inSteps = checkHistory(only(history, isInOrderOfSteps), options);
  const bases = history.transactions.filter(({ kind }) => kind === "base");
  const others = only(history, ({ kind }) => kind !== "base");
  const known = new Set(inSteps.findings.map(({ description }) => description));
  const findings = [
    ...inSteps.findings,
    ...stepsMadeTwice(history.transactions),
    ...judgeWholes(others, bases, options).filter(({ description }) => !known.has(description)),
  ];
  const more = findings.length - inSteps.findings.length;
  return { ...inSteps, findings, findingsCount: inSteps.findingsCount + more };
}

function only(history: History, keeps: (transaction: HistoryTransaction) => boolean): History {
  return { ...history, transactions: history.transactions.filter(keeps) };
}

function isOfBase({ kind, parent }: HistoryTransaction): boolean {
  return kind === "base" || parent !== undefined;
}

/** Who only reads is ordered with whole BASE transactions, and may see it between their steps. */
function isInOrderOfSteps({ kind, isolation, ops }: HistoryTransaction): boolean {
  return kind !== "base" && (isolation === "serializable" || ops.some(isWrite));
}

function stepsMadeTwice(transactions: readonly HistoryTransaction[]): readonly Finding[] {
  const made = new Map<string, string[]>();
  for (const { id, status, parent, step } of transactions) {
    if (status !== "commit" || parent === undefined || step === undefined) continue;
    const name = `step ${step.toString()} of ${parent}`;
    made.set(name, [...(made.get(name) ?? []), id]);
  }
  return Array.from(made).flatMap(([name, ids]): Finding[] =>
    ids.length < 2
      ? []
      : [
          {
            anomaly: "step made twice",
            description: `${name} was made by ${ids.join(" and ")}`,
            transactions: ids,
          },
        ],
  );
}
