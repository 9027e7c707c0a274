---------------------------- MODULE TidemarkTraces ----------------------------
(* The model with the name of each step in its state: what `npm run model:replay` drives the code *)
(* by.                                                                                            *)
EXTENDS TidemarkConfigs

VARIABLE step

Did(name, who, what) == step' = [name |-> name, who |-> who, what |-> what]

TraceInit == Init /\ step = [name |-> "Init", who |-> "", what |-> ""]

TraceNext ==
  \/ \E t \in Txs :
       \/ \E k \in Keys : \/ ClientRead(t, k) /\ Did("ClientRead", t, k)
                          \/ ClientInstall(t, k) /\ Did("ClientInstall", t, k)
       \/ \E fresh, late \in BOOLEAN :
            ClientSend(t, fresh, late) /\ Did("ClientSend", t, [fresh |-> fresh, late |-> late])
       \/ ClientResend(t) /\ Did("ClientResend", t, "")
       \/ ClientCrash(t) /\ Did("ClientCrash", t, "")
       \/ Probe(t) /\ Did("Probe", t, "")
  \/ \E o \in Oracles :
       \/ OracleCertify(o) /\ Did("OracleCertify", o, "")
       \/ OraclePut(o) /\ Did("OraclePut", o, "")
       \/ OracleCrash(o) /\ Did("OracleCrash", o, "")
  \/ \E p \in Replays :
       \/ ReplayStart(p) /\ Did("ReplayStart", p, "")
       \/ \E k \in Keys : ReplayInstall(p, k) /\ Did("ReplayInstall", p, k)
       \/ ReplayCrash(p) /\ Did("ReplayCrash", p, "")
  \/ \E m \in net : Arrive(m) /\ Did("Arrive", m.t, m)
  \/ \E m \in Range(stream) : Copy(m) /\ Did("Copy", m.t, m)
  \/ \E k \in Keys : Reap(k) /\ Did("Reap", k, "")
===============================================================================
