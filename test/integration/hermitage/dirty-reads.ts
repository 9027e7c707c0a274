/** G0 and G1: writes that cross each other, and reads of what was never committed. */
import { asAtFirst, bothBegin, type Interleaving, T1, T2, tooOld } from "./interleaving.ts";
import { afterwards, onPredicate } from "./script.ts";

export const dirtyReads: readonly Interleaving[] = [
  {
    anomaly: "G0",
    title: "blind writes of the same two rows",
    elsewhere:
      "PostgreSQL: T2's first write blocks until T1 has committed; under read committed the " +
      "rows end as T2's.",
    here:
      "Writes are buffered, so nothing blocks (T2's look at row 3 only takes its read " +
      "timestamp). A serializable blind write checks nothing and commits behind T1, whole; " +
      "under snapshot isolation the first committer wins.",
    steps: [
      ...bothBegin,
      T2.get(3, "nothing"),
      T1.put(1, 11),
      T2.put(1, 12),
      T1.put(2, 21),
      T1.commit(),
      afterwards("1 → 11, 2 → 21"),
      T2.put(2, 22),
      T2.commit({ serializable: "committed", snapshot: "conflict on 1" }),
      afterwards({ serializable: "1 → 12, 2 → 22", snapshot: "1 → 11, 2 → 21" }),
    ],
    occurs: (gave) => !["1 → 11, 2 → 21", "1 → 12, 2 → 22"].includes(gave("afterwards (2)") ?? ""),
    witness: { "afterwards (2)": "1 → 12, 2 → 21" },
  },
  {
    anomaly: "G0",
    title: "updates of the same two rows",
    elsewhere: "As above.",
    here:
      "An update reads its row, so T2 is the later committer of a row that it has read: it " +
      "fails, at its next read of something newer or at the latest at its commit.",
    steps: [
      ...bothBegin,
      T1.update(1, 11),
      T2.update(1, 12),
      T1.update(2, 21),
      T1.commit(),
      T2.update(2, 22, {
        serializable: "conflict on 1",
        snapshot: "",
        withoutHistory: "conflict on 1",
      }),
      T2.commit("conflict on 1"),
      afterwards("1 → 11, 2 → 21"),
    ],
    occurs: (gave) => !["1 → 11, 2 → 21", "1 → 12, 2 → 22"].includes(gave("afterwards") ?? ""),
    witness: { afterwards: "1 → 11, 2 → 22" },
  },
  {
    anomaly: "G1a",
    title: "a write that is rolled back",
    elsewhere: "T2 never sees 101.",
    here: "A buffered write exists in its own transaction only.",
    steps: [
      ...bothBegin,
      T1.put(1, 101),
      T2.select(asAtFirst),
      T1.rollBack(),
      T2.select(asAtFirst),
      T2.commit(),
      afterwards(asAtFirst),
    ],
    occurs: (gave) =>
      [gave("T2 select"), gave("T2 select (2)")].some((rows) => rows?.includes("101") === true),
    witness: { "T2 select": "1 → 101, 2 → 20" },
  },
  {
    anomaly: "G1b",
    title: "a write that its own transaction overwrites",
    elsewhere:
      "T2 never sees 101. After T1's commit PostgreSQL's read committed shows 11, FoundationDB " +
      "still 10.",
    here:
      "Only the last write of a row is ever sent. T2's second read meets a row from after its " +
      "read timestamp: from history it gets the old one; serializable, which must commit at the " +
      "end of the log, it fails.",
    steps: [
      ...bothBegin,
      T1.put(1, 101),
      T2.select(asAtFirst),
      T1.put(1, 11),
      T1.commit(),
      T2.select({ serializable: onPredicate, snapshot: asAtFirst, withoutHistory: tooOld }),
      T2.commit({ serializable: onPredicate, snapshot: "committed", withoutHistory: tooOld }),
      afterwards("1 → 11, 2 → 20"),
    ],
    occurs: (gave) =>
      [gave("T2 select"), gave("T2 select (2)")].some((rows) => rows?.includes("101") === true),
    witness: { "T2 select (2)": "1 → 101, 2 → 20" },
  },
  {
    anomaly: "G1c",
    title: "two transactions that read what the other writes",
    elsewhere: "Each sees the state before, and under read committed both commit.",
    here:
      "Neither sees the other's buffer. What remains is write skew, which serializable refuses " +
      "to the later committer.",
    steps: [
      ...bothBegin,
      T1.put(1, 11),
      T2.put(2, 22),
      T1.get(2, "20"),
      T2.get(1, "10"),
      T1.commit(),
      T2.commit({ serializable: "conflict on 1", snapshot: "committed" }),
      afterwards({ serializable: "1 → 11, 2 → 20", snapshot: "1 → 11, 2 → 22" }),
    ],
    occurs: (gave) => gave("T1 get 2") === "22" && gave("T2 get 1") === "11",
    witness: { "T1 get 2": "22", "T2 get 1": "11" },
  },
];
