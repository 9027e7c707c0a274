/** Whether a run proves something, and what it needs to. */
import { describe, expect, test } from "vitest";
import type { TransactionId } from "../../core/types.ts";
import type { EngineEvent } from "../../engine/types.ts";
import { Balance, type Mood } from "../../simulation/balance.ts";
import type { HistoryTransaction } from "../../testing/history/types.ts";
import { aborted, tx } from "../testing/history-builder.ts";

const sent: EngineEvent = {
  kind: "sent",
  call: 1,
  transactionId: "0".repeat(32) as TransactionId,
  resend: false,
  via: "stream",
};

function conflict(early: boolean): EngineEvent {
  const base = { kind: "attempt-aborted", call: 1, attempt: 1, transactionId: undefined } as const;
  return { ...base, reason: "conflict", detail: undefined, early };
}

type Run = { readonly commits: number; readonly aborts: number; readonly conflicts: number };

/** Each transaction is an attempt to write; the oracle finds the conflicts. */
function after({ commits, aborts, conflicts }: Run): {
  readonly balance: Balance;
  readonly transactions: readonly HistoryTransaction[];
} {
  const balance = new Balance();
  const transactions = Array.from({ length: commits + aborts }, (_unused, i) =>
    tx(`t${i.toString()}`, "", i < commits ? {} : aborted),
  );
  for (const [i, transaction] of transactions.entries()) {
    balance.observe(sent);
    if (i < conflicts) balance.observe(conflict(false));
    balance.ended(transaction);
  }
  return { balance, transactions };
}

describe("a run", () => {
  test.each<[string, Run, RegExp[]]>([
    ["of 30 % commits and 5 % conflicts proves something", run(30, 70, 5), []],
    [
      "of 29 % commits proves nothing",
      run(29, 71, 5),
      [/^vacuous: 29.0 % of the attempts commit/u],
    ],
    [
      "of 4 % conflicts proves nothing",
      run(80, 20, 4),
      [/^vacuous: 4.0 % of the attempts to write/u],
    ],
    ["of neither says both", run(0, 100, 0), [/committed$/u, /conflict$/u]],
  ])("%s", (_title, shares, complaints) => {
    const { balance, transactions } = after(shares);
    const found = balance.complaints(transactions);
    expect(found).toHaveLength(complaints.length);
    for (const [i, pattern] of complaints.entries()) expect(found[i]).toMatch(pattern);
  });

  test.each<[Mood, string, Run]>([
    ["crowded", "few conflicts are met", run(95, 5, 5)],
    ["spread", "few commits come through, whatever the conflicts", run(35, 65, 2)],
    ["even", "there are enough of both", run(50, 50, 20)],
  ])("is %s while %s", (mood, _while, shares) => {
    expect(after(shares).balance.mood).toBe(mood);
  });

  test("counts an attempt whose client finds the conflict itself, no copy of a request", () => {
    const balance = new Balance();
    balance.observe(conflict(true));
    for (let i = 0; i < 9; i += 1) balance.observe(sent);
    for (let i = 0; i < 90; i += 1) balance.observe({ ...sent, resend: true });
    // One in ten.
    expect([balance.conflicts, balance.mood]).toEqual([1, "even"]);
  });
});

function run(commits: number, aborts: number, conflicts: number): Run {
  return { commits, aborts, conflicts };
}
