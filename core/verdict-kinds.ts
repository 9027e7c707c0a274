/**
 * How the oracle answers a request, in one list: verdicts, metrics, tags of the log's format and
 * everything else that names outcomes follow from it or are checked against it.
 */

/**
 * Each with its code in an oracle's columns. Between `conflict` and `stale` stand the aborts that
 * need no details. Duplicates get no verdict, so they are not among them.
 */
export const outcomeCode = {
  committed: 0,
  /** A checked key has a committed write in `(checkedTo, ts)`. */
  conflict: 1,
  /** `checkedTo` lies above everything the log holds: no honest client sends that. */
  "checked-ahead": 2,
  /** The payload was spilled, and is missing, incomplete or not decodable. */
  "payload-unreadable": 3,
  /** More keys or bytes than the limits allow. */
  "too-large": 4,
  /** The payload writes to a table that is not registered, or to Tidemark's own. */
  "table-unknown": 5,
  /** It has another key than the registry, an index key that it cannot take, or another history. */
  "table-differs": 6,
  /** An `abort` request arrived first: the id can never commit from here on. */
  probed: 7,
  /** It writes what lies in another shard: no honest client sends that. */
  elsewhere: 8,
  /** Decides nothing: the sender extends its check and sends again. */
  stale: 9,
  /** Certified, and to be decided by a vote, or as a part by all its logs. */
  prepared: 10,
  /** The commit of what was prepared. */
  voted: 11,
  /** That of a part, which counts at the timestamp of the whole. */
  counted: 12,
  /** Decides nothing: what is prepared stands in the way, and is settled first. */
  busy: 13,
} as const;

export type Outcome = keyof typeof outcomeCode;

/** By their codes. */
export const outcomes = Object.keys(outcomeCode) as readonly Outcome[];

/** Why a request was aborted, where that says it all. */
export type PlainAbort = Exclude<
  Outcome,
  "committed" | "conflict" | "stale" | "prepared" | "voted" | "counted" | "busy"
>;

export function isPlainAbort(outcome: Outcome): outcome is PlainAbort {
  const code = outcomeCode[outcome];
  return code > outcomeCode.conflict && code < outcomeCode.stale;
}
