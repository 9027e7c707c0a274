------------------------------ MODULE Tidemark ------------------------------
(***************************************************************************)
(* One shard of Tidemark (docs/protocol.md): commit, overlap of oracles,   *)
(* install, replay, watermark, tombstones.  The invariants I1..I9 at the   *)
(* end carry the numbers of docs/protocol.md section 11.                   *)
(*                                                                         *)
(* What is abstracted, and why that is enough:                             *)
(*  - Time.  A timestamp is the number of the decision: 1, 2, 3 ...  The   *)
(*    oracle's window of 10 s becomes a window of `Window` decisions, so   *)
(*    that forgetting happens after two or three of them.                  *)
(*  - An item is the version stored; who wrote a version, and whether it   *)
(*    was a delete, the log says.                                          *)
(*  - One request per record; no spilled payloads; no predicates; no       *)
(*    history.                                                             *)
(*  - Steps that only their own process can notice are one step with their *)
(*    neighbours (begin with the first read, the last install with the     *)
(*    acknowledgement or with the watermark), which loses no behaviour.    *)
(*  - The 15 minutes of the reaper's grace are a guard: it waits for       *)
(*    whoever may still install (signatures die after 5 minutes) or read   *)
(*    (transactions after one) under the tombstone.                        *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
  Txs, Keys,          \* Transactions, each run by a process of its own; items.
  Oracles, Replays,   \* Instances that overlap.
  Window,             \* Decisions that an oracle remembers.
  BatchMax,           \* Records that an oracle certifies at once.
  Crashes,            \* How many processes may crash,
  Copies,             \* how many records may arrive twice or late,
  Resends,            \* how often a client may lose patience and send again.
  Workloads,          \* Set of functions from Txs to what a transaction does.
  Mutant              \* "none", or the name of one deliberate mistake.

VARIABLES
  work,    \* Chosen once: t -> [iso, reads, writes, deletes], deletes \subseteq writes.
  client,  \* t -> [pc, r, read, todo]; see ClientStart.
  net,     \* Records on their way: sent, and not (or not only) stored yet.
  stream,  \* Sequence of records [t, kind, checked].
  oracle,  \* o -> None, or [pos, block]: the block that is being put, and where.
  log,     \* Sequence of blocks [cursor, through, verdicts].
  commits, \* The log's committed verdicts; a function of the log, kept to spare the checker.
  store,   \* k -> version stored; 0: absent.
  high,    \* k -> highest version ever stored.  Ghost: only invariants read it.
  replay,  \* p -> [to, todo]: position to reach, key -> version still to be installed.
  mark,    \* The watermark: a log position.
  left     \* Crashes, copies and resends that may still happen.

vars == <<work, client, net, stream, oracle, log, commits, store, high, replay, mark, left>>

-----------------------------------------------------------------------------
(* Reading the log. *)

Max(a, b) == IF a >= b THEN a ELSE b
Min(a, b) == IF a <= b THEN a ELSE b
MaxOf(S) == CHOOSE x \in S : \A y \in S : y <= x
Range(s) == {s[i] : i \in DOMAIN s}

Verdicts(from, to) == UNION {Range(log[i].verdicts) : i \in from .. to}
Through(p) == IF p = 0 THEN 0 ELSE log[p].through      \* Newest timestamp.
Covered(p) == IF p = 0 THEN 0 ELSE log[p].cursor       \* Records decided.
\* Commits that a block's maker says are installed; an oracle's block says nothing.
Reports(p) == IF "installed" \in DOMAIN log[p] THEN log[p].installed ELSE {}
Newest == Through(Len(log))
Writes(k) == {v \in commits : k \in work[v.t].writes}
IsCommitted(t) == \E v \in commits : v.t = t
CommitTs(t) == (CHOOSE v \in commits : v.t = t).ts
IsDecided(t) == \E i \in 1 .. Len(log) : \E v \in Range(log[i].verdicts) :
                  v.t = t /\ v.kind # "stale"

\* What certification checks (section 3): serializable what was read, snapshot what is written.
Checks(t) == IF work[t].iso = "serializable" THEN work[t].reads ELSE work[t].writes

\* A committed write of one of the keys lies in (low, high], as a tail up to `high` shows it.
Written(keys, low, up) == \E k \in keys : \E v \in Writes(k) : v.ts > low /\ v.ts <= up

-----------------------------------------------------------------------------
(* Certification: section 3, rules 1 to 7, as a function of the log alone. *)

\* What the newest block decides that has opened a stream (TidemarkClosing.tla): of decisions before
\* it an oracle knows no more than that they lie below.
Opened == MaxOf({0} \cup {log[i].through : i \in {j \in 1 .. Len(log) : "opens" \in DOMAIN log[j]}})
Floor(last) == Max(IF Mutant = "opening-keeps-floor" THEN 0 ELSE Opened,
                   IF last > Window THEN last - Window ELSE 0)

\* The verdict on record m by an oracle that knows the decisions `known` up to `last`;
\* "duplicate" stands for no verdict.
Judge(known, last, m) ==
  LET floor == Floor(last)
      remembered == {v \in known : v.ts > floor}
      slack == IF Mutant = "check-off-by-one" THEN 1 ELSE 0
      kind ==
        CASE Mutant # "no-decided-ids" /\ (\E v \in remembered : v.t = m.t) -> "duplicate"
          [] m.checked > last -> "ahead"
          [] Mutant # "no-stale" /\ m.checked < floor -> "stale"
          [] m.kind = "abort" -> "probed"
          [] Mutant # "no-checks" /\ \E v \in remembered :
               /\ v.kind = "commit"
               /\ v.ts > m.checked + slack
               /\ Checks(m.t) \cap work[v.t].writes # {} -> "conflict"
          [] OTHER -> "commit"
  IN [t |-> m.t, kind |-> kind, ts |-> IF kind \in {"stale", "duplicate"} THEN 0 ELSE last + 1]

RECURSIVE Certify(_, _, _)
Certify(known, last, batch) ==
  IF batch = <<>> THEN <<>>
  ELSE LET v == Judge(known, last, Head(batch)) IN
       CASE v.kind = "duplicate" -> Certify(known, last, Tail(batch))
         [] v.kind = "stale" -> <<v>> \o Certify(known, last, Tail(batch))
         [] OTHER -> <<v>> \o Certify(known \cup {v}, v.ts, Tail(batch))

\* The block that follows the first p blocks and covers the stream up to record e.
Block(p, e) ==
  LET known == {v \in Verdicts(1, p) : v.kind # "stale"}
      verdicts == Certify(known, Through(p), SubSeq(stream, Covered(p) + 1, e))
  IN [cursor |-> e,
      verdicts |-> verdicts,
      through |-> MaxOf({Through(p)} \cup {v.ts : v \in Range(verdicts)})]

-----------------------------------------------------------------------------
(* Oracles: section 3.  An oracle's state is a function of the blocks that it has folded.  One that
   lags finds its position taken, rebuilds and certifies again: so every draft begins
   where the log ended when it was made, and may be overtaken before it is put. *)

None == [pos |-> 0, block |-> <<>>]

\* Certifies one or more records after the cursor.  Whatever else the batch holds the cursor skips:
\* so a batch that is redelivered, or cut, is this very step again.
OracleCertify(o) ==
  /\ oracle[o] = None
  /\ LET p == Len(log) IN
     \E e \in Covered(p) + 1 .. Min(Len(stream), Covered(p) + BatchMax) :
       oracle' = [oracle EXCEPT ![o] = [pos |-> p + 1, block |-> <<Block(p, e)>>]]
  /\ UNCHANGED <<work, client, net, stream, log, commits, store, high, replay, mark, left>>

\* The conditional put: the commit point.  Taken: what was drafted is thrown away.
OraclePut(o) ==
  /\ oracle[o] # None
  /\ LET p == oracle[o].pos
         block == oracle[o].block[1]
     IN log' = CASE p = Len(log) + 1 -> Append(log, block)
                 [] p <= Len(log) /\ Mutant = "put-unconditional" -> [log EXCEPT ![p] = block]
                 [] p <= Len(log) /\ Mutant = "taken-appends-on" -> Append(log, block)
                 [] OTHER -> log
  /\ commits' = UNION {{v \in Range(log'[i].verdicts) : v.kind = "commit"} : i \in 1 .. Len(log')}
  /\ oracle' = [oracle EXCEPT ![o] = None]
  /\ UNCHANGED <<work, client, net, stream, store, high, replay, mark, left>>

OracleCrash(o) ==
  /\ left.crashes > 0
  /\ oracle[o] # None
  /\ oracle' = [oracle EXCEPT ![o] = None]
  /\ left' = [left EXCEPT !.crashes = @ - 1]
  /\ UNCHANGED <<work, client, net, stream, log, commits, store, high, replay, mark>>

-----------------------------------------------------------------------------
(* Installing: section 7.  Conditional, whoever does it. *)

Installed(k, ts) ==
  [store EXCEPT ![k] = IF Mutant = "install-unconditional" THEN ts ELSE Max(@, ts)]
Raised(k, ts) == [high EXCEPT ![k] = Max(@, ts)]

-----------------------------------------------------------------------------
(* Clients: sections 4 to 6.  The tail of a client reaches to its read timestamp r; it refreshes the
   tail (to Newest) when it meets a newer version, and before it sends. *)

ClientStart(w) == [pc |-> "idle", r |-> 0, read |-> <<>>, todo |-> w.writes]

\* Reads one key, and with the first one begins.  A version above r extends r if nothing read so far
\* has been overwritten.  A write that the tail shows and the store does not is installed first
\* (helper).
ClientRead(t, k) ==
  LET c == client[t]
      r == IF c.pc = "idle" THEN Newest ELSE c.r
      stored == store[k]
      extends == stored > r
      up == IF extends THEN Newest ELSE r
      installedThrough == Max(stored, Through(mark))
      missing == IF Mutant = "reads-ignore-tail" THEN {}
                 ELSE {v.ts : v \in {w \in Writes(k) : w.ts > installedThrough /\ w.ts <= up}}
      version == MaxOf({stored} \cup missing)
      torn == Mutant # "extend-unchecked" /\ Written(DOMAIN c.read, r, up)
  IN /\ c.pc \in {"idle", "run"}
     /\ k \in work[t].reads \ DOMAIN c.read
     /\ IF extends /\ torn
        THEN /\ client' = [client EXCEPT ![t].pc = "aborted"]
             /\ UNCHANGED <<store, high>>
        ELSE /\ client' = [client EXCEPT ![t].pc = "run", ![t].r = up,
                                         ![t].read = @ @@ (k :> version)]
             /\ store' = Installed(k, version)
             /\ high' = Raised(k, version)
     /\ UNCHANGED <<work, net, stream, oracle, log, commits, replay, mark, left>>

\* Sends the request with what its tail was when it read, or refreshed and checked up to now.
\* A record that arrives `late` is one of the stream's faults.
ClientSend(t, fresh, late) ==
  LET c == client[t]
      up == IF fresh THEN Newest ELSE c.r
      m == [t |-> t, kind |-> "commit", checked |-> up]
  IN /\ c.pc = "run"
     /\ DOMAIN c.read = work[t].reads
     /\ fresh => Newest > c.r
     /\ IF Mutant # "no-local-check" /\ Written(Checks(t), c.r, up)
        THEN /\ ~late
             /\ client' = [client EXCEPT ![t].pc = "aborted"]
             /\ UNCHANGED <<net, stream, left>>
        ELSE /\ client' = [client EXCEPT ![t].pc = "sent"]
             /\ IF late
                THEN /\ left.copies > 0
                     /\ left' = [left EXCEPT !.copies = @ - 1]
                     /\ net' = net \cup {m}
                     /\ UNCHANGED stream
                ELSE /\ stream' = Append(stream, m)
                     /\ UNCHANGED <<net, left>>
     /\ UNCHANGED <<work, oracle, log, commits, store, high, replay, mark>>

\* A copy of t's request is on its way, or stored and not looked at yet.
InFlight(t) ==
  \/ \E m \in net : m.t = t
  \/ \E i \in Covered(Len(log)) + 1 .. Len(stream) : stream[i].t = t

\* Sends again, the same id: after a refresh that shows no decision, and a check up to now.  Free
\* when all that was sent has been answered (stale); else the client has lost patience.
ClientResend(t) ==
  /\ client[t].pc = "sent"
  /\ Mutant # "resend-blindly" => ~IsDecided(t)
  /\ InFlight(t) \/ IsDecided(t) => left.resends > 0
  /\ left' = IF InFlight(t) \/ IsDecided(t) THEN [left EXCEPT !.resends = @ - 1] ELSE left
  /\ IF Written(Checks(t), client[t].r, Newest) /\ ~IsDecided(t)
     THEN /\ client' = [client EXCEPT ![t].pc = "aborted"]
          /\ UNCHANGED net
     ELSE /\ net' = net \cup {[t |-> t, kind |-> "commit", checked |-> Newest]}
          /\ UNCHANGED client
  /\ UNCHANGED <<work, stream, oracle, log, commits, store, high, replay, mark>>

\* A commit that the log (for the mutant: an oracle's mere intention) shows is installed, key by
\* key; with the last one it is acknowledged.
ClientInstall(t, k) ==
  LET promised == IF Mutant = "acknowledge-before-block"
                  THEN UNION {Range(oracle[o].block[1].verdicts) :
                              o \in {x \in Oracles : oracle[x] # None}}
                  ELSE {}
      mine == {v \in commits \cup promised : v.t = t /\ v.kind = "commit"}
      rest == client[t].todo \ {k}
  IN /\ client[t].pc = "sent"
     /\ k \in client[t].todo
     /\ mine # {}
     /\ LET ts == (CHOOSE v \in mine : TRUE).ts IN
        /\ store' = Installed(k, ts)
        /\ high' = Raised(k, ts)
     /\ client' = [client EXCEPT ![t].todo = rest,
                                 ![t].pc = IF rest = {} THEN "acknowledged" ELSE "sent"]
     /\ UNCHANGED <<work, net, stream, oracle, log, commits, replay, mark, left>>

\* Before it has sent, a client's crash is nobody's business.
ClientCrash(t) ==
  /\ left.crashes > 0
  /\ client[t].pc = "sent"
  /\ IsDecided(t) => IsCommitted(t)
  /\ left' = [left EXCEPT !.crashes = @ - 1]
  /\ client' = [client EXCEPT ![t].pc =
                  IF Mutant = "unknown-is-aborted" THEN "aborted" ELSE "crashed"]
  /\ UNCHANGED <<work, net, stream, oracle, log, commits, store, high, replay, mark>>

\* outcome(id), by whoever asks: a look at the log, and if it says nothing a request to abort the
\* id.
Probe(t) ==
  /\ client[t].pc \in {"crashed", "probed"}
  /\ ~IsDecided(t)
  /\ client[t].pc = "probed" => ~InFlight(t)
  /\ client' = [client EXCEPT ![t].pc = "probed"]
  /\ net' = net \cup {[t |-> t, kind |-> "abort", checked |-> Newest]}
  /\ UNCHANGED <<work, stream, oracle, log, commits, store, high, replay, mark, left>>

-----------------------------------------------------------------------------
(* The stream: what is on its way arrives, sooner or later or never. *)

Arrive(m) ==
  /\ m \in net
  /\ net' = net \ {m}
  /\ stream' = Append(stream, m)
  /\ UNCHANGED <<work, client, oracle, log, commits, store, high, replay, mark, left>>

\* A record that is stored already is stored again: a producer's retry, however late.
Copy(m) ==
  /\ left.copies > 0
  /\ left' = [left EXCEPT !.copies = @ - 1]
  /\ stream' = Append(stream, m)
  /\ UNCHANGED <<work, client, net, oracle, log, commits, store, high, replay, mark>>

-----------------------------------------------------------------------------
(* Replay: section 8. *)

Idle == [to |-> 0, todo |-> <<>>]

\* Reads the log above the watermark and the stored versions.  Of each key only the newest write
\* counts.  Keys of which every write is said to be installed are not looked at.
ReplayStart(p) ==
  LET to == Len(log)
      loaded == {v \in Verdicts(mark + 1, IF Mutant = "watermark-ahead" THEN to - 1 ELSE to) :
                 v.kind = "commit"}
      newest(k) == MaxOf({0} \cup {v.ts : v \in {x \in loaded : k \in work[x.t].writes}})
      said == UNION {Reports(i) : i \in mark + 1 .. to}
      spared(k) == \A v \in loaded : k \in work[v.t].writes => v.ts \in said
      missing == {k \in Keys : newest(k) > store[k] /\ ~spared(k)}
  IN /\ replay[p] = Idle
     /\ mark < to
     /\ IF missing = {}
        THEN /\ mark' = to
             /\ UNCHANGED replay
        ELSE /\ mark' = IF Mutant = "watermark-first" THEN to ELSE mark
             /\ replay' = [replay EXCEPT ![p] = [to |-> to, todo |-> [k \in missing |-> newest(k)]]]
     /\ UNCHANGED <<work, client, net, stream, oracle, log, commits, store, high, left>>

\* Installs one key; after the last one the watermark moves, only ever forward.
ReplayInstall(p, k) ==
  LET todo == replay[p].todo
      rest == DOMAIN todo \ {k}
  IN /\ k \in DOMAIN todo
     /\ store' = Installed(k, todo[k])
     /\ high' = Raised(k, todo[k])
     /\ IF rest = {}
        THEN /\ replay' = [replay EXCEPT ![p] = Idle]
             /\ mark' = IF Mutant = "watermark-backward" THEN replay[p].to
                        ELSE Max(mark, replay[p].to)
        ELSE /\ replay' = [replay EXCEPT ![p].todo = [j \in rest |-> todo[j]]]
             /\ UNCHANGED mark
     /\ UNCHANGED <<work, client, net, stream, oracle, log, commits, left>>

ReplayCrash(p) ==
  /\ left.crashes > 0
  /\ replay[p] # Idle
  /\ replay' = [replay EXCEPT ![p] = Idle]
  /\ left' = [left EXCEPT !.crashes = @ - 1]
  /\ UNCHANGED <<work, client, net, stream, oracle, log, commits, store, high, mark>>

-----------------------------------------------------------------------------
(* The reaper: section 7, last paragraph. *)

IsDelete(k, ts) == \E v \in commits : v.ts = ts /\ k \in work[v.t].deletes

\* Somebody may still begin to put a version up to `ts` of this key.
MayInstall(k, ts) ==
  \/ \E t \in Txs : /\ client[t].pc = "sent"
                    /\ k \in client[t].todo
                    /\ \E v \in commits : v.t = t /\ v.ts <= ts
  \/ \E p \in Replays : k \in DOMAIN replay[p].todo /\ replay[p].todo[k] <= ts

\* Somebody who began before the delete may still read the key: without its tombstone a deleted item
\* looks as if it had never been there.
MayRead(k, ts) == \E t \in Txs : /\ client[t].pc = "run"
                                  /\ client[t].r < ts
                                  /\ k \in work[t].reads \ DOMAIN client[t].read

Reap(k) ==
  /\ store[k] > 0
  /\ IsDelete(k, store[k])
  /\ store[k] <= Through(mark)
  /\ Mutant # "reap-before-installers" => ~MayInstall(k, store[k])
  /\ Mutant # "reap-before-readers" => ~MayRead(k, store[k])
  /\ store' = [store EXCEPT ![k] = 0]
  /\ UNCHANGED <<work, client, net, stream, oracle, log, commits, high, replay, mark, left>>

-----------------------------------------------------------------------------

Init ==
  /\ work \in Workloads
  /\ client = [t \in Txs |-> ClientStart(work[t])]
  /\ net = {}
  /\ stream = <<>>
  /\ oracle = [o \in Oracles |-> None]
  /\ log = <<>>
  /\ commits = {}
  /\ store = [k \in Keys |-> 0]
  /\ high = [k \in Keys |-> 0]
  /\ replay = [p \in Replays |-> Idle]
  /\ mark = 0
  /\ left = [crashes |-> Crashes, copies |-> Copies, resends |-> Resends]

ClientStep == \E t \in Txs :
  \/ \E k \in Keys : ClientRead(t, k) \/ ClientInstall(t, k)
  \/ \E fresh, late \in BOOLEAN : ClientSend(t, fresh, late)
  \/ ClientResend(t)
  \/ Probe(t)
OracleStep == \E o \in Oracles : OracleCertify(o) \/ OraclePut(o)
ReplayStep == \E p \in Replays : ReplayStart(p) \/ \E k \in Keys : ReplayInstall(p, k)
StreamStep == \E m \in net : Arrive(m)
ReaperStep == \E k \in Keys : Reap(k)
FaultStep ==
  \/ \E t \in Txs : ClientCrash(t)
  \/ \E o \in Oracles : OracleCrash(o)
  \/ \E p \in Replays : ReplayCrash(p)
  \/ \E m \in Range(stream) : Copy(m)

Next == ClientStep \/ OracleStep \/ ReplayStep \/ StreamStep \/ ReaperStep \/ FaultStep

Spec == Init /\ [][Next]_vars

\* Some oracle, some replay and the stream go on as long as there is something to do.
FairSpec == Spec /\ WF_vars(OracleStep) /\ WF_vars(ReplayStep) /\ WF_vars(StreamStep)

-----------------------------------------------------------------------------
(* What of a state still matters (the VIEW of the checker's configurations): two states that agree
   here have the same futures.  Once t is decided, what it had read is judged for good; a draft that
   was overtaken is worth nothing; a record that the log covers matters as long as it may be
   copied, and where it stands does not; of the log, commits and remembered ids, and blocks above
   the watermark.  What the view kept beyond that would make the number of states depend on which
   of two such states a checker with several workers comes to first. *)

View ==
  LET newest == Newest
      covered == Covered(Len(log))
      decided == UNION {Range(log[i].verdicts) : i \in 1 .. Len(log)}
      settled == {v.t : v \in {x \in decided : x.kind # "stale"}}
      committed == {v.t : v \in commits}
      ofClient(t) ==
        CASE client[t].pc = "aborted" -> <<"aborted">>
          [] t \in committed -> <<client[t].pc, client[t].todo>>
          [] t \in settled -> <<"settled">>
          [] OTHER -> client[t]
      ofOracle(o) == CASE oracle[o].pos = 0 -> <<>>
                       [] oracle[o].pos = Len(log) + 1 ->
                         [oracle[o].block EXCEPT ![1].cursor = @ - covered]
                       [] OTHER -> "overtaken"
      ofReplay(p) == [replay[p] EXCEPT !.to = IF @ > mark THEN @ - mark ELSE 0]
  IN <<work, [t \in Txs |-> ofClient(t)], net,
       IF left.copies > 0 THEN Range(SubSeq(stream, 1, Min(covered, Len(stream)))) ELSE {},
       SubSeq(stream, covered + 1, Len(stream)),
       [o \in Oracles |-> ofOracle(o)],
       commits, settled, {<<v.t, v.ts>> : v \in {x \in decided : x.ts > Floor(newest)}}, newest,
       [i \in 1 .. Len(log) - mark |-> log[mark + i].through], Through(mark),
       store, high, [p \in Replays |-> ofReplay(p)], left>>

-----------------------------------------------------------------------------
(* Invariants, by the numbers of docs/protocol.md section 11.  I1 and I6 speak of steps. *)

I1 == [][Len(log') >= Len(log) /\ SubSeq(log', 1, Len(log)) = log]_log

I2 == \A i \in 1 .. Len(log) : \A j \in 1 .. Len(log[i].verdicts) :
        LET v == log[i].verdicts[j]
            before == Through(i - 1)
        IN v.kind # "stale" =>
             /\ v.ts > before
             /\ v.ts <= log[i].through
             /\ \A h \in 1 .. j - 1 : log[i].verdicts[h].ts < v.ts

\* At most one decision per id; whoever was told "aborted" without the log is never proven wrong.
I3 == /\ \A i \in 1 .. Len(log) : \A j \in DOMAIN log[i].verdicts :
           \A x \in 1 .. Len(log) : \A y \in DOMAIN log[x].verdicts :
             LET v == log[i].verdicts[j]
                 w == log[x].verdicts[y]
             IN v.t = w.t /\ v.kind # "stale" /\ w.kind # "stale" => i = x /\ j = y
      /\ \A t \in Txs : client[t].pc = "aborted" => ~IsCommitted(t)

NoWriteBetween(t, keys) == \A v \in commits : v.t = t =>
  \A w \in commits : w.ts > client[t].r /\ w.ts < v.ts => work[w.t].writes \cap keys = {}

I4 == \A t \in Txs : work[t].iso = "serializable" => NoWriteBetween(t, work[t].reads)
I5 == \A t \in Txs : work[t].iso = "snapshot" => NoWriteBetween(t, work[t].writes)

\* A version falls only when the reaper removes the tombstone that is the newest version of all.
I6 == \A k \in Keys : store[k] = high[k] \/ (store[k] = 0 /\ IsDelete(k, high[k]))

I7 == \A v \in commits : v.ts <= Through(mark) => \A k \in work[v.t].writes : high[k] >= v.ts

\* What a transaction has read is the newest committed write at or below r (a removed tombstone:
\* none).
I8 == \A t \in Txs : \A k \in DOMAIN client[t].read :
        LET at == MaxOf({0} \cup {v.ts : v \in {w \in Writes(k) : w.ts <= client[t].r}})
        IN \/ client[t].read[k] = at
           \/ client[t].read[k] = 0 /\ IsDelete(k, at)

I9 == \A t \in Txs : client[t].pc = "acknowledged" =>
        /\ IsCommitted(t)
        /\ \A k \in work[t].writes : high[k] >= CommitTs(t)

\* Not numbered: the watermark never falls.
MarkRises == [][mark' >= mark]_mark

\* Liveness: in the end every record is decided, every commit installed, and the watermark says so.
Settles == <>[](/\ Covered(Len(log)) = Len(stream)
                /\ mark = Len(log)
                /\ \A v \in commits : \A k \in work[v.t].writes : high[k] >= v.ts)
=============================================================================
