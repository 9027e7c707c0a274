------------------------- MODULE TidemarkNativeConfigs -------------------------
(* What transactions and native operations do, for the configurations native*.cfg. *)
EXTENDS TidemarkNative

CONSTANTS t1, t2, t3, n1, n2, a, b, l1, l2

\* Where the items lie.
OneLog == [k \in Keys |-> l1]
TwoLogs == [k \in Keys |-> IF k = a THEN l1 ELSE l2]

Tx(reads, writes) == [reads |-> reads, writes |-> writes, deletes |-> {}, local |-> FALSE]
Deleting(reads, writes) == [Tx(reads, writes) EXCEPT !.deletes = writes]
Local(reads, writes) == [Tx(reads, writes) EXCEPT !.local = TRUE]
Op(kind, key) == [kind |-> kind, key |-> key]

\* `before`: what the same process has done before.
WorkOf(txs, natives, before) == [tx |-> txs, native |-> natives, before |-> before]
Alone == [o \in Txs \cup Natives |-> {}]
After(o, p) == [Alone EXCEPT ![o] = {p}]

Writes == {"put", "plain-put", "plain-delete", "update", "plain-update"}

\* Two writers of one item, and two native operations behind their backs.
OneItem ==
  {WorkOf(t1 :> x @@ t2 :> Tx({}, {a}), n1 :> Op(i, a) @@ n2 :> Op("plain-delete", a), Alone) :
     x \in {Tx({a}, {a}), Deleting({a}, {a})}, i \in {"put", "update", "plain-update"}}
  \cup {WorkOf(t1 :> x @@ t2 :> Tx({}, {a}),
            n1 :> Op("plain-put-back", a) @@ n2 :> Op("put", a), Alone) :
     x \in {Tx({a}, {a}), Deleting({a}, {a})}}

\* The same with every pair of them, and two that have read.
OneItemMany ==
  {WorkOf(t1 :> x @@ t2 :> y, n1 :> Op(i, a) @@ n2 :> Op(j, a), Alone) :
     x \in {Tx({a}, {a}), Deleting({a}, {a})}, y \in {Tx({}, {a}), Tx({a}, {a})},
     i \in Writes, j \in Writes}

\* The same with one native operation, where fences come twice.
Fences ==
  {WorkOf(t1 :> x @@ t2 :> y, n1 :> Op(i, a), Alone) :
     x \in {Tx({a}, {a}), Tx({}, {a})}, y \in {Deleting({}, {a})},
     i \in {"put", "plain-put", "plain-delete", "update"}}

\* One of each, for what happens in the end.
InTheEnd ==
  {WorkOf(t1 :> x @@ t2 :> Tx({}, {a}), n1 :> Op("update", a), Alone) :
     x \in {Tx({a}, {a}), Deleting({}, {a})}}

\* Two transactions that cross, and a native write at one of the items.
Crossing ==
  {WorkOf(t1 :> x @@ t2 :> y, n1 :> Op(i, a), Alone) :
     x \in {Tx({a}, {b}), Tx({a, b}, {a})}, y \in {Tx({b}, {a}), Tx({a, b}, {b}), Tx({a, b}, {})},
     i \in {"put", "update"}}
  \cup {WorkOf(t1 :> Tx({}, {b}) @@ t2 :> Tx({b}, {a}), n1 :> Op("put", a), Alone)}

\* Of those what lies in two logs: parts, and one that reads in both.
CrossingLogs ==
  {WorkOf(t1 :> x @@ t2 :> y, n1 :> Op(i, a), Alone) :
     x \in {Tx({a}, {b}), Tx({b}, {a})}, y \in {Tx({b}, {a}), Tx({a, b}, {})},
     i \in {"put", "update"}}

\* Parts beside a local commit, and one after the other.
LogsInTime ==
  {WorkOf(t1 :> x @@ t2 :> y @@ t3 :> z, <<>>, Alone) :
     x \in {Tx({a}, {b}), Tx({}, {a, b})}, y \in {Local({}, {a})},
     z \in {Local({}, {b}), Tx({b}, {})}}

\* What happens in the end in two logs.
LogsInTheEnd ==
  {WorkOf(t1 :> Tx({}, {a, b}) @@ t2 :> x, n1 :> Op("update", b), Alone) :
     x \in {Tx({b}, {b}), Tx({a}, {b})}}

\* A local commit beside a transaction and a native write.
Locals ==
  {WorkOf(t1 :> x @@ t2 :> y, n1 :> Op(i, a), Alone) :
     x \in {Tx({a}, {a}), Tx({}, {a}), Tx({b}, {a})}, y \in {Local({a}, {a}), Local({}, {a})},
     i \in Writes}

\* Local commits and a read one after the other, beside a transaction.
RealTime ==
  {WorkOf(t1 :> x @@ t2 :> y @@ t3 :> z, <<>>, Alone) :
     x \in {Tx({a}, {b}), Tx({}, {a, b})}, y \in {Local({}, {a}), Local({a}, {a})},
     z \in {Local({}, {b}), Local({b}, {b}), Tx({b}, {})}}

\* A process that does one thing after another with one item, another's transaction beside it.
Sessions ==
  {WorkOf(t1 :> x @@ t2 :> y, n1 :> Op(i, a) @@ n2 :> Op(j, a), before) :
     x \in {Tx({a}, {a}), Deleting({}, {a})}, y \in {Tx({}, {a}), Local({a}, {a})},
     i \in {"read", "put"}, j \in {"read"},
     before \in {[After(n1, t1) EXCEPT ![n2] = {n1}], [After(t1, n1) EXCEPT ![n2] = {t1}],
                 [After(t2, t1) EXCEPT ![n2] = {t2}]}}
===============================================================================
