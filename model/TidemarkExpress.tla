--------------------------- MODULE TidemarkExpress ---------------------------
(***************************************************************************)
(* Express commit (docs/adr/0013-express-commit.md) on top of Tidemark.tla: *)
(* a client appends a block of its own to the log, beside the oracles, and  *)
(* may change between the two ways with one and the same id.                *)
(*                                                                          *)
(* What is modelled: a put is on its way from the moment of the draft for   *)
(* ever.  It may arrive at once, late, more than once, or never; nobody     *)
(* relies on its answer, the log says what became of it.  So a lost answer, *)
(* a repeated put and one that is late by minutes are all the same step.    *)
(* One transaction in a block; several are the oracles' case already.       *)
(***************************************************************************)
EXTENDS TidemarkConfigs

CONSTANTS Express  \* Transactions whose clients may append blocks.

VARIABLES puts     \* Puts on their way, ever since: [t, pos, block].

expressVars == <<vars, puts>>

\* What processes have installed by now, and their next blocks say so: each runs one transaction, so
\* whichever appends speaks for all.  Without a replay nobody would go by it.
Installs == {CommitTs(t) : t \in {u \in Express :
               \/ client[u].pc = "acknowledged"
               \/ Mutant = "express-reports-early" /\ IsCommitted(u)}}

\* The block that follows the first p, as a client makes it: its cursor is that of the block before.
ExpressBlock(t, p) ==
  LET last == IF Mutant = "express-clock-alone" THEN client[t].r ELSE Through(p)
      moved == IF Mutant = "express-moves-cursor" /\ Covered(p) < Len(stream) THEN 1 ELSE 0
  IN [cursor |-> Covered(p) + moved,
      verdicts |-> <<[t |-> t, kind |-> "commit", ts |-> last + 1]>>,
      through |-> last + 1,
      installed |-> IF Replays = {} THEN {} ELSE {ts \in Installs : ts > Through(mark)}]

\* Certifies on a tail that reaches to the log's end and sends the put: at first, or with the same
\* id again, after its put was refused, or its request by the stream is not answered.  A tail that
\* lags finds its position taken, as a put does that is overtaken on its way.
ExpressDraft(t) ==
  LET c == client[t]
      p == Len(log)
      pos == IF Mutant = "express-guesses-position" THEN p + 2 ELSE p + 1
      checkedTo == IF Mutant = "express-stale-tail" THEN c.r ELSE Newest
  IN /\ t \in Express
     /\ \/ c.pc = "run" /\ DOMAIN c.read = work[t].reads
        \/ c.pc = "sent" /\ (Mutant # "express-again-blindly" => ~IsDecided(t))
     /\ ~\E m \in puts : m.t = t /\ m.pos = pos
     /\ IF Written(Checks(t), c.r, checkedTo) /\ ~IsDecided(t)
        THEN /\ client' = [client EXCEPT ![t].pc = "aborted"]
             /\ UNCHANGED puts
        ELSE /\ client' = [client EXCEPT ![t].pc = "sent"]
             /\ puts' = puts \cup {[t |-> t, pos |-> pos, block |-> ExpressBlock(t, p)]}
     /\ UNCHANGED <<work, net, stream, oracle, log, commits, store, high, replay, mark, left>>

\* The conditional put arrives, for the first time or not.
ExpressPut(m) ==
  /\ IF m.pos = Len(log) + 1
     THEN log' = Append(log, m.block)
     ELSE /\ Mutant = "express-put-unconditional"
          /\ m.pos <= Len(log)
          /\ log' = [log EXCEPT ![m.pos] = m.block]
  /\ commits' = UNION {{v \in Range(log'[i].verdicts) : v.kind = "commit"} : i \in 1 .. Len(log')}
  /\ UNCHANGED <<work, client, net, stream, oracle, store, high, replay, mark, left, puts>>

\* Takes a lost answer for a refusal, and runs its body again under another id.
ExpressGivesUp(t) ==
  /\ Mutant = "express-lost-is-refused"
  /\ client[t].pc = "sent"
  /\ \E m \in puts : m.t = t
  /\ client' = [client EXCEPT ![t].pc = "aborted"]
  /\ UNCHANGED <<work, net, stream, oracle, log, commits, store, high, replay, mark, left, puts>>

-----------------------------------------------------------------------------
(* Tables alone: no stream, no oracle.  Whoever asks for an outcome answers it by a block, after a
   look at the log; it is on its way for ever like any other. *)

ExpressProbe(t) ==
  LET p == Len(log)
      ts == Through(p) + 1
  IN /\ client[t].pc \in {"crashed", "probed"}
     /\ Mutant # "express-probe-blindly" => ~IsDecided(t)
     /\ ~\E m \in puts : m.t = t /\ m.pos = p + 1 /\ m.block.verdicts[1].kind = "probed"
     /\ client' = [client EXCEPT ![t].pc = "probed"]
     /\ puts' = puts \cup {[t |-> t, pos |-> p + 1, block |->
          [cursor |-> Covered(p), verdicts |-> <<[t |-> t, kind |-> "probed", ts |-> ts]>>,
           through |-> ts]]}
     /\ UNCHANGED <<work, net, stream, oracle, log, commits, store, high, replay, mark, left>>

TablesStep ==
  \/ \E t \in Txs : \/ \E k \in Keys : ClientRead(t, k) \/ ClientInstall(t, k)
                     \/ ClientCrash(t)
  \/ ReplayStep \/ ReaperStep
  \/ \E p \in Replays : ReplayCrash(p)

-----------------------------------------------------------------------------

ExpressStep ==
  \/ \E t \in Txs : ExpressDraft(t) \/ ExpressGivesUp(t)
  \/ \E m \in puts : ExpressPut(m)

ExpressSpec ==
  /\ Init /\ puts = {}
  /\ [][(Next /\ UNCHANGED puts) \/ ExpressStep]_expressVars

TablesSpec ==
  /\ Init /\ puts = {}
  /\ [][\/ TablesStep /\ UNCHANGED puts
        \/ ExpressStep
        \/ \E t \in Txs : ExpressProbe(t)]_expressVars

\* A put is worth something only at the position that follows the log's end (or, for mutants, beyond
\* it); a position that is taken refuses it for ever.  Position and cursor count from the log's end.
ExpressView ==
  LET end == Len(log)
      ofPut(m) == [m EXCEPT !.pos = @ - end, !.block.cursor = @ - Covered(end)]
  IN <<View, [i \in 1 .. end - mark |-> {ts \in Reports(mark + i) : ts > Through(mark)}],
       {ofPut(m) : m \in {x \in puts : x.pos > end \/ Mutant = "express-put-unconditional"}}>>

-----------------------------------------------------------------------------
(* The same with fewer states: draft and put are one step.  A draft is worth something only as long
   as the log ends where it was made, and is a function of that log and of a part of the stream that
   no longer changes.  So to draft it just before it is put makes no difference to anything but
   drafts: one oracle stands for any number of them, and no put need be on its way.  What may have
   changed meanwhile is what the maker would report as installed: it reports any part of it.

   That no behaviour is lost the checker itself shows: `OneStep` says that each step of ExpressSpec
   is one of these, or changes only drafts. *)

Appended(block) ==
  /\ log' = Append(log, block)
  /\ commits' = commits \cup {v \in Range(block.verdicts) : v.kind = "commit"}
  /\ UNCHANGED <<work, client, net, stream, store, high, replay, mark, left>>

OracleAppends ==
  LET p == Len(log) IN
  \E e \in Covered(p) + 1 .. Min(Len(stream), Covered(p) + BatchMax) : Appended(Block(p, e))

\* Has something on its way from now on, or gives up.
ExpressBegins(t) ==
  /\ t \in Express
  /\ \/ client[t].pc = "run" /\ DOMAIN client[t].read = work[t].reads
     \/ client[t].pc = "sent"
  /\ ~IsDecided(t)
  /\ client' = [client EXCEPT ![t].pc =
       IF Written(Checks(t), client[t].r, Newest) THEN "aborted" ELSE "sent"]
  /\ UNCHANGED <<work, net, stream, log, commits, store, high, replay, mark, left>>

ExpressAppends(t) ==
  /\ t \in Express
  /\ client[t].pc \in {"sent", "crashed", "probed"}
  /\ ~IsDecided(t)
  /\ ~Written(Checks(t), client[t].r, Newest)
  /\ \E said \in SUBSET (IF Replays = {} THEN {} ELSE Installs) :
       Appended([ExpressBlock(t, Len(log)) EXCEPT !.installed = said])

OneStepNext ==
  \/ ClientStep \/ ReplayStep \/ StreamStep \/ ReaperStep \/ FaultStep
  \/ OracleAppends
  \/ \E t \in Txs : ExpressBegins(t) \/ ExpressAppends(t)

OneStepSpec ==
  /\ Init /\ puts = {}
  /\ [][OneStepNext /\ UNCHANGED <<oracle, puts>>]_expressVars

OneStep ==
  [][OneStepNext]_<<work, client, net, stream, log, commits, store, high, replay, mark, left>>

-----------------------------------------------------------------------------
(* Not numbered: a cursor passes no request without an answer.  An oracle cannot break it, since it
   answers what it passes; a block from elsewhere could. *)

NothingPassed ==
  LET answered == {v.t : v \in Verdicts(1, Len(log))}
  IN \A i \in 1 .. Covered(Len(log)) : stream[i].t \in answered
=============================================================================
