/**
 * Breaks of what lets transactions of one process read from one another before they are committed
 * (engine/chaining).
 */
import { patch, type Mutant } from "./mutant.ts";

const convoys = { workload: "convoys", isolation: "serializable" } as const;
export const chains: readonly Mutant[] = [
  {
    name: "reads-let-out-early",
    breaks: "a transaction that wrote nothing ends before what it has read is committed",
    patches: patch(
      "engine/attempt.ts",
      "context.view.assertOpen();\n    await context.view.settleChained();",
      "context.view.assertOpen();",
    ),
    changes: convoys,
  },
  {
    name: "errors-let-out-early",
    breaks: "a body's own error tells of what is not committed yet, and never may be",
    patches: patch(
      "engine/attempt.ts",
      "if (view.doomed === undefined && !view.isSealed) await view.settleChained();",
      "",
    ),
    changes: convoys,
  },
  {
    name: "overtaken-reads-chained",
    breaks: "a body sees what an undecided commit overwrites beside what it writes",
    patches: patch(
      "engine/chaining/local-reads.ts",
      "this.#extendAll();\n    this.#assertNotOvertaken();\n    this.chained.add(",
      "this.#extendAll();\n    this.chained.add(",
    ),
    changes: convoys,
  },
  {
    name: "chained-reads-not-current",
    breaks: "what was written over a value after its commit does not count: lost updates",
    patches: patch(
      "engine/chaining/chained-reads.ts",
      "if (timestamp !== undefined && timestamp > verdict.timestamp) return",
      "if (timestamp !== undefined && timestamp < 0) return",
    ),
    changes: convoys,
  },
  {
    name: "failed-commits-relied-on",
    breaks: "a transaction goes on with what it has read from one that was not committed",
    patches: patch(
      "engine/chaining/chained-reads.ts",
      'if (verdict.kind === "not-committed") return { read, timestamp: undefined };',
      'if (verdict.kind === "not-committed") {\n        this.#reads.delete(write.identity);\n        continue;\n      }',
    ),
    changes: convoys,
  },
  {
    name: "replaced-writes-relied-on",
    breaks: "what a later member of its group has replaced is taken for the group's: lost updates",
    patches: patch(
      "engine/chaining/chained-reads.ts",
      "if (!write.commit.isLast(write) || ",
      "if (",
    ),
    changes: convoys,
  },
  {
    name: "members-writes-forgotten",
    breaks: "a group commits what its first member has written, and acknowledges the others",
    patches: patch("engine/chaining/commit-group.ts", "this.writes.absorb(member.writes);", ""),
    changes: convoys,
  },
  {
    name: "members-reads-not-checked",
    breaks: "a group checks what its first member has read, and nothing of the others",
    patches: patch("engine/chaining/commit-group.ts", "this.reads.absorb(member.reads);", ""),
    changes: convoys,
  },
  {
    name: "own-commits-trusted",
    breaks: "a process takes its own last write for the newest: stale reads",
    patches: patch(
      "engine/read-view.ts",
      "return { item: await this.#resolve(key, own, asked) };",
      "this.reads.addKey(key.hashes.key, { table: key.table.name, key: key.key });\n    return { item: await Promise.resolve(asked.joins ? own.item : undefined) };",
    ),
    changes: convoys,
  },
];
