----------------------------- MODULE TidemarkShards -----------------------------
(* Transactions over several shards, and a shard that is split while they run
   (docs/adr/0015-many-shards.md). A model of its own, beside Tidemark.tla.

   Each shard has a log. A part is prepared in the log of each shard that a transaction touches,
   and the outcome is a function of the logs: commit exactly if all of them hold a `prepared`. Of
   one that votes, as it touches mixed tables as well, the log of its first shard decides alone:
   its client votes once all parts are prepared. Prepared parts bar what conflicts with them, in
   their shard, until the outcome is entered there. A commit counts at the greatest timestamp at
   which a part was prepared, in each of its shards.

   At a fork the keys that move go on in a log of their own, whose past is that of the parent up to
   the fork. At a join they come back: the child's log closes, ends once nothing in it is open, and
   the parent's goes on from there. That one knows nothing of the child's log, neither what it has
   decided nor what was open: what was read before the join it refuses.
   Installs are taken as done at once: what a reader sees of a key follows from the logs. *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS Keys, Txs, Shards,
          Home,     \* of each key: the shard where it begins
          Child,    \* the shard that begins by a fork
          Moving,   \* the keys that move there
          Joins,    \* whether they come back
          Ahead,    \* of each shard: the timestamp at which its log begins
          Work,     \* what the transactions do: functions from Txs to what they read and write
          Mutant

VARIABLES logs,   \* of each shard: its own entries [kind, tx, ts, at]
          fork,   \* 0, or the number of the parent's entries when it forked
          join,   \* 0, or the number of the parent's entries when the child joined it again
          tx

maps == <<fork, join>>
vars == <<logs, maps, tx>>

Parent == CHOOSE s \in Shards : \E k \in Moving : Home[k] = s

Entry(kind, t, ts, s) == [kind |-> kind, tx |-> t, ts |-> ts, at |-> s]
Holds(log, kind, t) == \E i \in DOMAIN log : log[i].kind = kind /\ log[i].tx = t
Has(s, kind, t) == Holds(logs[s], kind, t)
Max(S) == CHOOSE n \in S : \A m \in S : m <= n

------------------------------------------------------------------------------
(* The map. *)

Closed == Holds(logs[Child], "close", 0)
Ended == Holds(logs[Child], "end", 0)
Epoch == IF fork = 0 THEN 0 ELSE IF join = 0 THEN 1 ELSE 2
Map(epoch) == [k \in Keys |-> IF epoch = 1 /\ k \in Moving THEN Child ELSE Home[k]]

\* 0: nowhere, between the child's end and the join.
ShardNow(k) == IF Map(Epoch)[k] = Child /\ Ended THEN 0 ELSE Map(Epoch)[k]

\* The entries that govern a key: of one that moved, the parent's up to the fork come first.
Log(k) ==
  IF k \notin Moving \/ fork = 0 THEN logs[Home[k]]
  ELSE SubSeq(logs[Parent], 1, fork) \o logs[Child] \o
       IF join = 0 THEN <<>> ELSE SubSeq(logs[Parent], join, Len(logs[Parent]))

Last(s) == IF logs[s] # <<>> THEN logs[s][Len(logs[s])].ts
           ELSE IF s = Child /\ fork # 0 THEN Max({logs[Parent][fork].ts, Ahead[s]}) ELSE Ahead[s]

------------------------------------------------------------------------------
(* What transactions do, and what becomes of them. *)

R(t) == tx[t].reads
W(t) == tx[t].writes
IsUpdate(t) == W(t) # {}
\* One that only reads, and the past, at that timestamp.
IsAsOf(t) == tx[t].asOf # 0

\* The shards that it has asked for parts, by the map that it knew.
Parts(t) == IF tx[t].sent THEN {tx[t].where[k] : k \in R(t) \cup W(t)} ELSE {}
Part(t, s) == {k \in R(t) \cup W(t) : tx[t].where[k] = s}
First(t) == CHOOSE s \in Parts(t) : TRUE
Placed(t) == {s \in Parts(t) : Has(s, "prepared", t)}

Voted(t) == Has(First(t), "vote", t)
Yes(t) == /\ Parts(t) # {}
          /\ IF tx[t].votes THEN Voted(t) ELSE Placed(t) = Parts(t)
No(t) == IF tx[t].votes THEN Parts(t) # {} /\ Has(First(t), "no", t)
         ELSE \E s \in Parts(t) : Has(s, "no", t)
Open(t) == ~Yes(t) /\ ~No(t)

PlacedAt(s, t) ==
  logs[s][CHOOSE i \in DOMAIN logs[s] : logs[s][i].kind = "prepared" /\ logs[s][i].tx = t].ts
CountsAt(t) == Max({PlacedAt(s, t) : s \in Placed(t)})
CountsFor(t, k) ==
  IF Mutant = "counts-where-placed" THEN PlacedAt(tx[t].where[k], t) ELSE CountsAt(t)

\* The places of those with a part that has the key: one may be prepared in several of its logs.
IsOf(e, k) == e.kind = "prepared" /\ tx[e.tx].where[k] = e.at
Writes(e, k) == IsOf(e, k) /\ k \in W(e.tx) /\ Yes(e.tx)
HasPart(log, k, t) == \E i \in DOMAIN log : log[i].tx = t /\ IsOf(log[i], k)
\* Committed writers of a key in the order of its log.
Writers(k) == SelectSeq(Log(k), LAMBDA e : Writes(e, k))
\* One part alone is decided where it stands, if it needs no vote; one that votes, by its vote, in
\* the log that holds it: not in one that was split off that.
Entered(log, t) ==
  \/ Cardinality(Parts(t)) = 1 /\ ~tx[t].votes
  \/ tx[t].votes /\ \E i \in DOMAIN log :
       log[i].tx = t /\ log[i].at = First(t) /\ log[i].kind \in {"vote", "no"}
  \/ Holds(log, "yes-known", t) \/ Holds(log, "no-known", t)

Init ==
  /\ logs = [s \in Shards |-> <<>>]
  /\ fork = 0 /\ join = 0
  /\ \E work \in Work :
       tx = [t \in Txs |-> work[t] @@
              [pc |-> "new", got |-> [k \in Keys |-> 99], ok |-> {}, after |-> {},
               where |-> Home, sent |-> FALSE, epoch |-> 0, since |-> 2]]

------------------------------------------------------------------------------
(* Clients. *)

\* It learns the map, which may be old when it sends its parts.
Begin(t) ==
  /\ tx[t].pc = "new"
  /\ tx' = [tx EXCEPT ![t].pc = "run", ![t].epoch = Epoch,
                      ![t].after = {u \in Txs : tx[u].pc = "done" /\ ~IsAsOf(u)}]
  /\ UNCHANGED <<logs, maps>>

Running(t) == tx[t].pc = "run"
AllRead(t) == \A k \in R(t) : tx[t].got[k] # 99

\* What it sees of a key. Of what its log does not show as decided it looks at the other logs, and
\* reads around what is open there. A log that has forked says so to whoever follows it.
Seen(t, k) ==
  LET old == Mutant = "reads-by-old-map" /\ tx[t].epoch = 0 /\ k \in Moving /\ fork # 0
      ended == Mutant = "reads-after-end" /\ tx[t].epoch < 2 /\ k \in Moving /\ join # 0
      log == IF old THEN SubSeq(logs[Parent], 1, fork)
             ELSE IF ended THEN SubSeq(logs[Parent], 1, fork) \o logs[Child] ELSE Log(k)
  IN Len(SelectSeq(log, LAMBDA e :
       Writes(e, k) /\ (Mutant # "reads-what-its-log-shows" \/ Entered(Log(k), e.tx))))

Read(t, k) ==
  /\ Running(t) /\ ~IsAsOf(t) /\ k \in R(t) /\ tx[t].got[k] = 99
  /\ tx' = [tx EXCEPT ![t].got[k] = Seen(t, k), ![t].since = IF Epoch < @ THEN Epoch ELSE @]
  /\ UNCHANGED <<logs, maps>>

\* It has its values, and asks each shard for a place.
Send(t) ==
  /\ Running(t) /\ IsUpdate(t) /\ AllRead(t)
  /\ \E epoch \in tx[t].epoch .. Epoch :
       tx' = [tx EXCEPT ![t].pc = "sent", ![t].sent = TRUE, ![t].where = Map(epoch)]
  /\ UNCHANGED <<logs, maps>>

Done(t) ==
  /\ tx[t].pc = "sent" /\ ~Open(t)
  /\ tx' = [tx EXCEPT ![t].pc = IF Yes(t) THEN "done" ELSE "aborted"]
  /\ UNCHANGED <<logs, maps>>

\* Read-only: one refresh per key's log after the last read, at moments of their own.
Refresh(t, k) ==
  /\ Running(t) /\ ~IsUpdate(t) /\ ~IsAsOf(t) /\ AllRead(t) /\ k \in R(t) \ tx[t].ok
  /\ tx' = IF Mutant = "no-final-refresh" \/ Seen(t, k) = tx[t].got[k]
           THEN [tx EXCEPT ![t].ok = @ \cup {k}]
           ELSE [tx EXCEPT ![t].pc = "aborted"]
  /\ UNCHANGED <<logs, maps>>

\* The past: all that counts at or below the timestamp, once no log can bring more of it.
ReadAsOf(t, k) ==
  LET at == tx[t].asOf
      shard == IF ShardNow(k) = 0 THEN Child ELSE ShardNow(k)
      comes(u) == Open(u) /\ k \in W(u) /\ HasPart(Log(k), k, u)
                  /\ PlacedAt(tx[u].where[k], u) <= at
  IN
  /\ Running(t) /\ IsAsOf(t) /\ k \in R(t) /\ tx[t].got[k] = 99
  /\ Last(shard) >= at \/ Mutant = "as-of-above-the-log"
  /\ Mutant = "as-of-ignores-open" \/ ~\E u \in Txs \ {t} : comes(u)
  /\ tx' = [tx EXCEPT ![t].got[k] =
       Len(SelectSeq(Writers(k), LAMBDA e : CountsFor(e.tx, k) <= at))]
  /\ UNCHANGED <<logs, maps>>

DoneReading(t) ==
  /\ Running(t) /\ ~IsUpdate(t) /\ AllRead(t)
  /\ IsAsOf(t) \/ R(t) \subseteq tx[t].ok
  /\ tx' = [tx EXCEPT ![t].pc = "done"]
  /\ UNCHANGED <<logs, maps>>

------------------------------------------------------------------------------
(* Logs. A child that has closed takes no part any more; one that has ended only says no to what
   was never seen in it. *)

Appends(s, kind, t, ts) == logs' = [logs EXCEPT ![s] = Append(@, Entry(kind, t, ts, s))]

\* After a fork the child knows the parent's past, and what is open there; after a join the parent
\* knows what stands in its own log behind it.
Joined(k) == k \in Moving /\ join # 0
Known(k) ==
  CASE Mutant = "fork-forgets-open" /\ ShardNow(k) = Child -> logs[Child]
    [] Joined(k) -> logs[Parent]
    [] OTHER -> Log(k)

Bars(k, t) == Mutant # "parts-released-early" /\ \E u \in Txs \ {t} :
  /\ HasPart(Known(k), k, u) /\ ~Entered(Log(k), u)
  /\ \/ k \in W(u) /\ Mutant # "parts-write-without-barring"
     \/ k \in R(u) /\ k \in W(t) /\ Mutant # "parts-read-without-barring"

\* What a shard that forgets has seen written itself.
Own(k) ==
  IF ShardNow(k) = Child THEN logs[Child] ELSE SubSeq(logs[Parent], join + 1, Len(logs[Parent]))
Forgets(k) == Joined(k) \/ (Mutant = "fork-forgets-window" /\ ShardNow(k) = Child)
IsChanged(k, t) ==
  /\ k \in R(t) /\ Len(Writers(k)) # tx[t].got[k]
  /\ Forgets(k) => \E i \in DOMAIN Own(k) : Writes(Own(k)[i], k)

\* The join raises the floor of the log that it stands in.
IsStale(t, s) ==
  /\ join # 0 /\ s = Parent /\ tx[t].since < 2
  /\ Mutant # "join-keeps-old-checks"

\* A shard certifies a part. Whoever goes by an old map is refused: what it asks for has moved.
Certify(t, s) ==
  /\ tx[t].pc = "sent" /\ s \in Parts(t)
  /\ ~Has(s, "prepared", t) /\ (~Has(s, "no", t) \/ Mutant = "prepares-what-is-refused")
  /\ ~IsStale(t, s)
  /\ s = Child /\ Closed => Mutant = "closing-takes-parts"
  /\ LET here == {k \in Part(t, s) : ShardNow(k) = s}
     IN /\ here = Part(t, s) \/ Mutant = "map-without-epoch"
        /\ \A k \in here : ~Bars(k, t)
        /\ Appends(s, IF \E k \in here : IsChanged(k, t) THEN "no" ELSE "prepared", t, Last(s) + 1)
  /\ UNCHANGED <<maps, tx>>

\* Anybody may end a part that was never seen.
AbortIfUnseen(t, s) ==
  /\ tx[t].pc = "sent" /\ s \in Parts(t) /\ ~Has(s, "no", t)
  /\ Mutant = "aborts-what-is-prepared" \/ ~Has(s, "prepared", t)
  /\ Appends(s, "no", t, Last(s) + 1)
  /\ UNCHANGED <<maps, tx>>

\* One that touches mixed tables as well, once its native checks are done: ADR 14. What comes behind
\* its vote lies above the timestamp at which it counts.
Vote(t) ==
  /\ tx[t].pc = "sent" /\ tx[t].votes /\ ~Voted(t) /\ ~No(t) /\ First(t) \in Placed(t)
  /\ Placed(t) = Parts(t) \/ Mutant = "votes-for-some-parts"
  /\ Appends(First(t), "vote", t,
       1 + IF Mutant = "vote-below" THEN Last(First(t)) ELSE Max({Last(First(t)), CountsAt(t)}))
  /\ UNCHANGED <<maps, tx>>

\* The first one stands: a vote against is none where the vote for it stands before.
VoteAgainst(t) ==
  /\ tx[t].pc = "sent" /\ tx[t].votes /\ First(t) \in Placed(t) /\ ~Has(First(t), "no", t)
  /\ ~Voted(t) \/ Mutant = "last-vote-for-parts"
  /\ Appends(First(t), "no", t, Last(First(t)) + 1)
  /\ UNCHANGED <<maps, tx>>

\* An outcome is entered where it bars somebody, by whoever has looked at the other logs. What comes
\* behind it lies above the timestamp at which the commit counts.
Enter(t, s) ==
  LET isYes == IF Mutant = "outcome-from-one-log" THEN s \in Placed(t) /\ ~Has(s, "no", t)
               ELSE Yes(t)
      above == IF Mutant = "known-below" THEN Last(s) ELSE Max({Last(s), CountsAt(t)})
  IN
  /\ \E k \in R(t) \cup W(t) : ShardNow(k) = s /\ HasPart(Log(k), k, t) /\ ~Entered(Log(k), t)
  /\ isYes \/ No(t)
  /\ IF isYes THEN Appends(s, "yes-known", t, above + 1) ELSE Appends(s, "no-known", t, Last(s) + 1)
  /\ UNCHANGED <<maps, tx>>

\* The parent's log says that the keys go on elsewhere.
Fork ==
  /\ fork = 0 /\ Moving # {}
  /\ Appends(Parent, "fork", 0, Last(Parent) + 1)
  /\ fork' = Len(logs[Parent]) + 1
  /\ UNCHANGED <<join, tx>>

\* They come back: the child's log closes, and ends once all that is open in it is entered; and then
\* the parent's says that it goes on.
Close ==
  /\ Joins /\ fork # 0 /\ ~Closed
  /\ Appends(Child, "close", 0, Last(Child) + 1)
  /\ UNCHANGED <<maps, tx>>

IsOpenInChild(t) ==
  \E k \in Moving : k \in R(t) \cup W(t) /\ HasPart(Log(k), k, t) /\ ~Entered(Log(k), t)

End ==
  /\ Closed /\ ~Ended
  /\ Mutant = "ends-with-open" \/ ~\E t \in Txs : IsOpenInChild(t)
  /\ Appends(Child, "end", 0, Last(Child) + 1)
  /\ UNCHANGED <<maps, tx>>

Join ==
  /\ Ended /\ join = 0
  /\ Appends(Parent, "join", 0,
       IF Mutant = "join-below" THEN Last(Parent) + 1 ELSE Max({Last(Parent), Last(Child)}) + 1)
  /\ join' = Len(logs[Parent]) + 1
  /\ UNCHANGED <<fork, tx>>

Step(t) ==
  \/ Begin(t) \/ Send(t) \/ Done(t) \/ DoneReading(t) \/ Vote(t) \/ VoteAgainst(t)
  \/ \E k \in Keys : Read(t, k) \/ Refresh(t, k) \/ ReadAsOf(t, k)
  \/ \E s \in Shards : Certify(t, s) \/ AbortIfUnseen(t, s) \/ Enter(t, s)
Next == Fork \/ Close \/ End \/ Join \/ \E t \in Txs : Step(t)
Spec == Init /\ [][Next]_vars

\* Whoever waits ends what nobody ends, and enters what is decided. Nobody must begin anything.
Settles(t) == \E s \in Shards : AbortIfUnseen(t, s) \/ Enter(t, s)
Fair == /\ WF_vars(End) /\ WF_vars(Join)
        /\ \A t \in Txs : WF_vars(Settles(t)) /\ WF_vars(Done(t)) /\ WF_vars(VoteAgainst(t))
LiveSpec == Spec /\ Fair

------------------------------------------------------------------------------
(* What holds. *)

Place(k, t) == CHOOSE i \in DOMAIN Writers(k) : Writers(k)[i].tx = t
\* t before u: by a version of some key, or because t had ended before u began.
Before(t, u) ==
  \/ t \in tx[u].after /\ ~IsAsOf(u)
  \/ \E k \in Keys :
       \/ k \in W(t) \cap W(u) /\ Place(k, t) < Place(k, u)
       \/ k \in W(t) \cap R(u) /\ Place(k, t) <= tx[u].got[k]
       \/ k \in R(t) \cap W(u) /\ tx[t].got[k] < Place(k, u)
All == {t \in Txs : Yes(t) \/ (~IsUpdate(t) /\ tx[t].pc = "done")}
Next1(S) == S \cup {u \in All : \E t \in S : t # u /\ Before(t, u)}
RECURSIVE Reach(_, _)
Reach(S, n) == IF n = 0 THEN S ELSE Reach(Next1(S), n - 1)

NothingLost ==
  \A t \in Txs : Yes(t) => \A k \in W(t) : \E i \in DOMAIN Writers(k) : Writers(k)[i].tx = t
\* Of what has committed, with reads of the past anywhere between.
StrictlySerializable ==
  \A t \in All : t \notin Reach({u \in All \ {t} : Before(t, u)}, Cardinality(Txs))
\* A log says what is so, and it stays so.
Atomic == \A t \in Txs :
  /\ ~(Yes(t) /\ No(t))
  /\ \A s \in Shards : (Has(s, "yes-known", t) => Yes(t)) /\ (Has(s, "no-known", t) => No(t))
OwnReads == \A t \in Txs : Yes(t) => \A k \in R(t) \cap W(t) : Place(k, t) = tx[t].got[k] + 1
\* I2, of each log; and the versions of an item rise with it.
LogOrder == \A s \in Shards : \A i \in 1 .. Len(logs[s]) - 1 : logs[s][i].ts < logs[s][i + 1].ts
ItemOrder == \A k \in Keys : LET w == Writers(k) IN
  \A i \in 1 .. Len(w) - 1 : CountsFor(w[i].tx, k) < CountsFor(w[i + 1].tx, k)
\* What is prepared is decided in the end, and everybody's way is free again.
Settled == \A t \in Txs : tx[t].pc = "sent" ~>
  (tx[t].pc # "sent" /\ \A k \in R(t) \cup W(t) : HasPart(Log(k), k, t) => Entered(Log(k), t))
===============================================================================
