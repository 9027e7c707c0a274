/**
 * Breaks of what lets transactions of one process read from one another before they are committed
 * (engine/chaining).
 */
import { always, instead, never, omitted, when, type Mutant } from "./mutant.ts";

const convoys = { workload: "convoys", isolation: "serializable" } as const;
/** Processes that have many at the same two items all the time, and nothing else in their way. */
const hot = {
  isolation: "serializable",
  history: false,
  clients: 4,
  lanes: 12,
  keys: 2,
  transactions: 800,
  pauseMs: 1,
  hurried: 0,
  faults: {},
} as const;

export const chains: readonly Mutant[] = [
  {
    name: "reads-let-out-early",
    breaks: "a transaction that wrote nothing ends before what it has read is committed",
    edit: omitted,
    changes: convoys,
  },
  {
    name: "errors-let-out-early",
    breaks: "a body's own error tells of what is not committed yet, and never may be",
    edit: omitted,
    changes: convoys,
  },
  {
    name: "overtaken-reads-chained",
    breaks: "a body sees what an undecided commit overwrites beside what it writes",
    edit: omitted,
    changes: convoys,
  },
  {
    name: "chained-reads-not-current",
    breaks: "what was written over a value after its commit does not count: lost updates",
    edit: never,
    changes: convoys,
  },
  {
    name: "failed-commits-relied-on",
    breaks: "a transaction goes on with what it has read from one that was not committed",
    edit: instead("{ this.#reads.delete(write.identity); continue; }"),
    changes: convoys,
  },
  {
    name: "replaced-writes-relied-on",
    breaks: "what a later member of its group has replaced is taken for the group's: lost updates",
    edit: when("local?.isOverwritten(write, tail) === true"),
    changes: convoys,
  },
  {
    name: "doomed-writes-cover",
    breaks: "a commit that is bound to fail hides an undecided one below it from a body",
    edit: instead("this.#of(hash, identity).findLast((write) => isUndecided(write, tail))"),
    changes: convoys,
  },
  {
    name: "members-writes-forgotten",
    breaks: "a group commits what its first member has written, and acknowledges the others",
    edit: omitted,
    changes: convoys,
  },
  {
    name: "members-reads-not-checked",
    breaks: "a group checks what its first member has read, and nothing of the others",
    edit: omitted,
    changes: convoys,
  },
  {
    name: "turns-kept",
    breaks: "a transaction that has ended keeps its turns: whoever wants them waits in vain",
    edit: omitted,
    changes: convoys,
  },
  {
    name: "pages-beside-chained-reads",
    breaks: "a page from the tables is shown beside what a commit is about to write: torn reads",
    edit: when("answer !== undefined"),
    changes: convoys,
  },
  {
    name: "chained-late",
    breaks: "a read that waits for installs overlooks what is about to be written: torn reads",
    edit: when("asked.joins && attempt === 0"),
    changes: convoys,
  },
  {
    name: "no-courtesy",
    breaks: "a process that has won sends again before those that it has beaten: it always wins",
    edit: always,
    changes: { workload: "register", ...hot },
  },
  {
    name: "own-commits-trusted",
    breaks: "a process takes its own last write for the newest: stale reads",
    edit: instead(
      "(view.reads.addKey(key.hashes.key, { table: key.table.name, key: key.key }), " +
        "{ item: own.item })",
    ),
    changes: convoys,
  },
];
