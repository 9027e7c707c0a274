--------------------------- MODULE TidemarkConfigs ---------------------------
(* Workloads of three transactions over two keys, for the configurations *.cfg, and what is       *)
(* symmetric.                                                                                     *)
EXTENDS Tidemark

CONSTANTS t1, t2, t3, a, b

Tx(iso, reads, writes, deletes) ==
  [iso |-> iso, reads |-> reads, writes |-> writes, deletes |-> deletes]

\* Two that skew each other's writes, and one that reads both and writes under snapshot isolation.
Skew == {
  t1 :> Tx("serializable", {a}, {b}, {}) @@
  t2 :> Tx("serializable", {b}, {a}, {}) @@
  t3 :> Tx("snapshot", {a, b}, {a}, {})}

\* Deletes, writes of both keys, a writer on top of a delete, and a reader of both.
Deletes == {
  t1 :> Tx("serializable", {a}, {a, b}, {b}) @@
  t2 :> Tx("snapshot", {b}, {b}, {}) @@
  t3 :> Tx("serializable", {a, b}, {a}, {})}

SkewOrDeletes == Skew \cup Deletes

\* Two that need each other's key, for temporal properties.
Pair == {
  t1 :> Tx("serializable", {a}, {a, b}, {}) @@
  t2 :> Tx("snapshot", {b}, {b}, {})}

\* Everything at once, for long runs and for traces.
Many == Skew \cup Deletes \cup {
  t1 :> Tx("serializable", {a, b}, {a}, {}) @@
  t2 :> Tx("serializable", {a, b}, {b}, {}) @@
  t3 :> Tx("serializable", {a}, {a, b}, {a}),
  t1 :> Tx("snapshot", {a}, {a}, {}) @@
  t2 :> Tx("snapshot", {a}, {a}, {a}) @@
  t3 :> Tx("snapshot", {a, b}, {a, b}, {})}

Instances == Permutations(Oracles) \cup Permutations(Replays)
==============================================================================
