/** The demo's purses: what is written down of payments, and what their audit notices. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type BaseEntry,
  baseEntries,
  BaseJournal,
  type BaseLife,
  type JournaledPayment,
  lastBaseEntry,
  paymentsIn,
} from "../../demo/base/base-journal.ts";
import { killName, killPoints, missedPoints, noKills } from "../../demo/base/kill-points.ts";
import { type Entry, openingCents, pursesOf } from "../../demo/base/payments.ts";
import {
  auditPurses,
  type PaymentState,
  type PurseEvidence,
  type PurseRows,
} from "../../demo/base/purse-audit.ts";

const of = { from: "run-purse-0", to: "run-purse-1", cents: 50 };
const tried = (id: string, way: "steps" | "once" = "steps"): BaseEntry => ({
  ...{ kind: "payment", id, way, of },
});

describe("journals of payments", () => {
  test("are read over all lives, or of one process, without a line that a kill has cut", () => {
    const folder = mkdtempSync(join(tmpdir(), "tidemark-base-"));
    onTestFinished(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    const write = (life: BaseLife, ...written: readonly BaseEntry[]): void => {
      const journal = new BaseJournal(folder, life);
      for (const entry of written) journal.append(entry);
      journal.close();
    };
    const first = { role: "teller", program: 0, life: 1 } as const;
    const killed = { kind: "killed", id: "a", point: "taken" } as const;
    write(first, tried("a"), killed);
    write({ ...first, life: 12 }, tried("b"));
    write({ ...first, role: "runner", life: 2 }, { kind: "taken-over", id: "a" });
    expect(lastBaseEntry(folder, first)).toEqual(killed);
    expect(lastBaseEntry(folder, { ...first, life: 3 })).toBeUndefined();
    expect(baseEntries(folder, first)).toEqual([tried("a"), killed, tried("b")]);
    expect(baseEntries(folder)).toHaveLength(4);
  });

  test("tell what was accepted, refused, told, and left open, over several tries", () => {
    const payments = paymentsIn([
      ...[tried("refused"), { kind: "refused", id: "refused" } as const],
      ...[tried("open"), tried("open"), { kind: "refused", id: "open" } as const],
      ...[tried("told"), { kind: "accepted", id: "told" } as const],
      ...[{ kind: "ended", id: "told", end: "given-back" } as const],
    ]);
    const known = { way: "steps", of, isAccepted: false, end: undefined } as const;
    expect(payments).toEqual([
      { ...known, id: "refused", openTries: 0 },
      { ...known, id: "open", openTries: 1 },
      { ...known, id: "told", openTries: 1, isAccepted: true, end: "given-back" },
    ]);
    expect(() => paymentsIn([{ kind: "accepted", id: "x" }])).toThrow("speaks of x before");
  });
});

test("a run says at which points it has killed nobody", () => {
  const kills = noKills();
  expect(missedPoints(kills)).toHaveLength(2 * killPoints.length);
  for (const name of Object.keys(kills)) kills[name] = 1;
  expect(missedPoints(kills)).toEqual([]);
  kills[killName("runner", "refused")] = 0;
  expect(missedPoints(kills)).toEqual([expect.stringContaining('no runner was killed at "refus')]);
});

const entry = (payment: string, step: Entry["step"], cents = of.cents): Entry => ({
  ...{ payment, step, times: 1 },
  purse: step === "given" ? of.to : of.from,
  cents: step === "taken" ? -cents : cents,
});
const given = [entry("p", "taken"), entry("p", "given")];
const givenBack = [entry("q", "taken"), entry("q", "given-back")];

/** As the entries have it. */
function rowsWith(entries: readonly Entry[]): PurseRows {
  const purses = pursesOf("run").map((id) => {
    const mine = entries.filter(({ purse }) => purse === id);
    return { id, cents: mine.reduce((sum, { cents }) => sum + cents, openingCents) };
  });
  return { purses, entries };
}

const payment = (id: string, more: Partial<JournaledPayment> = {}): JournaledPayment => ({
  ...{ id, way: "steps", of, isAccepted: true, end: undefined, openTries: 1, ...more },
});
const state = (more: Partial<PaymentState>): PaymentState => ({
  ...{ phase: "ended", isReleased: true, end: "given", ...more },
});

const sound: PurseEvidence = {
  payments: [payment("p"), payment("q", { end: "given-back" })],
  begun: new Map([
    ["p", state({})],
    ["q", state({ end: "given-back" })],
  ]),
  stored: rowsWith([...given, ...givenBack]),
  seen: rowsWith([...given, ...givenBack]),
};

function withRows(entries: readonly Entry[]): PurseEvidence {
  return { ...sound, stored: rowsWith(entries), seen: rowsWith(entries) };
}

function withPayment(of: JournaledPayment, ofIt: PaymentState | undefined): PurseEvidence {
  const begun = new Map(ofIt === undefined ? [] : [[of.id, ofIt]]);
  return { ...sound, ...withRows(given), payments: [of], begun };
}

describe("the audit of purses", () => {
  test("is silent where each payment stands as it has ended, and nothing else", () => {
    expect(auditPurses(sound)).toEqual([]);
    const once = { way: "once", isAccepted: false } as const;
    for (const sure of [{ ...once, end: "given" as const }, once]) {
      expect(auditPurses(withPayment(payment("p", sure), undefined))).toEqual([]);
    }
    const refused = payment("r", { isAccepted: false, openTries: 0 });
    expect(auditPurses({ ...sound, payments: [...sound.payments, refused] })).toEqual([]);
  });

  test.each<[string, PurseEvidence, RegExp]>([
    ["lost", withPayment(payment("p"), undefined), /^payments: p was accepted, and the deployment/],
    ["parked", withPayment(payment("p"), state({ phase: "parked", end: undefined })), /"parked"$/],
    ["unreleased", withPayment(payment("p"), state({ isReleased: false })), /and is not released$/],
    [
      "told otherwise",
      withPayment(payment("p", { end: "given-back" }), state({})),
      /^payments: of p its caller was told "given-back", and it ended "given"$/,
    ],
    [
      "half done",
      withRows([entry("p", "taken"), ...givenBack]),
      /^payments: p has ended "given", a/,
    ],
    [
      "refused, and there",
      withPayment(payment("p", { isAccepted: false, openTries: 0 }), undefined),
      /^payments: p has done nothing, and there stands given 50 at run-purse-1, taken -50/,
    ],
    [
      "made up",
      { ...sound, ...withRows([...given, ...givenBack, entry("z", "taken"), entry("z", "given")]) },
      /^payments: z stands, and nobody asked for it$/,
    ],
    [
      "made twice",
      withRows([...given.map((each) => ({ ...each, times: 2 })), ...givenBack]),
      /^payments: "taken" of p was made 2×$/,
    ],
    [
      "money made",
      { ...sound, stored: { ...sound.stored, purses: sound.stored.purses.slice(1) } },
      /^purses: 29050 cents in all, and not 30000$/,
    ],
    ["views", { ...sound, seen: { ...sound.seen, entries: given } }, /^purses: only DynamoDB has/],
  ])("notices what is %s", (_what, evidence, expected) => {
    expect(auditPurses(evidence)).toContainEqual(expect.stringMatching(expected));
  });
});
