/**
 * What a request makes of a transaction that is open under its id, as an oracle takes it
 * (docs/protocol.md §3, What is prepared):
 *
 *     decided in this log    the first vote decides; whoever asks to abort votes against
 *     decided elsewhere      its outcome is entered, if its client says so, or the other logs do;
 *                            to ask to abort it has no effect: it may be committed by now
 *
 * Invariant: I3 over all logs. Papers: Centiman §3.1, Mediator §4.2.
 */
import type { OracleInput } from "./block-draft.ts";
import { columnCode } from "./request-batch.ts";
import type { PreparedVerdict, ShardNumber, Stamp, Timestamp, WholeOutcome } from "./types.ts";
import { isDecidedIn, isPossible, stampsFor } from "./whole-outcome.ts";

export type Settlement =
  | { readonly kind: "aborted" }
  | {
      readonly kind: "committed";
      /** What the log's verdict has of the vote; undefined: its parts have decided it. */
      readonly stamps: readonly Stamp[] | undefined;
      /** Of a part: at which it counts. */
      readonly counted: Timestamp | undefined;
    };

type Opened = {
  readonly prepared: PreparedVerdict;
  /** Whose log it is. */
  readonly shard: ShardNumber;
  readonly arrivalMicros: number;
};

/** Undefined: nothing. */
export function settlementBy(
  { requests, settled }: Pick<OracleInput, "requests" | "settled">,
  request: number,
  opened: Opened,
): Settlement | undefined {
  const { prepared, shard, arrivalMicros } = opened;
  const isOwn = isDecidedIn(shard, prepared);
  if (isOwn && requests.kinds[request] === columnCode.abort) return { kind: "aborted" };
  if (prepared.parts === undefined) {
    const stamps = requests.votes.get(request);
    return stamps && { kind: "committed", stamps, counted: undefined };
  }
  const said = requests.wholes.get(request);
  const preparedAt = prepared.timestamp;
  const isSaid = said !== undefined && isPossible(said, { preparedAt, arrivalMicros });
  // What is decided here no other log says.
  const whole = isSaid ? said : isOwn ? undefined : settled?.get(request);
  return whole && settlementOf(whole, opened);
}

function settlementOf(whole: WholeOutcome, { prepared, shard }: Opened): Settlement {
  if (whole.kind === "aborted") return whole;
  // A log that a liar's word was taken in may say what is below.
  const counted = Math.max(whole.timestamp, prepared.timestamp) as Timestamp;
  const { stamps } = whole;
  if (isDecidedIn(shard, prepared)) return { kind: "committed", stamps: stamps ?? [], counted };
  // mutant: enters-without-stamps
  const own = stamps && stampsFor(shard, prepared, stamps);
  return { kind: "committed", stamps: own, counted };
}
