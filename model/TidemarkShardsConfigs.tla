------------------------- MODULE TidemarkShardsConfigs -------------------------
(* What transactions do, for the configurations shards*.cfg. *)
EXTENDS TidemarkShards

CONSTANTS t1, t2, t3, a, b, p, q, c

Tx(reads, writes) == [reads |-> reads, writes |-> writes, votes |-> FALSE, asOf |-> 0]
Voting(reads, writes) == [Tx(reads, writes) EXCEPT !.votes = TRUE]
AsOf(at, reads) == [Tx(reads, {}) EXCEPT !.asOf = at]

\* `a` in one shard, `b` in the other.
Apart == a :> p @@ b :> q
\* Both in one, and `b` is about to move.
Together == a :> p @@ b :> p

\* Logs that begin together, and one that is ahead.
Level == p :> 0 @@ q :> 0 @@ c :> 0
Skewed == p :> 3 @@ q :> 0 @@ c :> 0
OtherAhead == p :> 0 @@ q :> 3 @@ c :> 0
\* The clock of who writes the child's log is ahead of the parent's.
ChildAhead == p :> 0 @@ q :> 0 @@ c :> 9

\* Two that cross, and one that reads both.
Crossing ==
  {t1 :> x @@ t2 :> Tx({b}, {a}) @@ t3 :> Tx({a, b}, {}) : x \in {Tx({a}, {b}), Tx({}, {a, b})}}

\* The same with more of them, and with one that writes.
CrossingMany ==
  {t1 :> x @@ t2 :> y @@ t3 :> z :
     x \in {Tx({a}, {b}), Tx({}, {a, b})}, y \in {Tx({b}, {a}), Tx({a, b}, {a, b})},
     z \in {Tx({a, b}, {}), Tx({a}, {a}), Tx({}, {b})}}

\* One that votes, as it touches mixed tables as well, and others in its way.
Votes ==
  {t1 :> Voting(x.reads, x.writes) @@ t2 :> y :
     x \in {Tx({a}, {b}), Tx({}, {a, b})},
     y \in {Tx({b}, {a}), Tx({}, {a}), Tx({a, b}, {}), Voting({}, {a, b})}}

\* The same where a shard is split and joined again.
MovingVotes ==
  {t1 :> Voting(x.reads, x.writes) @@ t2 :> y :
     x \in {Tx({a}, {b}), Tx({b}, {a})}, y \in {Tx({b}, {a}), Tx({a, b}, {})}}

\* Writers of both, and one that reads the past.
Past ==
  {t1 :> Tx({}, {a, b}) @@ t2 :> x @@ t3 :> AsOf(at, {a, b}) :
     x \in {Tx({a}, {a}), Tx({}, {b}), Tx({a}, {b})}, at \in {2, 3, 4}}

\* A shard is split under them.
Splitting ==
  {t1 :> x @@ t2 :> y @@ t3 :> z :
     x \in {Tx({a}, {b}), Tx({}, {a, b})}, y \in {Tx({b}, {a}), Tx({b}, {b})},
     z \in {Tx({a, b}, {}), Tx({}, {b})}}

\* The same, where one has parts in two shards when the one is split.
SplittingOne ==
  {t1 :> Tx({}, {a, b}) @@ t2 :> y @@ t3 :> z :
     y \in {Tx({b}, {a}), Tx({b}, {b})}, z \in {Tx({a, b}, {}), Tx({}, {b})}}

\* It is split, and the halves join again.
Joining ==
  {t1 :> x @@ t2 :> y : x \in {Tx({a}, {b}), Tx({}, {a, b})},
                        y \in {Tx({b}, {a}), Tx({b}, {b}), Tx({a, b}, {})}}

Two == {t1 :> Tx({a}, {b}) @@ t2 :> Tx({b}, {a})}
===============================================================================
