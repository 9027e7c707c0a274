/**
 * What a transaction asks of the appender (block-appender.ts): to stand in the next block, if all
 * that it has read still holds at the log's end.
 */
import type { Answer } from "../../core/types.ts";
import type { CallOptions } from "../../core/ports.ts";
import { asError } from "../concurrency.ts";
import type { Found } from "../log/log-searches.ts";
import type { ExpressRequest } from "./block-plan.ts";

/** A transaction that wants into the next block. */
export type ExpressBid = ExpressRequest & {
  /** What the log says of its id, up to the tail's end. */
  readonly look: () => Found;
  /** Checks what it has read up to the tail's end; throws if that has been overtaken. */
  readonly recheck: () => void;
  /** A block that commits it is on its way, or certainly none is any more. */
  readonly onWay: (mayCome: boolean) => void;
  /** A put of its block failed. */
  readonly onTrouble: (cause: unknown) => void;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  readonly call: CallOptions;
};

export type ExpressAnswer =
  | { readonly kind: "decided"; readonly decision: Answer }
  /**
   * It goes by the stream, after what it has read from. What may be on its way of it, `onWay` has
   * said.
   */
  | { readonly kind: "by-stream" }
  /** What is prepared stands in the way, as the tail says: the caller settles it first. */
  | { readonly kind: "barred" };

/** A bid whose caller waits. */
export type WaitingBid = ExpressBid & {
  readonly answer: (answer: ExpressAnswer) => void;
  readonly fail: (error: unknown) => void;
};

/**
 * The answer to a bid, or what it fails with; and the signal's reason as soon as that aborts.
 * @param wait takes the bid up, at once.
 */
export function answerTo(
  bid: ExpressBid,
  wait: (waiting: WaitingBid) => void,
): Promise<ExpressAnswer> {
  return new Promise((resolve, reject) => {
    bid.signal.throwIfAborted();
    const abort = (): void => {
      reject(asError(bid.signal.reason));
    };
    bid.signal.addEventListener("abort", abort, { once: true });
    const settled = (): void => {
      bid.signal.removeEventListener("abort", abort);
    };
    const answer = (given: ExpressAnswer): void => {
      settled();
      resolve(given);
    };
    const fail = (error: unknown): void => {
      settled();
      reject(asError(error));
    };
    wait({ ...bid, answer, fail });
  });
}

/** Answers it if the log knows of it up to the tail's end, or no longer says so. */
export function answerAsLogged(bid: WaitingBid): "answered" | "undecided" {
  const found = bid.look();
  if (found === undefined) return "undecided";
  // The tail has begun anew beyond it: the caller has to search the log.
  bid.answer(found === "gap" ? { kind: "by-stream" } : { kind: "decided", decision: found });
  return "answered";
}

/** Whether it may be put behind the tail's end: undecided and not overtaken. Answers it if not. */
export function holdsAtTailEnd(bid: WaitingBid): boolean {
  if (answerAsLogged(bid) === "answered") return false;
  try {
    // In the same turn: what is checked now is not the id's own commit.
    // mutant: express-without-check
    bid.recheck();
    return true;
  } catch (error) {
    // probe: express-conflict
    bid.fail(error);
    return false;
  }
}
