/**
 * The checker against the definition of isolation beside native operations: on thousands of small
 * histories it finds something exactly if no legal order exists.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkHistory } from "../../testing/checker/check-history.ts";
import { Findings } from "../../testing/checker/findings.ts";
import { problemOf } from "../../testing/checker/mixed/judge-mixed.ts";
import { nativeKeys, withoutNative } from "../../testing/checker/mixed/own-items.ts";
import { Saturation } from "../../testing/checker/mixed/saturation.ts";
import { buildModel } from "../../testing/checker/model.ts";
import { versionOrders } from "../../testing/checker/version-order.ts";
import type { History } from "../../testing/history/types.ts";
import { sweep } from "../harness/sweep.ts";
import { isLegalBesideNative } from "./native-brute-force.ts";
import { nativeHistoryArbitrary } from "./native-histories.ts";

const numRuns = Number(process.env["TIDEMARK_CHECKER_RUNS"] ?? sweep(300, 1_000));

const isolations = {
  serializable: ["serializable"],
  snapshot: ["snapshot"],
  mixed: ["serializable", "snapshot"],
} as const;

/** What follows from a history, without any search. */
function saturated(history: History, strict: boolean): Saturation {
  const findings = new Findings(0);
  const model = buildModel(history, { abortedReads: false, findings });
  const keys = nativeKeys(model);
  const own = withoutNative(model, history, keys);
  const orders = versionOrders(own.model, own.history, findings);
  const given = { history, model, orders, keys, strict, timestamps: true };
  return new Saturation(problemOf(given, findings));
}

describe.each(["serializable", "snapshot", "mixed"] as const)("%s beside native", (level) => {
  describe.each([false, true])("strict: %s", (strict) => {
    test.each([
      { unknown: false, stores: false, membersMax: 6 },
      { unknown: true, stores: false, membersMax: 6 },
      { unknown: true, stores: true, membersMax: 5 },
    ])("finds something exactly if there is no legal order: %o", (parts) => {
      const seen = { legal: 0, illegal: 0, searched: 0 };
      const shape = { isolations: isolations[level], ...parts };
      fc.assert(
        fc.property(nativeHistoryArbitrary(shape), (history) => {
          fc.pre(history.transactions.some(({ kind }) => kind === "native"));
          const legal = isLegalBesideNative(history, { strict });
          seen[legal ? "legal" : "illegal"] += 1;
          const { findings, undecided } = checkHistory(history, { strict });
          const found = findings.map(({ description }) => description).join("\n");
          expect(findings.length === 0, found).toBe(legal);
          const saturation = saturated(history, strict);
          const isPossible = saturation.run() && saturation.impossible.length === 0;
          // What is said to be illegal for certain is; nearly all that is illegal is found so.
          if (legal) expect(isPossible).toBe(true);
          else if (isPossible && findings.every(({ anomaly }) => anomaly === "no order")) {
            seen.searched += 1;
          }
          expect(undecided).toEqual({ keys: 0, nullReads: 0 });
        }),
        { numRuns },
      );
      if (process.env["TIDEMARK_CHECKER_RUNS"] !== undefined) {
        console.log(level, strict, JSON.stringify(parts), JSON.stringify(seen));
      }
      // Both verdicts must have been at stake.
      expect(Math.min(seen.legal, seen.illegal)).toBeGreaterThan(numRuns / 20);
      expect(seen.searched).toBeLessThan(seen.illegal / 4);
    });
  });
});
