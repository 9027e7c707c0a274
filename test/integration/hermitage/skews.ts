/** P4, G-single and G2: anti-dependencies, from lost updates to write skew. */
import {
  asAtFirst,
  bothBegin,
  bothCommit,
  committed,
  type Interleaving,
  T1,
  T2,
  T3,
  tooOld,
} from "./interleaving.ts";
import { afterwards, onPredicate, where } from "./script.ts";

export const skews: readonly Interleaving[] = [
  {
    anomaly: "P4",
    title: "two read-modify-writes of one row",
    elsewhere: "Repeatable read: T2's write blocks, and fails when T1 commits.",
    here:
      "T2, the later committer, fails: it has read (serializable) and written (snapshot) the " +
      "row.",
    steps: [
      ...bothBegin,
      T1.get(1, "10"),
      T2.get(1, "10"),
      T1.put(1, 11),
      T2.put(1, 11),
      T1.commit(),
      T2.commit("conflict on 1"),
      afterwards("1 → 11, 2 → 20"),
    ],
    occurs: (gave) => committed(gave, "T1", "T2"),
    witness: bothCommit,
  },
  {
    anomaly: "G-single",
    title: "two rows read on both sides of a commit",
    elsewhere: "Repeatable read: T1 sees 2 → 20, the row from before T2.",
    here:
      "So it does from history. Serializable, and without history, T1 learns at that read that " +
      "row 1 was overwritten.",
    steps: [
      ...bothBegin,
      T1.get(1, "10"),
      T2.get(1, "10"),
      T2.get(2, "20"),
      T2.put(1, 12),
      T2.put(2, 18),
      T2.commit(),
      T1.get(2, {
        serializable: "conflict on 1",
        snapshot: "20",
        withoutHistory: "conflict on 1",
      }),
      T1.commit({
        serializable: "conflict on 1",
        snapshot: "committed",
        withoutHistory: "conflict on 1",
      }),
      afterwards("1 → 12, 2 → 18"),
    ],
    occurs: (gave) => gave("T1 get 1") === "10" && gave("T1 get 2") === "18",
    witness: { "T1 get 2": "18" },
  },
  {
    anomaly: "G-single",
    title: "predicates read on both sides of a commit",
    elsewhere: "Repeatable read: T1's second select returns nothing.",
    here: "As with rows: from history, or a conflict on the predicate.",
    steps: [
      ...bothBegin,
      T1.select(
        asAtFirst,
        where("value % 5 = 0", (value) => value % 5 === 0),
      ),
      T2.add(
        2,
        "rows 1",
        where("value = 10", (value) => value === 10),
      ),
      T2.commit(),
      T1.select(
        { serializable: onPredicate, snapshot: "nothing", withoutHistory: tooOld },
        where("value % 3 = 0", (value) => value % 3 === 0),
      ),
      T1.commit({ serializable: onPredicate, snapshot: "committed", withoutHistory: tooOld }),
      afterwards("1 → 12, 2 → 20"),
    ],
    occurs: (gave) => gave("T1 select where value % 3 = 0")?.includes("1 → 12") === true,
    witness: { "T1 select where value % 3 = 0": "1 → 12" },
  },
  {
    anomaly: "G-single",
    title: "a write predicate after a commit that changed what it selects",
    elsewhere: "Repeatable read: T1's delete fails.",
    here:
      "From history the delete selects row 2 as it was, and T1 fails at its commit, since T2 " +
      "wrote that row. Otherwise the delete itself fails.",
    steps: [
      ...bothBegin,
      T1.get(1, "10"),
      T2.select(asAtFirst),
      T2.put(1, 12),
      T2.put(2, 18),
      T2.commit(),
      T1.delete(
        where("value = 20", (value) => value === 20),
        {
          serializable: "conflict on 1",
          snapshot: "rows 2",
          withoutHistory: tooOld,
        },
      ),
      T1.get(2, { serializable: "conflict on 1", snapshot: "nothing", withoutHistory: tooOld }),
      T1.commit({
        serializable: "conflict on 1",
        snapshot: "conflict on 2",
        withoutHistory: tooOld,
      }),
      afterwards("1 → 12, 2 → 18"),
    ],
    occurs: (gave) => committed(gave, "T1"),
    witness: { "T1 commit": "committed" },
  },
  {
    anomaly: "G-single",
    title: "a write predicate that is rolled back",
    elsewhere:
      "FoundationDB: T2 commits, since conflicts are judged at the commit and T1 has none.",
    here: "What was rolled back was never sent, and stops nobody.",
    steps: [
      ...bothBegin,
      T1.get(1, "10"),
      T2.select(asAtFirst),
      T2.put(1, 12),
      T1.delete(
        where("value = 20", (value) => value === 20),
        "rows 2",
      ),
      T2.put(2, 18),
      T1.rollBack(),
      T2.commit(),
      afterwards("1 → 12, 2 → 18"),
    ],
    occurs: (gave) => gave("afterwards") !== "1 → 12, 2 → 18",
    witness: { afterwards: "1 → 12" },
  },
  {
    anomaly: "G-single",
    title: "a row that depends on an overwritten one through a third transaction",
    elsewhere:
      "(Not in Hermitage: one anti-dependency, T1 to T2, and the item's way back through T3.)",
    here:
      "T3 read T2's row and wrote another: whoever sees T3 must see T2, and T1 has read the row " +
      "from before. The same two answers as for read skew.",
    steps: [
      T1.begin(),
      T1.get(1, "10"),
      T2.begin(),
      T2.update(1, 12),
      T2.commit(),
      T3.begin(),
      T3.get(1, "12"),
      T3.update(2, 18),
      T3.commit(),
      T1.get(2, {
        serializable: "conflict on 1",
        snapshot: "20",
        withoutHistory: "conflict on 1",
      }),
      T1.commit({
        serializable: "conflict on 1",
        snapshot: "committed",
        withoutHistory: "conflict on 1",
      }),
      afterwards("1 → 12, 2 → 18"),
    ],
    occurs: (gave) => gave("T1 get 1") === "10" && gave("T1 get 2") === "18",
    witness: { "T1 get 2": "18" },
  },
  {
    anomaly: "G2-item",
    title: "each reads both rows and writes one",
    elsewhere: "Serializable: one fails. Repeatable read: both commit.",
    here:
      "The same. Serializable checks what was read; snapshot isolation what is written, and " +
      "those are two rows.",
    steps: [
      ...bothBegin,
      T1.get(1, "10"),
      T1.get(2, "20"),
      T2.get(1, "10"),
      T2.get(2, "20"),
      T1.put(1, 11),
      T2.put(2, 21),
      T1.commit(),
      T2.commit({ serializable: "conflict on 1", snapshot: "committed" }),
      afterwards({ serializable: "1 → 11, 2 → 20", snapshot: "1 → 11, 2 → 21" }),
    ],
    occurs: (gave) => committed(gave, "T1", "T2"),
    witness: bothCommit,
  },
  {
    anomaly: "G2",
    title: "each inserts what the other's predicate would have selected",
    elsewhere: "Serializable: one fails. Repeatable read: both commit.",
    here:
      "The same. Every write counts for its partition and its table, which is what a " +
      "serializable query or scan checks.",
    steps: [
      ...bothBegin,
      T1.select(
        "nothing",
        where("value % 3 = 0", (value) => value % 3 === 0),
      ),
      T2.select(
        "nothing",
        where("value % 3 = 0", (value) => value % 3 === 0),
      ),
      T1.put(3, 30),
      T2.put(4, 42),
      T1.commit(),
      T2.commit({ serializable: onPredicate, snapshot: "committed" }),
      afterwards({
        serializable: "1 → 10, 2 → 20, 3 → 30",
        snapshot: "1 → 10, 2 → 20, 3 → 30, 4 → 42",
      }),
    ],
    occurs: (gave) => committed(gave, "T1", "T2"),
    witness: bothCommit,
  },
  {
    anomaly: "G2",
    title: "two anti-dependencies and a reader between them (Fekete et al.)",
    elsewhere:
      "Serializable: T1 fails. Repeatable read lets it commit: the read-only transaction anomaly.",
    here: "The same. T3 saw T2 and not T1, T1 saw neither: no serial order holds all three.",
    steps: [
      T1.begin(),
      T1.select(asAtFirst),
      T2.begin(),
      T2.update(2, 25),
      T2.commit(),
      T3.begin(),
      T3.select("1 → 10, 2 → 25"),
      T3.commit(),
      T1.put(1, 0),
      T1.commit({ serializable: onPredicate, snapshot: "committed" }),
      afterwards({ serializable: "1 → 10, 2 → 25", snapshot: "1 → 0, 2 → 25" }),
    ],
    occurs: (gave) => committed(gave, "T1", "T2", "T3"),
    witness: { "T1 commit": "committed" },
  },
];
