/**
 * One block on its way into the log (docs/adr/0013-express-commit.md): the same bytes are put at
 * the same position until the tail reaches it, and shows who stands there.
 *
 *   in flight ──appended, taken──▶ tail read to its position ──▶ landed
 *       │  └────throttled, denied──▶ refused: it certainly stands nowhere
 *       └─no answer─▶ open ──the log shows who stands there──▶ landed
 *                     ▲  └── nobody does: put again ──┐
 *                     └───────────────────────────────┘
 *
 * *Open*, a put may stand, or come late: a later refusal says nothing of that one. So only the log
 * tells, and a block in the open is never refused any more.
 */
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Appended, ClientPorts, CommitLog, StoredBlock } from "../../core/ports.ts";
import type { InstalledReport, ShardId } from "../../core/types.ts";
import { waitBackoff } from "../backoff.ts";
import { ignore, noLongerNeeded } from "../concurrency.ts";
import { instantOf } from "../elapsed.ts";
import type { TailFollower } from "../log/tail-follower.ts";
import type { WaitingBid } from "./bid.ts";

/** A block, and whom it commits. */
export type BlockFlight = {
  readonly block: StoredBlock;
  readonly bids: readonly WaitingBid[];
  readonly installed: readonly InstalledReport[];
  readonly signBeforeMs: number;
  /** The block's own time: its expiry must not go by a clock that is wrong. */
  readonly dateMs: number;
};

export type FlightState = "in-flight" | "open";

/** What one put came to. */
export type PutAnswer = Appended | "throttled" | "unanswered" | { readonly denied: StoreError };

export type FlightStep =
  /** It stands at its position. */
  | { readonly kind: "appended" }
  /** Another put stands there, of this very block perhaps. */
  | { readonly kind: "taken"; readonly by: StoredBlock | undefined }
  /** Certainly not stored. */
  | { readonly kind: "refused"; readonly denied: StoreError | undefined }
  /** The log is asked. */
  | { readonly kind: "open" };

/** How a flight ends. */
export type Landing =
  /** The tail reaches its position: the log says whether it stands there. */
  | { readonly kind: "landed"; readonly tookMs: number }
  | { readonly kind: "refused"; readonly denied: StoreError | undefined }
  /** Nobody waits for it any more. */
  | { readonly kind: "given-up" };

export type FlightParts = {
  readonly ports: Pick<ClientPorts, "clock" | "random">;
  readonly append: CommitLog["append"];
  readonly shard: ShardId;
  readonly follower: Pick<TailFollower, "tail" | "refresh" | "adopt">;
  /** The tail lags further behind than by the block that is handed over with a lost position. */
  readonly isFarBehind: boolean;
  readonly onOpen: () => void;
};

const openBackoff = { baseMs: 10, capMs: 1_000 };

/** What a put's answer says of its block. Pure. */
export function afterPut(state: FlightState, answer: PutAnswer): FlightStep {
  if (answer === "appended") return { kind: "appended" };
  if (typeof answer === "object" && "taken" in answer) return { kind: "taken", by: answer.taken };
  // mutant: express-lost-answer-is-refusal
  if (state === "in-flight" && answer !== "unanswered") {
    return { kind: "refused", denied: answer === "throttled" ? undefined : answer.denied };
  }
  return { kind: "open" };
}

/**
 * Puts the block until it is known who stands at its position, or nobody waits for it.
 * @throws what the tail cannot be read for: the log is not, or holds what is no block.
 */
export async function fly(flight: BlockFlight, parts: FlightParts): Promise<Landing> {
  const { ports, follower, isFarBehind } = parts;
  const { position } = flight.block;
  let state: FlightState = "in-flight";
  for (let attempt = 0; ; attempt += 1) {
    const began = instantOf(ports.clock);
    const step = afterPut(state, await putOnce(flight, parts));
    switch (step.kind) {
      case "refused":
        return step;
      case "appended":
        follower.adopt(flight.block, began);
        // Unless it was read before the answer came.
        if (follower.tail.position < position) await follower.refresh();
        break;
      case "taken":
        if (step.by !== undefined) follower.adopt(step.by);
        if (follower.tail.position < position || isFarBehind) await follower.refresh();
        break;
      case "open":
        // probe: express-answer-lost
        if (state === "in-flight") parts.onOpen();
        state = "open";
        await follower.refresh().catch(ignore);
    }
    if (follower.tail.position >= position) {
      return { kind: "landed", tookMs: ports.clock.monotonicMs() - began.monotonicMs };
    }
    await waitBackoff(ports, { backoff: openBackoff, attempt });
    // After the pause: whoever has been told that nobody knows is not committed behind his back.
    if (flight.bids.every(({ signal }) => signal.aborted)) return { kind: "given-up" };
  }
}

/** One put of it. A late answer is as good as none: the log is asked. */
async function putOnce(flight: BlockFlight, parts: FlightParts): Promise<PutAnswer> {
  const { append, shard, ports } = parts;
  const consumption = { readUnits: 0, writeUnits: 0, calls: 0 };
  const answered = new AbortController();
  const { block, signBeforeMs, dateMs } = flight;
  const options = { consumption, signBeforeMs, dateMs, once: true };
  const put = append(shard, block, options).catch((cause: unknown) => {
    for (const bid of flight.bids) bid.onTrouble(cause);
    return putFailure(cause);
  });
  const patience = ports.clock
    .sleep(limits.expressAnswerMsMax, answered.signal)
    .then((): PutAnswer => "unanswered");
  patience.catch(ignore);
  const answer = await Promise.race([put, patience]);
  answered.abort(noLongerNeeded);
  for (const [i, { call }] of flight.bids.entries()) {
    if (call.consumption === undefined) continue;
    call.consumption.writeUnits += consumption.writeUnits / flight.bids.length;
    if (i === 0) call.consumption.calls += consumption.calls;
  }
  return answer;
}

function putFailure(cause: unknown): PutAnswer {
  if (!(cause instanceof StoreError)) throw cause;
  if (cause.fault === "throttled") return "throttled";
  return cause.fault === "rejected" ? { denied: cause } : "unanswered";
}
