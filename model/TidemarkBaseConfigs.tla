-------------------------- MODULE TidemarkBaseConfigs --------------------------
(* What everybody does, for the configurations base*.cfg. *)
EXTENDS TidemarkBase

CONSTANTS t1, t2, b1, b2, b3, x, y, z, w1, w2

Does(reads, writes) == [reads |-> reads, writes |-> writes]
Writes(keys) == Does({}, keys)
Reads(keys) == Does(keys, {})
Updates(keys) == Does(keys, keys)
Acid(reads, writes) == [reads |-> reads, writes |-> writes, around |-> FALSE, past |-> FALSE]
\* It only reads, and has history.
Around(reads) == [Acid(reads, {}) EXCEPT !.around = TRUE]
AsOf(reads) == [Around(reads) EXCEPT !.past = TRUE]

\* Two of two steps each, one that reads around them, and one that writes between.
Readers ==
  {[base |-> b1 :> <<{Writes({x}), Updates({x})}, {Writes({x}), Reads({y}), Writes({y})}>>
          @@ b2 :> <<{Does({x}, {y}), Writes({x})}, {Writes({y}), Reads({x})}>>,
    tx |-> t1 :> Around({x, y}) @@ t2 :> Acid({}, {y})]}

\* Two, and one that reads the past.
Past ==
  {[base |-> b1 :> <<{Writes({x})}, {Writes({x}), Updates({y})}>>
          @@ b2 :> <<{Does({x}, {y}), Writes({x})}, {Writes({y}), Reads({y})}>>,
    tx |-> t1 :> AsOf({x, y}) @@ t2 :> Acid({}, {x, y})]}

\* Three, each of which may go by what another has done, and one that reads around them.
Chains ==
  {[base |-> b1 :> <<{Writes({x}), Does({z}, {x})}, {Reads({x}), Reads({z})}>>
          @@ b2 :> <<{Does({x}, {y}), Reads({x})}, {Does({y}, {z}), Reads({z})}>>
          @@ b3 :> <<{Does({y}, {z}), Writes({z}), Does({x}, {z})}>>,
    tx |-> t1 :> Around({x, z})]}

\* Two, one that writes what it has read and waits for them, and one that has read nothing.
Writers ==
  {[base |-> b1 :> <<{Writes({x}), Reads({x})}, {Writes({y}), Reads({y})}>>
          @@ b2 :> <<{Writes({x}), Does({x}, {y})}>>,
    tx |-> t1 :> one @@ t2 :> Acid({}, {y})] : one \in {Acid({x}, {y}), Acid({x, y}, {x})}}

\* Two that may overwrite what the other has read, and one that reads both and writes elsewhere.
Beside ==
  {[base |-> b1 :> <<{Does({y}, {x}), Reads({y}), Does({x}, {y})}, {Writes({x}), Reads({y})}>>
          @@ b2 :> <<{Writes({y}), Reads({x})}>>,
    tx |-> t1 :> Acid({x, y}, {z})]}

\* One that only reads, and must wait as it has no history.
Waiting ==
  {[base |-> b1 :> <<{Writes({x}), Does({y}, {x})}, {Writes({y})}>>
          @@ b2 :> <<{Does({x}, {y})}, {Writes({x})}>>,
    tx |-> t1 :> Acid({x, y}, {}) @@ t2 :> Acid({}, {x, y})]}

\* Their steps in two moments each, by two runners, beside one that writes.
Steps ==
  {[base |-> b1 :> <<{Updates({x}), Does({x}, {y})}, {Writes({y}), Updates({y})}>>
          @@ b2 :> <<{Does({y}, {x}), Updates({x})}>>,
    tx |-> t1 :> one] : one \in {Acid({x}, {y}), Acid({y}, {x})}}

\* Two that may depend on each other, and one that waits for them.
Ends ==
  {[base |-> b1 :> <<{Writes({x})}, {Reads({y})}>> @@ b2 :> <<{Writes({y})}, {Reads({x})}>>,
    tx |-> t1 :> one] : one \in {Acid({x}, {y}), Acid({x, y}, {})}}

\* One, run by two, the one of which may stop.
Stops ==
  {[base |-> b1 :> <<{Writes({x}), Reads({y})}, {Does({y}, {x})}>>, tx |-> t1 :> Acid({x}, {y})]}
===============================================================================
