/**
 * Breaks of what keeps native operations and transactions apart on mixed tables
 * (docs/adr/0014-native-operations.md). Names are those of the model's mistakes, where it has them
 * (model/harness/mutants.ts).
 *
 * Not all of the model's are here: the small steps of one item are judged by test/engine/mixed,
 * whose titles name some. Three cannot show here. A nonce that is used for each attempt of a fence
 * (`fence-nonce-again`), and an install that goes by the fence alone (`installs-by-fence`): a fence
 * whose answer was lost is not voted on any more, so what comes late is no fence of a commit.
 * Read-only transactions over one item that pass a fence (`read-only-over-fence`): they read as all
 * others do, so that is `reads-around`.
 */
import type { SeedPlan } from "../seed-plan.ts";
import { always, instead, never, omitted, preceded, type Mutant } from "./mutant.ts";

const beside: Partial<SeedPlan> = { natives: 4, nativeShare: 2 };
const crowded: Partial<SeedPlan> = { ...beside, keys: 4, clients: 8 };
const calm: Partial<SeedPlan> = { natives: 1, nativeShare: 0.3, keys: 12, clients: 4 };

/** Before a transaction has its place in the log, or beside its fences. */
const recheck = (how: string): string =>
  `const voted = native.compare(id, call); voted.catch(() => undefined);${how}`;

export const native: readonly Mutant[] = [
  {
    name: "verify-first",
    breaks: "what was only read is compared before the place in the log: a cycle through writes",
    edit: {
      "verify-before-place": preceded(recheck(" await voted;")),
      "verify-first": instead("undefined"),
    },
    changes: { ...crowded, workload: "status-updates" },
  },
  {
    name: "rechecks-beside-fences",
    breaks: "what was only read is compared while fences are still on their way",
    edit: {
      "recheck-begins-with-fences": preceded(recheck("")),
      "rechecks-beside-fences": instead("await voted"),
    },
    changes: { ...crowded, workload: "status-updates" },
  },
  {
    name: "rows-of-pages-not-compared",
    breaks: "a row that a page covers is written unread, over a native write that nobody notices",
    edit: instead("undefined"),
    changes: { ...crowded, workload: "native-rows" },
  },
  {
    name: "update-over-fence",
    breaks: "an aware update lands between fence and install, and is lost",
    edit: instead("false"),
    changes: { ...crowded, workload: "stock" },
  },
  {
    name: "reads-around",
    breaks: "a reader passes a commit that is on its way to the item: stale reads",
    edit: always,
    changes: { ...crowded, workload: "status-updates" },
  },
  {
    name: "reads-do-not-bar",
    breaks: "what a prepared transaction has read may be written before it is decided",
    edit: instead("first(this.#written.get(key))"),
    changes: { ...crowded, workload: "price-lists" },
  },
  {
    name: "writes-do-not-bar",
    breaks: "what a prepared transaction writes may be read, and relied on, before it is decided",
    edit: instead("undefined"),
    changes: { ...crowded, workload: "stock" },
  },
  {
    name: "no-placeholder",
    breaks: "a fence where nothing stands is an item for whoever reads it",
    edit: omitted,
    changes: { ...beside, workload: "unique-names" },
  },
  {
    name: "installs-by-identity",
    breaks: "a commit is put over what a program has read and put back, without the fence",
    edit: instead("to.expressions(to.has(stamp, table.partitionKey))"),
    changes: { ...crowded, workload: "sessions" },
  },
  {
    name: "local-by-identity",
    breaks: "a local commit goes by the identity alone: updates of unaware programs are lost",
    edit: instead("{ expects, content: undefined }"),
    changes: { ...crowded, workload: "tallies" },
  },
  {
    name: "local-blind-over-fence",
    breaks: "a blind local commit passes a fence: it lies before what was acknowledged before it",
    edit: instead("return {};"),
    changes: { ...crowded, workload: "sessions" },
  },
  {
    name: "read-only-does-not-settle",
    breaks: "who only reads does not wait for what is about to write what it has read",
    edit: instead("undefined"),
    changes: { ...crowded, workload: "status-updates" },
  },
  {
    name: "read-only-unchecked",
    breaks: "who only reads believes that what it has read is of one moment",
    edit: instead("undefined"),
    changes: { ...crowded, workload: "stock" },
  },
  {
    name: "lost-fences-voted",
    breaks: "a fence whose answer was lost is voted on: what is committed is never installed",
    edit: instead('{ kind: "fenced", stamp: stampOf(call.expects, nonce) }'),
    // Where nobody is in the way: else it is voted down before the lost call is given up.
    changes: { ...calm, workload: "stock", faults: { "request-lost": 0.05 } },
  },
  {
    name: "fence-compares-nothing",
    breaks: "what a fence shows is not held against what was read: native updates are lost",
    edit: never,
    changes: { ...crowded, workload: "stock" },
  },
];
