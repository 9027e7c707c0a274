/**
 * What a seed's result says about a mutant. A broken protocol shows in what it does: in a history
 * that cannot be, in a promise that is not kept. A mutant that merely crashes, since its edit names
 * what is not there or reads a property of nothing, shows nothing: any judge would see it, and none
 * is put to the test. Nor does one that makes the workload's own requests invalid: the first call
 * would tell anybody, and what is refused leaves no history to judge.
 *
 * A seed that does not come back in real time shows that the machine is busy, or that the mutant is
 * slow. What tries again without end comes to more events than a run may have (run-bounds.ts,
 * `eventsMax`), and what waits without end to the end of its virtual time: both are findings, on
 * every machine. Code that never gives its turn back is not seen by either: no mutant is such a
 * break, and one that is would have to be told by a count of its own.
 */
import { ownRequestRefused } from "../client-fleet.ts";
import type { SeedResult } from "../seed-pool.ts";

export type Noticed =
  /** By a judge. */
  | { readonly kind: "caught"; readonly finding: string }
  /** The mutant's own code fails: whatever else the seed shows may follow from that. */
  | { readonly kind: "crashed"; readonly finding: string }
  /** A request of the workload is refused: what is not done may be why other findings are there. */
  | { readonly kind: "refused"; readonly finding: string }
  /** Given up in real time, whatever it might have shown. */
  | { readonly kind: "lost"; readonly finding: string }
  | { readonly kind: "unnoticed" };

/** Errors of a program that is wrong, whatever it was meant to do. */
const ownError = /\b(?:TypeError|ReferenceError|SyntaxError)\b/u;
/** Of a call in a lane, or in what the run itself asks: filling tables, judging, the calm stage. */
const refusal = new RegExp(
  `^(?:the run itself failed|.+: ${ownRequestRefused}): ` +
    "(?:InvalidRequestError|TransactionTooLargeError): ",
  "u",
);

export function noticed(result: SeedResult): Noticed {
  if (result.kind === "lost") {
    const kind = result.reason.startsWith("its process ended") ? "crashed" : "lost";
    return { kind, finding: result.reason };
  }
  const { findings } = result.answer.report;
  const crash = findings.find((finding) => ownError.test(finding));
  if (crash !== undefined) return { kind: "crashed", finding: crash };
  const refused = findings.find((finding) => refusal.test(finding));
  if (refused !== undefined) return { kind: "refused", finding: refused };
  // That a run had few conflicts says nothing of the mutant.
  const finding = findings.find((each) => !each.startsWith("vacuous"));
  return finding === undefined ? { kind: "unnoticed" } : { kind: "caught", finding };
}
