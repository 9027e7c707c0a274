------------------------------ MODULE TidemarkBase ------------------------------
(* BASE transactions: steps that commit one by one, whose writes ACID transactions see only once
   all of it has ended (docs/adr/0017-base-transactions.md). A model of its own, beside
   Tidemark.tla.

   One log, to which an entry is appended in one step, as the models above show that oracles and
   clients do; a timestamp is a place in it, and a version the place of the entry that wrote it.
   A BASE transaction is open from its first step to its release. A step's verdict carries all that
   its BASE transaction holds so far: what it has written, each with the place of its first write,
   what it has read, and the open ones that it depends on. So only the newest verdict of each open
   one matters. It is released at the first place at which it has ended and so has all that it
   depends on; from there on its writes count for ACID transactions.
   Installs are taken as done at once, history as complete, and windows and retention are left out:
   whoever looks for an open one finds it. *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS Keys, Txs, Bases,
          Runners,  \* who runs steps in two moments, reading and committing; {}: each is one moment
          Reserves, \* whether ACID transactions that are busy keep new BASE ones from their keys
          Works,    \* what everybody does: [tx, base], see TidemarkBaseConfigs
          Mutant

VARIABLES work,     \* chosen once
          log,      \* [by, n, got, writes, ends, wrote, read, deps]
          released, \* of each BASE transaction: where, or 0; the fold over the log, kept
          tx,       \* what the clients of ACID transactions remember
          run       \* of each runner: the step that it is at

vars == <<work, log, released, tx, run>>

Unread == 99
Nothing == [k \in Keys |-> 0]
Min(S) == CHOOSE n \in S : \A m \in S : n <= m
Max(S) == CHOOSE n \in S : \A m \in S : m <= n

------------------------------------------------------------------------------
(* What the log says, up to a place. *)

End == Len(log)
IsStep(i) == log[i].by \in Bases
Newest(k, p) == Max({i \in 1 .. p : k \in log[i].writes} \cup {0})

\* The newest verdict of a BASE transaction, or 0. Its fields `wrote`, `read` and `deps` are all
\* that anybody goes by.
LastIn(entries, b) == Max({i \in DOMAIN entries : entries[i].by = b} \cup {0})
Last(b, p) == Max({i \in 1 .. p : log[i].by = b} \cup {0})
StepsDone(b) == IF Last(b, End) = 0 THEN 0 ELSE log[Last(b, End)].n
IsOpenAt(b, p) ==
  /\ Last(b, p) # 0
  /\ \/ released[b] = 0
     \/ released[b] > p /\ Mutant # "open-judged-now"
IsOpen(b) == Last(b, End) # 0 /\ released[b] = 0
HasWritten(b, k, p) == log[Last(b, p)].wrote[k] # 0
HasRead(b, k) == k \in log[Last(b, End)].read

------------------------------------------------------------------------------
(* Release. *)

\* With the newest entry: the largest set of those that have ended and depend on nobody open
\* outside of it. So a cycle is released together.
ReleasedWith(entries) ==
  LET newest(b) == entries[LastIn(entries, b)]
      open == {b \in Bases : LastIn(entries, b) # 0 /\ released[b] = 0}
      ended == {b \in open : newest(b).ends}
      needs(b) == newest(b).deps \cap open
      free ==
        CASE Mutant = "needs-only-direct" -> {b \in ended : needs(b) \subseteq ended}
          [] Mutant = "cycle-waits-for-itself" -> {b \in ended : needs(b) = {}}
          [] OTHER -> UNION {S \in SUBSET ended : \A b \in S : needs(b) \subseteq S}
  IN [b \in Bases |-> IF b \in free THEN Len(entries) ELSE released[b]]

\* Where a key's commits count for ACID transactions.
Entered(k) ==
  {i \in DOMAIN log : ~IsStep(i) /\ k \in log[i].writes} \cup
  (IF Mutant = "release-enters-nothing" THEN {}
   ELSE {released[b] : b \in {c \in Bases : released[c] # 0 /\ HasWritten(c, k, End)}})
IsChanged(k, p) == \E i \in Entered(k) : i > p

------------------------------------------------------------------------------
(* What is done, and what is chosen at first. *)

R(t) == work.tx[t].reads
W(t) == work.tx[t].writes
IsUpdate(t) == W(t) # {}
\* It only reads, and has history to read around what is open.
ReadsAround(t) == work.tx[t].around
\* It does so at a moment that may be past (asOf).
IsAsOf(t) == work.tx[t].past

Idle == [b |-> "-", n |-> 0, at |-> 0, does |-> [reads |-> {}, writes |-> {}]]

Init ==
  /\ work \in Works
  /\ log = <<>>
  /\ released = [b \in Bases |-> 0]
  /\ tx = [t \in Txs |-> [pc |-> "new", r |-> 0, since |-> 0, got |-> [k \in Keys |-> Unread]]]
  /\ run = [w \in Runners |-> Idle]

------------------------------------------------------------------------------
(* Steps of BASE transactions. They read what is committed, open or not. *)

Got(reads, p) == [k \in Keys |-> IF k \in reads THEN Newest(k, p) ELSE Unread]

\* Those whose unfinished work the step meets. (With readers as well there would be no cycle at
\* all, and no release before that of the longest reader: refused, see the ADR.)
Met(b, does) ==
  {c \in Bases \ {b} : IsOpen(c) /\ \E k \in Keys :
     \/ k \in does.reads /\ HasWritten(c, k, End)
     \/ k \in does.writes /\ HasWritten(c, k, End) /\ Mutant # "overwrites-without-depending"
     \/ k \in does.writes /\ HasRead(c, k) /\ Mutant = "depends-on-readers"}

\* The verdict: what b holds after the step. One without writes is as much of a step as any.
StepOf(b, n, does, p) ==
  LET old == IF Last(b, End) = 0 \/ Mutant = "holds-newest-step"
             THEN [wrote |-> Nothing, read |-> {}, deps |-> {}] ELSE log[Last(b, End)]
      untold == Mutant = "failed-step-leaves-nothing" /\ does.writes = {}
  IN [by |-> b, n |-> n, got |-> Got(does.reads, p), writes |-> does.writes,
      ends |-> n = Len(work.base[b]),
      wrote |-> [k \in Keys |-> IF old.wrote[k] = 0 /\ k \in does.writes THEN End + 1
                                ELSE old.wrote[k]],
      read |-> IF untold THEN old.read ELSE old.read \cup does.reads,
      deps |-> IF untold \/ Mutant = "no-dependencies" THEN old.deps
               ELSE old.deps \cup Met(b, does)]

\* (The sets of one element have the checker evaluate each once.)
Appends(entry) ==
  \E e \in {entry} : \E entries \in {Append(log, e)} :
    /\ log' = entries
    /\ released' = IF e.by \in Bases THEN ReleasedWith(entries) ELSE released

\* Wanted by an ACID transaction that has been waiting for long.
IsBusyWith(t, b) ==
  /\ IsOpen(b)
  /\ \E k \in Keys :
       \/ k \in R(t) /\ HasWritten(b, k, End) /\ Mutant # "reads-what-is-open"
       \/ k \in W(t) /\ HasWritten(b, k, End) /\ Mutant # "overwrites-what-is-open"
       \/ k \in W(t) /\ HasRead(b, k) /\ Mutant # "overwrites-what-open-has-read"
IsBusy(t) == \E b \in Bases : IsBusyWith(t, b)
HasReadAll(t) == \A k \in R(t) : tx[t].got[k] # Unread
IsReserved(does) ==
  \E t \in Txs : /\ tx[t].pc = "run" /\ IsUpdate(t) /\ HasReadAll(t) /\ IsBusy(t)
                 /\ (R(t) \cup W(t)) \cap (does.reads \cup does.writes) # {}
MayStep(n, does) ==
  ~Reserves \/ (n > 1 /\ Mutant # "reservation-bars-later-steps") \/ ~IsReserved(does)

\* One whose reads still hold where it is certified might as well have been made there.
Step(b) ==
  LET n == StepsDone(b) + 1 IN
  /\ Runners = {} /\ n <= Len(work.base[b])
  /\ \E does \in work.base[b][n] : MayStep(n, does) /\ Appends(StepOf(b, n, does, End))
  /\ UNCHANGED <<work, tx, run>>

\* A runner reads, b's own record among the rest: which step is the next one.
Start(w, b) ==
  LET n == StepsDone(b) + 1 IN
  /\ run[w] = Idle /\ n <= Len(work.base[b])
  /\ \E does \in work.base[b][n] :
       run' = [run EXCEPT ![w] = [b |-> b, n |-> n, at |-> End, does |-> does]]
  /\ UNCHANGED <<work, log, released, tx>>

\* A step is certified as any commit is, by all that was written since: b's record, too. A runner
\* may stop here for ever, and another one run the same step.
Commit(w) ==
  LET s == run[w]
      isFirst == StepsDone(s.b) = s.n - 1
      hold == \A k \in s.does.reads : Newest(k, End) <= s.at
  IN
  /\ s # Idle
  /\ run' = [run EXCEPT ![w] = Idle]
  /\ IF /\ isFirst \/ Mutant = "step-without-record"
        /\ hold \/ Mutant = "steps-unchecked"
     THEN Appends(StepOf(s.b, s.n, s.does, s.at))
     ELSE UNCHANGED <<log, released>>
  /\ UNCHANGED <<work, tx>>

------------------------------------------------------------------------------
(* ACID transactions. *)

Begin(t) ==
  /\ tx[t].pc = "new"
  /\ \E r \in IF IsAsOf(t) THEN 0 .. End ELSE {End} :
       tx' = [tx EXCEPT ![t].pc = "run", ![t].r = r, ![t].since = IF IsAsOf(t) THEN 0 ELSE End]
  /\ UNCHANGED <<work, log, released, run>>

\* Open ones that have written a key, and where each did first.
Hiding(k, p) == {b \in Bases : IsOpenAt(b, p) /\ HasWritten(b, k, p)}
FirstWrite(b, k, p) ==
  IF Mutant = "first-write-forgotten"
  THEN Max({i \in 1 .. p : log[i].by = b /\ k \in log[i].writes})
  ELSE log[Last(b, p)].wrote[k]

\* The state before all of them, from history.
StateBefore(k, p) ==
  LET places == {FirstWrite(b, k, p) : b \in Hiding(k, p)} IN
  CASE places = {} -> Newest(k, p)
    [] Mutant = "hides-newest-version" -> Newest(k, Newest(k, p) - 1)
    [] Mutant = "hides-newest-transaction" -> Newest(k, Max(places) - 1)
    [] OTHER -> Newest(k, Min(places) - 1)

\* Without history there is what is stored, and that must be neither newer nor hidden.
IsThere(t, k) == Newest(k, End) <= tx[t].r
MustWait(t, k) == Mutant # "reads-open-writes" /\ Hiding(k, tx[t].r) # {}

Read(t, k) ==
  /\ tx[t].pc = "run" /\ k \in R(t) /\ tx[t].got[k] = Unread
  /\ ReadsAround(t) \/ (IsThere(t, k) /\ ~MustWait(t, k))
  /\ tx' = [tx EXCEPT ![t].got[k] =
              IF ReadsAround(t) THEN StateBefore(k, tx[t].r) ELSE Newest(k, tx[t].r)]
  /\ UNCHANGED <<work, log, released, run>>

\* Further on, unless what was read has changed: a release is a commit of all that was written.
Extend(t) ==
  LET holds == \A k \in R(t) : tx[t].got[k] # Unread => ~IsChanged(k, tx[t].r) IN
  /\ tx[t].pc = "run" /\ ~ReadsAround(t) /\ tx[t].r < End
  /\ tx' = IF holds \/ Mutant = "extends-unchecked" THEN [tx EXCEPT ![t].r = End]
           ELSE [tx EXCEPT ![t].pc = "aborted"]
  /\ UNCHANGED <<work, log, released, run>>

\* The rules of certification. Whoever is busy is not decided, and asks again.
Certify(t) ==
  LET isConflict == \E k \in R(t) : IsChanged(k, tx[t].r)
      entry == [by |-> t, n |-> 0, got |-> tx[t].got, writes |-> W(t), ends |-> TRUE,
                wrote |-> Nothing, read |-> {}, deps |-> {}]
  IN
  /\ tx[t].pc = "run" /\ IsUpdate(t) /\ HasReadAll(t)
  /\ isConflict \/ ~IsBusy(t)
  /\ IF isConflict
     THEN /\ tx' = [tx EXCEPT ![t].pc = "aborted"]
          /\ UNCHANGED <<log, released>>
     ELSE /\ tx' = [tx EXCEPT ![t].pc = "done"]
          /\ Appends(entry)
  /\ UNCHANGED <<work, run>>

DoneReading(t) ==
  /\ tx[t].pc = "run" /\ ~IsUpdate(t) /\ HasReadAll(t)
  /\ tx' = [tx EXCEPT ![t].pc = "done"]
  /\ UNCHANGED <<work, log, released, run>>

AcidStep(t) ==
  \/ Begin(t) \/ Extend(t) \/ Certify(t) \/ DoneReading(t)
  \/ \E k \in Keys : Read(t, k)
Next ==
  \/ \E b \in Bases : Step(b)
  \/ \E w \in Runners : Commit(w) \/ \E b \in Bases : Start(w, b)
  \/ \E t \in Txs : AcidStep(t)
Spec == Init /\ [][Next]_vars

\* Nobody must begin anything. Any runner may stop for ever but one, which goes on with what was
\* accepted.
GoesOn(w) == Commit(w) \/ \E b \in Bases : Last(b, End) # 0 /\ Start(w, b)
Fair ==
  /\ \A b \in Bases : WF_vars(Last(b, End) # 0 /\ Step(b))
  /\ Runners # {} => WF_vars(GoesOn(CHOOSE w \in Runners : TRUE))
  /\ \A t \in Txs : WF_vars(tx[t].pc # "new" /\ AcidStep(t))
LiveSpec == Spec /\ Fair

------------------------------------------------------------------------------
(* What holds. First, whose work a version carries. *)

\* Of each entry, the BASE transactions whose work it may hold: a BASE transaction carries what any
\* of its steps has read, by its results.
RECURSIVE Carried(_)
Carried(n) ==
  IF n = 0 THEN <<>> ELSE
  LET before == Carried(n - 1)
      of(v) == IF v \in {0, Unread} THEN {} ELSE before[v]
      own == IF IsStep(n) THEN {i \in 1 .. n : log[i].by = log[n].by} ELSE {n}
      all == UNION {of(log[i].got[k]) : i \in own, k \in Keys}
  IN Append(before, all \cup ({log[n].by} \cap Bases))

\* S3: nobody sees what is open, directly or through others. Of running bodies, too.
NoneSeesOpen ==
  LET carried == Carried(End) IN
  \A t \in Txs, k \in Keys : tx[t].got[k] \in DOMAIN log =>
    \A b \in carried[tx[t].got[k]] : released[b] # 0 /\ released[b] <= tx[t].r

\* What there is to see at a place, whatever the mechanism makes of it (I8): all reads hold there.
Visible(k, p) == Max({0} \cup {i \in 1 .. p : k \in log[i].writes
                        /\ (IsStep(i) => released[log[i].by] \in 1 .. p)})
ReadsHold == \A t \in Txs, k \in Keys :
  tx[t].got[k] # Unread /\ tx[t].pc # "aborted" => tx[t].got[k] = Visible(k, tx[t].r)

\* S5, in part: nobody is released before it has ended, or before what it carries has.
EndsFirst ==
  LET carried == Carried(End)
      ended(b, p) == Last(b, p) # 0 /\ log[Last(b, p)].n = Len(work.base[b])
  IN \A i \in DOMAIN log : IsStep(i) => LET b == log[i].by IN
       released[b] # 0 => \A c \in carried[i] : ended(c, released[b])

------------------------------------------------------------------------------
(* The orders. *)

Committed == {t \in Txs : tx[t].pc = "done"}
Accepted == {b \in Bases : Last(b, End) # 0}
All == Committed \cup Accepted

Entries(x) == {i \in DOMAIN log : log[i].by = x}
WritePlaces(x, k) == {i \in Entries(x) : k \in log[i].writes}
ReadPlaces(x, k) ==
  IF x \in Txs THEN {tx[x].got[k]} \ {Unread} ELSE {log[i].got[k] : i \in Entries(x)} \ {Unread}

\* x before y at some key: by what one wrote and the other read or wrote, or by what one has read
\* and the other then wrote.
ByWrites(x, y) == \E k \in Keys : \E i \in WritePlaces(x, k) :
  (\E j \in WritePlaces(y, k) : i < j) \/ (\E v \in ReadPlaces(y, k) : i <= v)
ByReads(x, y) == \E k \in Keys : \E v \in ReadPlaces(x, k), j \in WritePlaces(y, k) : v < j

\* Whoever is told of the end is told at the release.
ToldAt(b) ==
  IF Mutant = "told-at-the-end"
  THEN Min({i \in Entries(b) : log[i].ends} \cup {Unread})
  ELSE IF released[b] = 0 THEN Unread ELSE released[b]
InTime(x, y) == y \in Txs /\
  IF x \in Bases THEN ToldAt(x) <= tx[y].since
  ELSE \E i \in Entries(x) : i <= tx[y].since

Before(x, y) == x # y /\ (ByWrites(x, y) \/ ByReads(x, y) \/ InTime(x, y))
\* Of two BASE transactions: all but that one has written what the other had read.
BeforeButReads(x, y) ==
  x # y /\ (ByWrites(x, y) \/ ({x, y} \cap Txs # {} /\ (ByReads(x, y) \/ InTime(x, y))))

RECURSIVE From(_, _, _, _)
From(Follows(_, _), nodes, found, n) ==
  IF n = 0 THEN found
  ELSE From(Follows, nodes, found \cup {y \in nodes : \E x \in found : Follows(x, y)}, n - 1)
IsOnCycle(Follows(_, _), nodes, x) ==
  x \in From(Follows, nodes, {y \in nodes : Follows(x, y)}, Cardinality(nodes))

\* S1: ACID transactions among themselves.
AcidStrict == \A t \in Committed : ~IsOnCycle(Before, Committed, t)
\* S2: one of each.
OneWay == \A t \in Committed, b \in Accepted : ~(Before(t, b) /\ Before(b, t))
\* And together: no ACID transaction is on a cycle, but by what one BASE transaction wrote and
\* another had read.
AcidInOrder == \A t \in Committed : ~IsOnCycle(BeforeButReads, All, t)

\* S4: each step by itself, and what is not read around them.
StepBefore(i, j) == \E k \in Keys :
  \/ k \in log[i].writes /\ k \in log[j].writes /\ i < j
  \/ k \in log[i].writes /\ log[j].got[k] \in i .. End
  \/ k \in log[j].writes /\ log[i].got[k] < j
StepFollows(i, j) == i # j /\ StepBefore(i, j)
StepsInOrder == \A i \in DOMAIN log : IsStep(i) => ~IsOnCycle(StepFollows, DOMAIN log, i)
StepsOnce == \A b \in Bases :
  LET places == Entries(b) IN
  \A i \in places : log[i].n = Cardinality({j \in places : j <= i})

\* S5: what is accepted ends and is released, and whoever waits for it ends.
Settled ==
  /\ \A b \in Bases : Last(b, End) # 0 ~> released[b] # 0
  /\ \A t \in Txs : tx[t].pc = "run" ~> tx[t].pc \in {"done", "aborted"}

------------------------------------------------------------------------------
(* What does happen: each of these is to be violated, by the state that it denies. *)

\* The cycle that is allowed: what one BASE transaction has read another one overwrites, and is
\* released before it.
NoCycle == \A t \in Committed : ~IsOnCycle(Before, All, t)
\* A step has read what was open, and an ACID transaction has read around or waited.
NoStepSeen == \A i \in DOMAIN log : IsStep(i) => \A k \in Keys :
  log[i].got[k] \in DOMAIN log => LET c == log[log[i].got[k]].by IN
    c = log[i].by \/ c \notin Bases \/ released[c] \in 1 .. i - 1
NoneReadsAround == \A t \in Committed, k \in Keys :
  tx[t].got[k] # Unread => ~(ReadsAround(t) /\ tx[t].got[k] < Newest(k, tx[t].r))
NoneIsBusy == \A t \in Txs :
  ~(tx[t].pc = "run" /\ IsUpdate(t) /\ HasReadAll(t) /\ IsBusy(t))
\* It began while one was open, and has read what that one's release brought.
NoneWaits == \A t \in Committed, b \in Bases :
  ~(/\ IsOpenAt(b, tx[t].since) /\ released[b] \in 1 .. tx[t].r
    /\ \E k \in R(t) : tx[t].got[k] \in Entries(b))
NoneReleasedTogether == \A b, c \in Bases :
  ~(/\ b # c /\ released[b] # 0 /\ released[b] = released[c]
    /\ c \in log[Last(b, End)].deps /\ b \in log[Last(c, End)].deps)
NoneReleasedLate == \A b \in Bases : released[b] = 0 \/ log[released[b]].by = b
\* A runner has stopped at a step, and another one has gone on behind it.
NoneRollsForward == \A w \in Runners : run[w] = Idle \/ StepsDone(run[w].b) <= run[w].n
===============================================================================
