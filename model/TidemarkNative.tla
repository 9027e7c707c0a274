---------------------------- MODULE TidemarkNative ----------------------------
(***************************************************************************)
(* Native operations beside transactions on mixed tables                    *)
(* (docs/adr/0014-native-operations.md): prepare, fence, read again, vote.  *)
(*                                                                          *)
(* What is abstracted, and why that is enough:                              *)
(*  - One log or several; an entry is appended in one step, as a function   *)
(*    of the log that it follows.  Tidemark.tla and TidemarkExpress.tla     *)
(*    show that oracles and clients append so, whoever is late or dead.     *)
(*  - Several logs (docs/adr/0015-many-shards.md): a part in the log of     *)
(*    each item, and the vote in one of them, which decides; it is entered  *)
(*    in the others.  Splits and joins are in TidemarkShards.tla.           *)
(*  - A value is the sequence of its writers: a blind write makes <<w>>,    *)
(*    one that depends on the old state appends.  So an update that is lost *)
(*    is seen in the value.                                                 *)
(*  - A client may stop at any step, for ever or for long.  So a crash, a   *)
(*    freeze and a vote that is late need no steps of their own.            *)
(*  - Windows, floors and retention: the log is all there.                  *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
  Txs, Natives, Keys, \* Transactions; native operations; items of mixed tables.
  Logs, Home,         \* Of each item: its log.
  FirstStates,        \* How items may look at first: subset of "absent", "bare", "v".
  Copies,             \* How many fences may arrive twice, or votes of helpers late.
  Works,              \* Set of [tx, native, before], see WorkOf in TidemarkNativeConfigs.
  Mutant              \* "none", or the name of one deliberate mistake.

VARIABLES
  work,    \* Chosen once: what everybody does.
  store,   \* k -> [id, val, f]: identity, value, fence.
  log,     \* Of each log: sequence of [kind, t, ids, by]: "prepared", "yes", "no".
  tx,      \* t -> what the client of a transaction remembers.
  native,  \* n -> [done, at]: at: place of what a reader has seen.
  events,  \* k -> writes in the order of the item.  Ghost, as are `shown` and `at`.
  shown,   \* k -> place of the write that the store shows.
  left     \* Copies that may still arrive.

vars == <<work, store, log, tx, native, events, shown, left>>

None == "-"
Absent == [id |-> <<"absent">>, val |-> <<>>, f |-> None]
Unread == [id |-> <<"unread">>, val |-> <<>>, f |-> None]

R(t) == work.tx[t].reads
W(t) == work.tx[t].writes
IsLocal(t) == work.tx[t].local
IsReadOnly(t) == W(t) = {}

MinOf(S) == CHOOSE x \in S : \A y \in S : x <= y
MaxOf(S) == CHOOSE x \in S : \A y \in S : x >= y

-----------------------------------------------------------------------------
(* The outcome is a function of one log, and entered in the others. *)

LogsOf(t) == {Home[k] : k \in R(t) \cup W(t)}
Decider(t) == CHOOSE l \in LogsOf(t) : TRUE

Prepares(t, l) == {i \in DOMAIN log[l] : log[l][i].t = t /\ log[l][i].kind = "prepared"}
Placed(t) == {l \in LogsOf(t) : Prepares(t, l) # {}}
AllPlaced(t) == Placed(t) = LogsOf(t)
Votes(t, l) == {i \in DOMAIN log[l] : log[l][i].t = t /\ log[l][i].kind # "prepared"}
Deciding(t, l) ==
  IF Mutant = "last-vote-counts" THEN MaxOf(Votes(t, l)) ELSE MinOf(Votes(t, l))

\* What one log says of it.
Known(t, l) ==
  CASE Votes(t, l) = {} -> IF Prepares(t, l) = {} THEN "unknown" ELSE "open"
    [] log[l][Deciding(t, l)].kind = "yes" -> "committed"
    [] OTHER -> "aborted"

Outcome(t) == Known(t, Decider(t))
Committed(t) == Outcome(t) = "committed"
CommittedAt(t, k) == Known(t, Home[k]) = "committed"
Voted(t, k) == log[Home[k]][Deciding(t, Home[k])].ids[k]

\* For certification and for reads a commit counts where its deciding vote stands in the log.
CommitPlace(t, l) ==
  IF Mutant = "outcome-counts-at-prepared" THEN MinOf(Prepares(t, l)) ELSE Deciding(t, l)

Entry(kind, t, ids, by) == [kind |-> kind, t |-> t, ids |-> ids, by |-> by]
NoIds == [k \in Keys |-> Unread.id]

\* The fence of item s of key k is somebody's whose install may still come.
Bars(s, k) ==
  /\ s.f # None
  /\ \/ Known(s.f, Home[k]) \in {"open", "unknown"}
     \/ CommittedAt(s.f, k) /\ (Voted(s.f, k) = s.id \/ Mutant = "any-fence-bars")

-----------------------------------------------------------------------------
(* Ghosts.  A transaction's write has its place in the item's order since its fence, a native one
   since it was made. *)

Noted(k, who, what) ==
  [events EXCEPT ![k] = Append(@, [who |-> who, what |-> what, val |-> <<who>>])]
Places(who, k) == {i \in DOMAIN events[k] : events[k][i].who = who}
Place(who, k) == MinOf(Places(who, k))

-----------------------------------------------------------------------------
(* Clients of transactions: reading. *)

Finished(o) ==
  CASE o \in Natives -> native[o].done
    [] OTHER -> \/ tx[o].pc \in {"acknowledged", "aborted"}
                \/ tx[o].pc = "voted" /\ Outcome(o) = "aborted"

\* What the same process does before o is finished.
MayBegin(o) == \A p \in work.before[o] : Finished(p)

Acknowledged == {u \in Txs : tx[u].pc = "acknowledged"}

\* A consistent get; the tail is at least as old.
Fetch(t, k) ==
  /\ tx[t].pc = "run" /\ k \in R(t) /\ tx[t].got[k] = Unread
  /\ MayBegin(t)
  /\ tx' = [tx EXCEPT ![t].got[k] = store[k], ![t].seen[k] = Len(log[Home[k]]) + 1,
                      ![t].at[k] = shown[k],
                      ![t].after = IF \A j \in Keys : tx[t].got[j] = Unread
                                   THEN Acknowledged ELSE @]
  /\ UNCHANGED <<work, store, log, native, events, shown, left>>

\* What the item has shown says that a write is on its way to it.
IsUnfit(t, k) == Bars(tx[t].got[k], k)

\* That write is committed: it is installed, and the item read again.
ReadAgain(t, k) ==
  /\ tx[t].pc = "run" /\ tx[t].got[k].f # None
  /\ CommittedAt(tx[t].got[k].f, k) /\ IsUnfit(t, k)
  /\ store[k].id # tx[t].got[k].id
  /\ tx' = [tx EXCEPT ![t].got[k] = Unread]
  /\ UNCHANGED <<work, store, log, native, events, shown, left>>

HasRead(t) == /\ MayBegin(t)
              /\ \A k \in R(t) : tx[t].got[k] # Unread

-----------------------------------------------------------------------------
(* Certification: oracle or express client, on the log that the entry follows. *)

Conflict(t, l) == \E k \in R(t), u \in Txs \ {t} :
  Home[k] = l /\ CommittedAt(u, k) /\ k \in W(u) /\ CommitPlace(u, l) >= tx[t].seen[k]

Here(keys, l) == {k \in keys : Home[k] = l}
Busy(t, l) == \E u \in Txs \ {t} :
  /\ Known(u, l) = "open"
  /\ \/ Here(W(u) \cap W(t), l) # {}
     \/ Mutant # "writes-do-not-bar" /\ Here(W(u) \cap R(t), l) # {}
     \/ Mutant # "reads-do-not-bar" /\ Here(R(u) \cap W(t), l) # {}

AllChecked(t) == R(t) \cup W(t) \subseteq tx[t].ok

\* Whether it goes on to its fences once this part is placed, too.
GoesOn(t, l) == Placed(t) \cup {l} = LogsOf(t) \/ Mutant = "fences-before-all-are-placed"

Prepare(t, l) ==
  /\ ~IsLocal(t) /\ ~IsReadOnly(t)
  /\ l \in LogsOf(t) /\ Prepares(t, l) = {} /\ Votes(t, l) = {}
  /\ \/ Mutant = "verify-first" /\ tx[t].pc = "fencing" /\ AllChecked(t)
     \/ Mutant # "verify-first" /\ tx[t].pc = "run" /\ HasRead(t)
     \/ Mutant = "fences-before-all-are-placed" /\ tx[t].pc = "fencing"
  /\ Mutant = "reads-around" \/ \A k \in R(t) : ~IsUnfit(t, k)
  /\ ~Busy(t, l)
  /\ IF Conflict(t, l)
     THEN /\ tx' = [tx EXCEPT ![t].pc = IF Placed(t) = {} THEN "aborted" ELSE "refused"]
          /\ UNCHANGED log
     ELSE /\ log' = [log EXCEPT ![l] = Append(@, Entry("prepared", t, NoIds, "client"))]
          /\ tx' = [tx EXCEPT ![t].pc = IF GoesOn(t, l) THEN "fencing" ELSE @,
                              ![t].seen = [k \in Keys |-> IF Home[k] = l THEN 0 ELSE @[k]],
                              ![t].after =
                                IF R(t) = {} /\ Placed(t) = {} THEN Acknowledged ELSE @]
  /\ UNCHANGED <<work, store, native, events, shown, left>>

\* Somebody has ended it where it was not placed yet.
MeetsItsEnd(t) ==
  /\ tx[t].pc = "run" /\ Prepares(t, Decider(t)) = {} /\ Outcome(t) = "aborted"
  /\ tx' = [tx EXCEPT ![t].pc = "voted"]
  /\ UNCHANGED <<work, store, log, native, events, shown, left>>

VerifyFirst(t) ==
  /\ Mutant = "verify-first"
  /\ ~IsLocal(t) /\ ~IsReadOnly(t) /\ tx[t].pc = "run" /\ HasRead(t)
  /\ tx' = [tx EXCEPT ![t].pc = "fencing"]
  /\ UNCHANGED <<work, store, log, native, events, shown, left>>

-----------------------------------------------------------------------------
(* The native check, after the transaction has its place in the log. *)

\* Each call has a nonce of its own: one that is late gives an item an identity that nobody votes.
Nonce(t, k, call) == <<"n", t, k, IF Mutant = "fence-nonce-again" THEN 1 ELSE call>>

Stamped(s, nonce) ==
  IF s.id = <<"bare">> \/ (s.id = <<"absent">> /\ Mutant # "no-placeholder") THEN nonce ELSE s.id

Fenced(s, t, k, call) ==
  IF s.id = <<"absent">> /\ Mutant = "no-placeholder" THEN s
  ELSE [id |-> Stamped(s, Nonce(t, k, call)), val |-> s.val, f |-> t]

\* Contents are compared, not identities: these only hold a call together.
IsAsRead(t, k) == store[k].val = tx[t].got[k].val

\* One conditional UpdateItem; its answer shows the content, which is compared.
Fence(t, k) ==
  LET now == store[k]
      what == CASE k \in work.tx[t].deletes -> "delete"
                [] k \in R(t) -> "update"
                [] OTHER -> "blind"
  IN /\ tx[t].pc = "fencing" /\ k \in W(t) \ tx[t].ok
     /\ now.f = t \/ ~Bars(now, k)
     /\ IF k \in R(t) => IsAsRead(t, k)
        THEN /\ store' = [store EXCEPT ![k] = Fenced(now, t, k, 1)]
             /\ tx' = [tx EXCEPT ![t].ok = @ \cup {k}, ![t].at[k] = shown[k],
                  ![t].ids[k] = CASE Mutant # "votes-identity-read" -> Stamped(now, Nonce(t, k, 1))
                                  [] k \in R(t) -> tx[t].got[k].id
                                  [] OTHER -> now.id]
             /\ events' = Noted(k, t, what)
        ELSE /\ tx' = [tx EXCEPT ![t].pc = "refused"]
             /\ UNCHANGED <<store, events>>
     /\ UNCHANGED <<work, log, native, shown, left>>

\* Another call for the same fence, whose answer nobody gets: early, or as late as can be.
FenceCopy(t, k) ==
  /\ left > 0
  /\ AllPlaced(t) /\ k \in W(t)
  /\ store[k].f = t \/ ~Bars(store[k], k)
  /\ k \in R(t) => store[k].id = tx[t].got[k].id \/ store[k].f = t
  /\ store' = [store EXCEPT ![k] = Fenced(store[k], t, k, 2)]
  /\ left' = left - 1
  /\ UNCHANGED <<work, log, tx, native, events, shown>>

\* What is only read is read once more, when all fences stand: else two local commits, one after
\* the other, could come behind the read and before a fence.  Also ends a read-only transaction.
Recheck(t, k) ==
  /\ k \in R(t) \ (W(t) \cup tx[t].ok)
  /\ \/ /\ tx[t].pc = "fencing"
        /\ W(t) \subseteq tx[t].ok \/ Mutant = "rechecks-beside-fences"
     \/ IsReadOnly(t) /\ tx[t].pc = "run" /\ HasRead(t)
  /\ IF IsAsRead(t, k)
     THEN tx' = [tx EXCEPT ![t].ok = @ \cup {k}, ![t].at[k] = shown[k]]
     ELSE tx' = [tx EXCEPT ![t].pc = IF IsReadOnly(t) THEN "aborted" ELSE "refused"]
  /\ UNCHANGED <<work, store, log, native, events, shown, left>>

Appended(t, l, entry) == log' = [log EXCEPT ![l] = Append(@, entry)]

\* The client's vote, as late as it likes: the first vote of all stands.
Vote(t) ==
  /\ \/ /\ tx[t].pc = "fencing"
        /\ IF Mutant = "votes-unchecked" THEN W(t) \subseteq tx[t].ok ELSE AllChecked(t)
        /\ Prepares(t, Decider(t)) # {}
        /\ AllPlaced(t) \/ Mutant = "votes-before-all-are-placed"
        /\ Appended(t, Decider(t), Entry("yes", t, tx[t].ids, "client"))
     \/ /\ tx[t].pc = "refused"
        /\ Appended(t, Decider(t), Entry("no", t, NoIds, "client"))
  /\ tx' = [tx EXCEPT ![t].pc = "voted"]
  /\ UNCHANGED <<work, store, native, events, shown, left>>

\* Anybody in whose way an open transaction stands, or replay after its bound; in the log that
\* decides, whether it has its place there yet or not.
VoteDown(t) ==
  /\ Placed(t) # {}
  /\ ~\E i \in Votes(t, Decider(t)) : log[Decider(t)][i].by = "helper"
  /\ Mutant # "nobody-votes-down"
  /\ Votes(t, Decider(t)) = {} \/ left > 0
  /\ Appended(t, Decider(t), Entry("no", t, NoIds, "helper"))
  /\ left' = IF Votes(t, Decider(t)) = {} THEN left ELSE left - 1
  /\ UNCHANGED <<work, store, tx, native, events, shown>>

\* The outcome is entered in another log, where it bars, with the identities that were voted.
Enter(t, l) ==
  LET d == Decider(t)
      of == log[d][Deciding(t, d)]
      ids == IF Mutant = "enters-without-stamps" THEN NoIds ELSE of.ids
  IN /\ l \in Placed(t) \ {d} /\ Votes(t, l) = {}
     /\ Votes(t, d) # {} \/ Mutant = "enters-what-is-open"
     /\ Appended(t, l, IF Votes(t, d) # {} THEN Entry(of.kind, t, ids, "helper")
                       ELSE Entry("no", t, NoIds, "helper"))
     /\ UNCHANGED <<work, store, tx, native, events, shown, left>>

\* Client, reader, native writer, replay; as late and as often as they like.  A delete leaves
\* nothing: what guards the item against late installs is that identities never come again, and
\* that who brings one back all the same, by a put of what it has read, brings no fence.
IsDue(t, k) == store[k].id = Voted(t, k) /\ store[k].f = t

Install(t, k) ==
  /\ k \in W(t) /\ ~IsLocal(t) /\ Places(t, k) # {}
  /\ CommittedAt(t, k) \/ (Mutant = "installs-early" /\ Known(t, Home[k]) = "open")
  /\ CASE Mutant = "installs-early" -> store[k].f = t
       [] Mutant = "installs-by-fence" -> store[k].f = t
       [] Mutant = "installs-anyway" -> store[k].id # <<"v", t>>
       [] Mutant = "installs-by-identity" -> store[k].id = Voted(t, k)
       [] OTHER -> IsDue(t, k)
  /\ store' = [store EXCEPT ![k] =
       IF k \in work.tx[t].deletes THEN Absent
       ELSE [id |-> <<"v", t>>, f |-> None,
             val |-> IF k \in R(t) THEN Append(tx[t].got[k].val, t) ELSE <<t>>]]
  /\ shown' = [shown EXCEPT ![k] = Place(t, k)]
  /\ UNCHANGED <<work, log, tx, native, events, left>>

Acknowledge(t) ==
  /\ tx[t].pc = "voted" /\ Committed(t)
  /\ Mutant = "acknowledges-early" \/ \A k \in W(t) : CommittedAt(t, k) /\ ~IsDue(t, k)
  /\ tx' = [tx EXCEPT ![t].pc = "acknowledged"]
  /\ UNCHANGED <<work, store, log, native, events, shown, left>>

\* Of a read-only transaction over several items: then a look at each log, one after the other.
\* What is open there is settled first.  One that reads a single item ends at once, unless it has
\* met a fence.
Look(t, l) ==
  /\ IsReadOnly(t) /\ tx[t].pc = "run" /\ HasRead(t)
  /\ Cardinality(R(t)) > 1 /\ l \in LogsOf(t) \ tx[t].looked
  /\ AllChecked(t) \/ Mutant = "read-only-unchecked"
  /\ Mutant = "read-only-does-not-settle" \/
       ~\E u \in Txs : Known(u, l) = "open" /\ Here(W(u) \cap R(t), l) # {}
  /\ tx' = IF Conflict(t, l) THEN [tx EXCEPT ![t].pc = "aborted"]
           ELSE [tx EXCEPT ![t].looked = @ \cup {l}]
  /\ UNCHANGED <<work, store, log, native, events, shown, left>>

ReadOnlyEnd(t) ==
  /\ IsReadOnly(t) /\ tx[t].pc = "run" /\ HasRead(t)
  /\ Mutant = "read-only-over-fence" \/ \A k \in R(t) : ~IsUnfit(t, k)
  /\ \/ Cardinality(R(t)) = 1
     \/ tx[t].looked = LogsOf(t)
     \/ Mutant = "read-only-looks-at-one-log" /\ tx[t].looked # {}
  /\ tx' = [tx EXCEPT ![t].pc = "acknowledged"]
  /\ UNCHANGED <<work, store, log, native, events, shown, left>>

-----------------------------------------------------------------------------
(* Local commit: a transaction of one item, by one conditional write and without the log. *)

\* A bare item has no identity that a condition could name: it gets one, and is compared.
LocalStamp(t, k) ==
  /\ IsLocal(t) /\ tx[t].pc = "run" /\ HasRead(t) /\ k \in R(t)
  /\ tx[t].got[k].id = <<"bare">> /\ Mutant # "local-on-bare"
  /\ IF store[k].id = <<"bare">> /\ store[k].val = tx[t].got[k].val
     THEN /\ store' = [store EXCEPT ![k].id = Nonce(t, k, 1)]
          /\ tx' = [tx EXCEPT ![t].got[k].id = Nonce(t, k, 1)]
     ELSE /\ tx' = [tx EXCEPT ![t].pc = "aborted"]
          /\ UNCHANGED store
  /\ UNCHANGED <<work, log, native, events, shown, left>>

LocalCommit(t, k) ==
  LET now == store[k]
      same == /\ now.id = tx[t].got[k].id
              /\ now.val = tx[t].got[k].val \/ Mutant \in {"local-by-identity", "local-on-bare"}
      value == [id |-> <<"n", t, k, 2>>, f |-> None,
                val |-> IF k \in R(t) THEN Append(tx[t].got[k].val, t) ELSE <<t>>]
  IN /\ IsLocal(t) /\ tx[t].pc = "run" /\ HasRead(t) /\ W(t) = {k}
     /\ k \in R(t) => tx[t].got[k].id # <<"bare">> \/ Mutant = "local-on-bare"
     /\ \/ ~Bars(now, k)
        \/ k \in R(t) /\ Mutant = "local-over-fence"
        \/ k \notin R(t) /\ Mutant = "local-blind-over-fence"
     /\ IF k \in R(t) /\ ~same
        THEN /\ tx' = [tx EXCEPT ![t].pc = "aborted"]
             /\ UNCHANGED <<store, events, shown>>
        ELSE /\ tx' = [tx EXCEPT ![t].pc = "acknowledged", ![t].at[k] = shown[k],
                                 ![t].after = IF k \in R(t) THEN @ ELSE Acknowledged]
             /\ events' = Noted(k, t, CASE k \in work.tx[t].deletes -> "delete"
                                        [] k \in R(t) -> "update" [] OTHER -> "blind")
             /\ store' = [store EXCEPT ![k] = IF k \in work.tx[t].deletes THEN Absent ELSE value]
             /\ shown' = [shown EXCEPT ![k] = Len(events[k]) + 1]
     /\ UNCHANGED <<work, log, native, left>>

-----------------------------------------------------------------------------
(* Native operations: one call each, and no look at the log but in the way of a fence.  "plain-" are
   those of writers that know nothing of us.  Their updates have a gap, from the fence to the
   install, which is left out here.  "plain-put-back" puts an item that was read before it was
   fenced, with all that it had then: its identity, too. *)

DependsOnOld == {"update", "plain-update"}

NativeWrite(n) ==
  LET k == work.native[n].key
      kind == work.native[n].kind
      now == store[k]
  IN /\ ~native[n].done /\ kind # "read" /\ MayBegin(n)
     /\ kind = "update" => ~Bars(now, k) \/ Mutant = "update-over-fence"
     /\ kind = "plain-update" => ~Bars(now, k) \/ Mutant = "plain-update-in-gap"
     /\ native' = [native EXCEPT ![n].done = TRUE]
     /\ store' = [store EXCEPT ![k] =
          CASE kind = "put" -> [id |-> <<"n", n, k, 1>>, val |-> <<n>>, f |-> None]
            [] kind = "plain-put" -> [id |-> <<"bare">>, val |-> <<n>>, f |-> None]
            [] kind = "plain-put-back" -> [now EXCEPT !.val = <<n>>, !.f = None]
            [] kind = "plain-delete" -> Absent
            [] kind = "update" -> [id |-> <<"n", n, k, 1>>, val |-> Append(now.val, n), f |-> None]
            [] OTHER -> [now EXCEPT !.val = Append(@, n),
                                    !.id = IF @ = <<"absent">> THEN <<"bare">> ELSE @]]
     /\ events' = Noted(k, n, CASE kind \in DependsOnOld -> "update"
                                [] kind = "plain-delete" -> "delete" [] OTHER -> "blind")
     /\ shown' = [shown EXCEPT ![k] = Len(events[k]) + 1]
     /\ UNCHANGED <<work, log, tx, left>>

NativeRead(n) ==
  /\ ~native[n].done /\ work.native[n].kind = "read" /\ MayBegin(n)
  /\ native' = [native EXCEPT ![n] = [done |-> TRUE, at |-> shown[work.native[n].key]]]
  /\ UNCHANGED <<work, store, log, tx, events, shown, left>>

\* A fence that bars nothing is removed, a placeholder with it.
Clean(k) ==
  LET s == store[k] IN
  /\ s.f # None
  /\ ~Bars(s, k) \/ Mutant = "cleans-open-fence"
  /\ store' = [store EXCEPT ![k] = IF s.val = <<>> THEN Absent ELSE [s EXCEPT !.f = None]]
  /\ UNCHANGED <<work, log, tx, native, events, shown, left>>

-----------------------------------------------------------------------------

First(kind) ==
  CASE kind = "absent" -> Absent
    [] kind = "bare" -> [id |-> <<"bare">>, val |-> <<"old">>, f |-> None]
    [] OTHER -> [id |-> <<"v">>, val |-> <<"old">>, f |-> None]

Init ==
  /\ work \in Works
  /\ store \in [Keys -> {First(kind) : kind \in FirstStates}]
  /\ log = [l \in Logs |-> <<>>]
  /\ tx = [t \in Txs |-> [pc |-> "run", got |-> [k \in Keys |-> Unread],
                          seen |-> [k \in Keys |-> 0], at |-> [k \in Keys |-> 0],
                          ok |-> {}, ids |-> NoIds, after |-> {}, looked |-> {}]]
  /\ native = [n \in Natives |-> [done |-> FALSE, at |-> 0]]
  /\ events = [k \in Keys |-> <<[who |-> "init", what |-> "blind", val |-> store[k].val]>>]
  /\ shown = [k \in Keys |-> 1]
  /\ left = Copies

HelperStep ==
  \/ \E t \in Txs : \/ VoteDown(t)
                     \/ \E l \in Logs : Enter(t, l)
                     \/ \E k \in Keys : Install(t, k)
  \/ \E k \in Keys : Clean(k)
NativeStep == \E n \in Natives : NativeWrite(n) \/ NativeRead(n)
ClientStep == \E t \in Txs :
  \/ VerifyFirst(t) \/ MeetsItsEnd(t) \/ Vote(t) \/ Acknowledge(t) \/ ReadOnlyEnd(t)
  \/ \E l \in Logs : Prepare(t, l) \/ Look(t, l)
  \/ \E k \in Keys : \/ Fetch(t, k) \/ ReadAgain(t, k) \/ Fence(t, k) \/ FenceCopy(t, k)
                     \/ Recheck(t, k) \/ LocalStamp(t, k) \/ LocalCommit(t, k)

Next == ClientStep \/ NativeStep \/ HelperStep

Spec == Init /\ [][Next]_vars

\* Clients of transactions may stop anywhere; who helps and who writes natively goes on.
FairSpec == Spec /\ WF_vars(HelperStep) /\ WF_vars(NativeStep)

-----------------------------------------------------------------------------
(* Judges.  I10 (docs/protocol.md section 11) is the first four. *)

Lasts(e) == e.who \in Txs =>
  IF IsLocal(e.who) THEN tx[e.who].pc = "acknowledged" ELSE Committed(e.who)

RECURSIVE Value(_, _)
Value(k, i) ==   \* of an item after the first i writes of its order
  IF i = 0 THEN <<>>
  ELSE LET e == events[k][i] IN
       CASE ~Lasts(e) -> Value(k, i - 1)
         [] e.what = "blind" -> e.val
         [] e.what = "delete" -> <<>>
         [] OTHER -> Append(Value(k, i - 1), e.who)

\* The store shows what the item's order says, and no value that is not committed.
StoreIsTrue == \A k \in Keys : store[k].val = Value(k, shown[k])

\* Nothing that lasts is lost, neither of transactions nor native: once all is settled and
\* installed, and for an acknowledged one at once.
Quiet == \A t \in Txs : /\ \A l \in LogsOf(t) : Known(t, l) # "open"
                        /\ \A k \in W(t) : CommittedAt(t, k) => ~IsDue(t, k)
NothingLost == \A k \in Keys : \A i \in DOMAIN events[k] :
  LET e == events[k][i] IN
  i > shown[k] /\ Lasts(e) => e.who \in Txs /\ ~Quiet /\ tx[e.who].pc # "acknowledged"

\* Who has committed: by the log, or without it.
Ended(t) == IF IsLocal(t) \/ IsReadOnly(t) THEN tx[t].pc = "acknowledged" ELSE Committed(t)

\* What it has read is the state at its place, and what it updates it has seen.
ReadsAreTrue == \A t \in Txs : Ended(t) => \A k \in R(t) :
  /\ tx[t].got[k].val = Value(k, tx[t].at[k])
  /\ k \in W(t) => \A i \in DOMAIN events[k] :
       i > tx[t].at[k] /\ i < Place(t, k) => ~Lasts(events[k][i])

\* Place of the write and of the read of who at k; 0: none.
Wrote(o, k) == IF Places(o, k) = {} THEN 0 ELSE Place(o, k)
Saw(o, k) ==
  CASE o \in Natives -> IF work.native[o].key = k THEN native[o].at ELSE 0
    [] OTHER -> IF k \in R(o) THEN tx[o].at[k] ELSE 0

LastsBetween(k, i, j) == \E m \in DOMAIN events[k] : m > i /\ m <= j /\ Lasts(events[k][m])
Precedes(o, p, k) ==
  \/ Wrote(o, k) # 0 /\ Wrote(p, k) # 0 /\ Wrote(o, k) < Wrote(p, k)
  \/ Saw(o, k) # 0 /\ Wrote(p, k) # 0 /\ Saw(o, k) < Wrote(p, k)
  \/ Wrote(o, k) # 0 /\ Saw(p, k) # 0 /\ Wrote(o, k) <= Saw(p, k)
  \/ Saw(o, k) # 0 /\ Saw(p, k) # 0 /\ LastsBetween(k, Saw(o, k), Saw(p, k))

\* One order of transactions for all items, native writes between them included, and real time.
Before(t, u) == t \in tx[u].after \/ \E k \in Keys : Precedes(t, u, k)
RECURSIVE Reach(_, _)
Reach(S, n) ==
  IF n = 0 THEN S
  ELSE Reach(S \cup {u \in Txs : Ended(u) /\ \E t \in S : t # u /\ Before(t, u)}, n - 1)
OneOrder == \A t \in Txs : Ended(t) =>
  t \notin Reach({u \in Txs : Ended(u) /\ u # t /\ Before(t, u)}, Cardinality(Txs))

\* I4 as far as the log tells: nothing that a transaction has read is committed anew by others while
\* it is open.
I4 == \A t, u \in Txs, l \in Logs :
  t # u /\ Known(t, l) = "committed" /\ Known(u, l) = "committed" /\ Here(R(t) \cap W(u), l) # {}
    => ~(MinOf(Prepares(t, l)) < Deciding(u, l) /\ Deciding(u, l) < Deciding(t, l))

\* What is voted has its place in every log, and all logs say the same of it.
Agree == \A t \in Txs :
  /\ Committed(t) => AllPlaced(t)
  /\ \A l \in LogsOf(t) \ {Decider(t)} : Votes(t, l) # {} => Known(t, l) = Outcome(t)

\* What one process does with one item, native or in a transaction, has that order in the item.
LastsOf(o) == IF o \in Natives THEN native[o].done ELSE Ended(o)
ItemOrder == \A o \in Txs \cup Natives : LastsOf(o) => \A p \in work.before[o] : LastsOf(p) =>
  \A k \in Keys : ~Precedes(o, p, k)

\* Whatever has its place in the log is settled and installed in the end, every native operation is
\* done, and no fence is left.
Settles == <>[](Quiet /\ (\A n \in Natives : native[n].done) /\ \A k \in Keys : store[k].f = None)
===============================================================================
