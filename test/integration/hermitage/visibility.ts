/** OTV and PMP: what a reader sees of transactions that commit beside it. */
import {
  bothBegin,
  committed,
  type Gave,
  type Interleaving,
  T1,
  T2,
  T3,
  tooOld,
} from "./interleaving.ts";
import { afterwards, onPredicate, where } from "./script.ts";

/**
 * T3 sees a row of T1 beside one of T2, in its first pass over both rows, in its second, or in a
 * select.
 */
function vanished(gave: Gave): boolean {
  const passes = ["", " (2)"].map((nth) => [gave(`T3 get 1${nth}`), gave(`T3 get 2${nth}`)].join());
  return (
    passes.some((pass) => pass === "12,19" || pass === "11,18") ||
    ["1 → 12, 2 → 19", "1 → 11, 2 → 18"].includes(gave("T3 select") ?? "")
  );
}

export const visibility: readonly Interleaving[] = [
  {
    anomaly: "OTV",
    title: "a reader beside two blind writers of the same rows",
    elsewhere: "T2 blocks on T1's row; T3 sees T1's rows, later T2's, never a mixture.",
    here:
      "Serializable, T2 commits behind T1; under snapshot isolation it loses. T3 has both rows " +
      "already: a second read of a row gives what the first gave.",
    steps: [
      T1.begin(),
      T2.begin(),
      T3.begin(),
      T2.get(3, "nothing"),
      T1.put(1, 11),
      T1.put(2, 19),
      T2.put(1, 12),
      T1.commit(),
      T3.get(1, "11"),
      T2.put(2, 18),
      T3.get(2, "19"),
      T2.commit({ serializable: "committed", snapshot: "conflict on 1" }),
      T3.get(2, "19"),
      T3.get(1, "11"),
      T3.commit(),
      afterwards({ serializable: "1 → 12, 2 → 18", snapshot: "1 → 11, 2 → 19" }),
    ],
    occurs: vanished,
    witness: { "T3 get 2 (2)": "18", "T3 get 1 (2)": "11" },
  },
  {
    anomaly: "OTV",
    title: "a reader beside two writers of which both commit",
    elsewhere: "(Not in Hermitage: there T2 waits for T1 by blocking.)",
    here:
      "T2's read timestamp is taken at its first read, which comes after T1's commit; so T2 " +
      "commits at both levels. T3's select meets rows from after its read timestamp: history, " +
      "or a conflict.",
    steps: [
      T1.begin(),
      T2.begin(),
      T3.begin(),
      T1.put(1, 11),
      T1.put(2, 19),
      T1.commit(),
      T2.update(1, 12),
      T3.get(1, "11"),
      T2.update(2, 18),
      T3.get(2, "19"),
      T2.commit(),
      T3.select({
        serializable: "conflict on 1",
        snapshot: "1 → 11, 2 → 19",
        withoutHistory: tooOld,
      }),
      T3.commit({ serializable: "conflict on 1", snapshot: "committed", withoutHistory: tooOld }),
      afterwards("1 → 12, 2 → 18"),
    ],
    occurs: vanished,
    witness: { "T3 select": "1 → 12, 2 → 19" },
  },
  {
    anomaly: "PMP",
    title: "a row that comes under a read predicate",
    elsewhere: "Repeatable read: T1's second select still returns nothing.",
    here:
      "History says that row 3 was absent at T1's read timestamp. Serializable, T1 fails on the " +
      "predicate.",
    steps: [
      ...bothBegin,
      T1.select(
        "nothing",
        where("value = 30", (value) => value === 30),
      ),
      T2.put(3, 30),
      T2.commit(),
      T1.select(
        { serializable: onPredicate, snapshot: "nothing", withoutHistory: tooOld },
        where("value % 3 = 0", (value) => value % 3 === 0),
      ),
      T1.commit({ serializable: onPredicate, snapshot: "committed", withoutHistory: tooOld }),
      afterwards("1 → 10, 2 → 20, 3 → 30"),
    ],
    occurs: (gave) => gave("T1 select where value % 3 = 0")?.includes("3 → 30") === true,
    witness: { "T1 select where value % 3 = 0": "3 → 30" },
  },
  {
    anomaly: "PMP",
    title: "a row that comes under a write predicate",
    elsewhere: "Repeatable read: T2's delete blocks, and fails when T1 commits.",
    here:
      "Nothing blocks; T2 is the later committer of row 2 (snapshot), or of a predicate that it " +
      "has read (serializable).",
    steps: [
      ...bothBegin,
      T1.add(10, "rows 1, 2"),
      T2.delete(
        where("value = 20", (value) => value === 20),
        "rows 2",
      ),
      T1.commit(),
      T2.select(
        { serializable: onPredicate, snapshot: "nothing", withoutHistory: tooOld },
        where("value = 20", (value) => value === 20),
      ),
      T2.commit({
        serializable: onPredicate,
        snapshot: "conflict on 2",
        withoutHistory: tooOld,
      }),
      afterwards("1 → 20, 2 → 30"),
    ],
    occurs: (gave) =>
      gave("T2 select where value = 20")?.includes("1 → 20") === true || committed(gave, "T2"),
    witness: { "T2 select where value = 20": "1 → 20" },
  },
];
