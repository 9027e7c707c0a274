--------------------------- MODULE TidemarkClosing ---------------------------
(***************************************************************************)
(* The stream is closed, taken away and opened again by blocks of the log,  *)
(* while clients commit (docs/protocol.md section 3, Closing the stream;    *)
(* aws/stream-switch.ts).                                                   *)
(*                                                                          *)
(* What is modelled: `stream` holds the records of all streams, one after   *)
(* the other, since the numbers of a later stream lie above those of an     *)
(* earlier one.  The present one begins behind `carrier`.  What is in `net` *)
(* arrives in whichever stream is there by then.  Taken away and made anew  *)
(* is one step: what would have been refused between stays in `net`.        *)
(*                                                                          *)
(* A block of provisioning is drafted and put in one step: it is a function *)
(* of the log that it follows, so one that is late finds its position taken *)
(* or is the same block still (as with `OneStep` in TidemarkExpress.tla).   *)
(***************************************************************************)
EXTENDS TidemarkExpress

CONSTANTS Closings  \* How often the stream may be closed.

VARIABLES switch    \* [closings left, carrier: records of streams that are gone, gone: blocks
                    \* whose payloads went with them].

closingVars == <<expressVars, switch>>

\* Behind every record that a stream may hold.
End == 99

\* Whether the stream is closed for who has read the log up to p.
IsClosed(p) ==
  LET by == {i \in 1 .. p : "closes" \in DOMAIN log[i] \/ "opens" \in DOMAIN log[i]}
  IN by # {} /\ "closes" \in DOMAIN log[MaxOf(by)]

-----------------------------------------------------------------------------
(* Provisioning. *)

Close ==
  LET p == Len(log) IN
  /\ switch.closings > 0
  /\ ~IsClosed(p)
  /\ log' = Append(log, [cursor |-> IF Mutant = "closing-keeps-cursor" THEN Covered(p) ELSE End,
                         verdicts |-> <<>>, through |-> Through(p), closes |-> TRUE])
  /\ switch' = [switch EXCEPT !.closings = @ - 1]
  /\ UNCHANGED <<work, client, net, stream, oracle, commits, store, high, replay, mark, left, puts>>

\* Another stream takes the place of a drained one: the watermark has the closing's cursor.
TakeAway ==
  /\ IsClosed(IF Mutant = "taken-away-undrained" THEN Len(log) ELSE mark)
  /\ IsClosed(Len(log))
  /\ switch.carrier < Len(stream)
  /\ switch' = [switch EXCEPT !.carrier = Len(stream), !.gone = Len(log)]
  /\ UNCHANGED <<vars, puts>>

\* Right before the first record of the stream that is there now.  It decides an id of its own.
Open ==
  LET p == Len(log)
      ts == Through(p) + (IF Mutant = "opening-decides-nothing" THEN 0 ELSE 1)
      before == IF Mutant = "opening-passes-records" THEN Len(stream) ELSE switch.carrier
      opened == [cursor |-> before, verdicts |-> <<[t |-> p, kind |-> "probed", ts |-> ts]>>,
                 through |-> ts, opens |-> TRUE]
  IN /\ IsClosed(p)
     /\ log' = Append(log, CASE Mutant = "opening-decides-nothing" ->
                                  [opened EXCEPT !.verdicts = <<>>]
                             [] OTHER -> opened)
     /\ UNCHANGED <<work, client, net, stream, oracle, commits, store, high, replay, mark, left>>
     /\ UNCHANGED <<puts, switch>>

-----------------------------------------------------------------------------
(* Clients. *)

\* Sends by the stream with a tail that reaches to p, as old as it may be.  The record is on its way
\* from then on; one that arrives late, or in a later stream, is nothing special.
LateSend(t, p) ==
  LET c == client[t]
      m == [t |-> t, kind |-> "commit", checked |-> Max(c.r, Through(p))]
  IN /\ c.pc = "run"
     /\ DOMAIN c.read = work[t].reads
     /\ Through(p) >= c.r
     /\ ~IsClosed(p)
     /\ IF Written(Checks(t), c.r, Through(p))
        THEN /\ client' = [client EXCEPT ![t].pc = "aborted"]
             /\ UNCHANGED net
        ELSE /\ client' = [client EXCEPT ![t].pc = "sent"]
             /\ net' = net \cup {m}
     /\ UNCHANGED <<work, stream, oracle, log, commits, store, high, replay, mark, left, puts>>

\* A client that may not append takes the closing for the end of what it has sent: nothing decides
\* it any more.  Its tail may end there, but has not seen another opening if it has sent nothing
\* since.
GivesUp(t) ==
  LET sent == {m \in net \cup Range(stream) : m.t = t}
      EndsAt(p) ==
        /\ \/ IsClosed(p)
           \/ Mutant = "closing-believed-early" /\ p = Len(log) /\ switch.closings > 0
        /\ ~\E v \in Verdicts(1, p) : v.t = t /\ v.kind # "stale"
        /\ \A i \in p + 1 .. Len(log) : "opens" \in DOMAIN log[i] =>
             \A m \in sent : m.checked < log[i].through
  IN /\ t \notin Express \/ Mutant = "closing-forgets-blocks"
     /\ client[t].pc = "sent"
     /\ \E p \in 0 .. Len(log) : EndsAt(p)
     /\ client' = [client EXCEPT ![t].pc = "aborted"]
     /\ UNCHANGED <<work, net, stream, oracle, log, commits, store, high, replay, mark, left, puts>>

\* Whoever has seen the closing sends nothing by the stream, and asks for outcomes by blocks.
ClosingClientStep == \E t \in Txs :
  \/ \E k \in Keys : ClientRead(t, k) \/ ClientInstall(t, k)
  \/ ClientCrash(t)
  \/ ~IsClosed(Len(log)) /\ (ClientResend(t) \/ Probe(t))

ClosingNext ==
  \/ /\ \/ /\ \/ ClosingClientStep \/ ReplayStep \/ StreamStep
              \/ \E o \in Oracles : OracleCertify(o) \/ OraclePut(o)
              \/ \E p \in Replays : ReplayCrash(p)
              \/ \E m \in Range(stream) : Copy(m)
           /\ UNCHANGED puts
        \/ \E t \in Txs : (\E p \in 0 .. Len(log) : LateSend(t, p)) \/ GivesUp(t)
        \/ ExpressStep
        \/ IsClosed(Len(log)) /\ \E t \in Txs : ExpressProbe(t)
     /\ UNCHANGED switch
  \/ Close \/ TakeAway \/ Open

ClosingSpec ==
  /\ Init /\ puts = {}
  /\ switch = [closings |-> Closings, carrier |-> 0, gone |-> 0]
  /\ [][ClosingNext]_closingVars

\* While a stream may be opened again, its records matter although the cursor lies behind them.
ClosingView ==
  <<ExpressView, switch, stream, Covered(Len(log)),
    [i \in 1 .. Len(log) |-> <<log[i].through, DOMAIN log[i]>>]>>

-----------------------------------------------------------------------------
(* Not numbered. *)

\* While a stream is open, its cursor passes none of its records without an answer.
NonePassed ==
  LET answered == {v.t : v \in Verdicts(1, Len(log))}
  IN ~IsClosed(Len(log)) =>
       \A i \in switch.carrier + 1 .. Covered(Len(log)) : stream[i].t \in answered

\* What a stream alone has held is installed before the stream is taken away.
NothingLost ==
  \A i \in 1 .. switch.gone : "installed" \notin DOMAIN log[i] =>
    \A v \in {x \in Range(log[i].verdicts) : x.kind = "commit"} :
      \A k \in work[v.t].writes : high[k] >= v.ts
==============================================================================
