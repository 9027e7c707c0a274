/**
 * Breaks of what holds transactions over several shards together
 * (docs/adr/0015-many-shards.md). Names are those of the model's mistakes, where it has them
 * (model/harness/mutants.ts).
 *
 * Not all of the model's are here. What a part bars it bars as anything prepared does
 * (`writes-do-not-bar`, `reads-do-not-bar`). That to ask to
 * abort a part has no effect on it, and that a write outside of its shard is refused, honest
 * clients never put to the test: test/traces/oracle-parts.trace does. Nor is it here that a row of
 * a scan, written unread, is looked at in another shard than the one that reads the page again: it
 * takes a native delete between a fence and the look, of a row that another transaction has put
 * since the scan, and 44 seeds of such had none. test/engine/sharded/scanned-rows.test.ts has one.
 */
import type { SeedPlan } from "../seed-plan.ts";
import { always, instead, never, omitted, when, type Mutant } from "./mutant.ts";

const several: Partial<SeedPlan> = { shards: 3, closings: 0, mixed: false };
const crowded: Partial<SeedPlan> = { ...several, keys: 4, clients: 8 };
/** What votes: transactions over mixed tables. */
const voting: Partial<SeedPlan> = { ...crowded, mixed: true };
/** Beside natives, where nothing but their writes comes between: such seeds are short. */
const beside: Partial<SeedPlan> = {
  ...{ ...several, splits: 0, joins: 0, isolation: "serializable", commit: "express" },
  ...{ lanes: 1, transactions: 80, hashBits: 64, faults: {} },
};

export const sharded: readonly Mutant[] = [
  {
    name: "outcome-from-one-log",
    breaks: "a transaction is committed because one log has prepared it: half of it may be",
    edit: when("!isPrepared && greatest === 0"),
    changes: { ...crowded, workload: "bank" },
  },
  {
    name: "commits-on-some-parts",
    breaks: "a client takes a commit for done of which one log has not answered",
    edit: never,
    changes: { ...crowded, workload: "bank" },
  },
  {
    name: "aborted-when-unknown",
    breaks: "a client that knows of nothing enters an abort, where all may have been prepared",
    edit: always,
    changes: { ...crowded, workload: "bank", hurried: 0.3 },
  },
  {
    name: "unseen-taken-for-aborted",
    breaks: "who waits enters an abort without asking for it: the part may come yet",
    edit: instead((own) => `${own} ?? { kind: "aborted" as const }`),
    changes: { ...crowded, workload: "bank", commit: "express" },
  },
  {
    name: "readers-pass-open-parts",
    breaks: "a reader takes what is open for not committed: its client may have been told it is",
    edit: instead("[]"),
    changes: { ...crowded, workload: "bank" },
  },
  {
    name: "no-final-refresh",
    breaks: "what was read of several shards is let out without a look at their ends",
    edit: omitted,
    changes: { ...crowded, workload: "register", isolation: "serializable" },
  },
  {
    name: "parts-check-writes-only",
    breaks: "what a part has only read bars nobody: write skew over two shards",
    edit: instead('{ isolation: "snapshot", reads, writes } as const'),
    changes: { ...crowded, workload: "list-append", isolation: "serializable", commit: "stream" },
  },
  {
    name: "counts-where-placed",
    breaks: "a part counts where its log has it: the past of a moment shows one half",
    edit: instead("timestamp"),
    changes: { ...crowded, workload: "bank" },
  },
  {
    name: "as-of-above-the-log",
    breaks: "the past is read of a log that has not come so far: what counts there comes yet",
    edit: omitted,
    changes: { ...several, workload: "past", history: true },
  },
  {
    name: "outcome-asks-one-shard",
    breaks: "an id is looked for in one log: what the others have committed is called aborted",
    edit: instead((own) => `(${own}).slice(0, 1)`),
    changes: { ...crowded, workload: "bank", hurried: 0.3 },
  },
  {
    name: "writes-in-all-shards",
    breaks: "writes of one shard are sent to all: they are committed where nobody looks",
    edit: always,
    changes: { ...crowded, workload: "bank" },
  },
  {
    name: "outcome-of-any-log",
    breaks: "what is prepared in all of its logs is committed, whatever its client votes",
    edit: never,
    changes: { ...voting, workload: "bank", commit: "express" },
  },
  {
    name: "enters-without-stamps",
    breaks:
      "a log that does not decide has no stamps of the vote: what lies there is not installed",
    edit: instead("[]"),
    changes: { ...voting, workload: "bank" },
  },
  {
    name: "parts-not-compared",
    breaks: "what was only read is not read again once the parts are placed: write skew by natives",
    edit: instead("undefined"),
    // Of a circle some users have to be read, and not marked.
    changes: {
      ...{ ...beside, shards: 2, workload: "status-updates", keys: 8, clients: 4 },
      ...{ natives: 2, nativeShare: 1 },
    },
  },
  {
    name: "scans-bar-in-one-shard",
    breaks: "a scan of a mixed table bars new rows in the first shard only",
    edit: omitted,
    changes: { ...voting, workload: "phantom", isolation: "serializable" },
  },
  {
    name: "read-only-looks-at-one-log",
    breaks: "who only reads mixed tables of several shards looks at the end of one log",
    edit: instead("await views.at(-1)?.extendToEnd()"),
    // What was read of mixed tables is compared in any case: it takes another table's row beside.
    changes: { ...beside, workload: "stock", keys: 4, clients: 6, natives: 1, nativeShare: 0.3 },
  },
  {
    name: "fork-forgets-who-decides",
    breaks: "what waits for its vote at a fork is decided in both logs, by each one's first vote",
    edit: never,
    changes: { ...voting, shards: 1, splits: 3, workload: "bank" },
  },
];
