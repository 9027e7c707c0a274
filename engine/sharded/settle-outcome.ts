/**
 * What became of a transaction over several shards, for whoever waits for it or asks for its id
 * (docs/adr/0015-many-shards.md, Parts). The outcome is a function of its logs; where one of them
 * has never seen its part it is asked to abort it, after which none can come. So there is always an
 * answer, and nobody's clock is asked.
 */
import { assert } from "../../core/assert.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type {
  Answer,
  CommitRequest,
  Part,
  PreparedVerdict,
  ShardNumber,
  Timestamp,
  TransactionId,
  WholeOutcome,
} from "../../core/types.ts";
import { decidingPart, unseen, wholeOutcome, type PartState } from "../../core/whole-outcome.ts";
import { transactionIdTimestamp } from "../../schemas/transaction-id.ts";
import { ignore, orAborted } from "../concurrency.ts";
import { DecisionSearch } from "../log/decision-search.ts";
import { madeElsewhere, refuseLocal, settleOutcome, type AskedOutcome } from "../outcome.ts";
import { settledAnswer, settledDecision } from "../committing/request-settler.ts";
import type { Sessions } from "../sessions.ts";
import type { ShardSession } from "../shard-session.ts";
import type { Outcome } from "../types.ts";

export type ShardedParts = { readonly ports: ClientPorts; readonly sessions: Sessions };

export type Asked = {
  readonly id: TransactionId;
  readonly signal: AbortSignal;
  readonly call: CallOptions;
};

/**
 * Settles the outcome for good; it is not entered anywhere yet.
 * @throws CommitUnknownError when the signal aborts first; UnavailableError, StoreError.
 */
export async function settleWhole(
  { ports, sessions }: ShardedParts,
  asked: Asked & { readonly parts: readonly Part[] },
): Promise<WholeOutcome> {
  const { parts } = asked;
  const deciding = decidingPart(parts);
  if (deciding !== undefined) return settleVoted({ ports, sessions }, asked, deciding);
  const opened = await Promise.all(
    parts.map(async ({ shard, from }) => ({ from, session: (await sessions.of(shard)).session })),
  );
  const states = new Map<ShardNumber, PartState>();
  await Promise.all(
    opened.map(async ({ session, from }) => {
      states.set(session.number, stateOf(await lookIn(session, { ...asked, from })));
    }),
  );
  // mutant: unseen-taken-for-aborted
  const found = wholeOutcome(parts, states);
  if (found !== undefined) return found;
  await Promise.all(
    opened.map(async ({ session, from }) => {
      if (states.get(session.number)?.kind !== "unseen") return;
      // probe: part-aborted-unseen
      states.set(session.number, stateOf(await abortIn(ports, session, { ...asked, from })));
    }),
  );
  const settled = wholeOutcome(parts, states);
  assert(settled !== undefined, "I3: what is unseen nowhere has an outcome");
  return settled;
}

/**
 * Of one that a vote decides, in the log of that part. Where it stands in the way still, it has had
 * its while: it is voted down, whether it was prepared there or not.
 */
async function settleVoted(
  { ports, sessions }: ShardedParts,
  asked: Asked & { readonly parts: readonly Part[] },
  { shard, from }: Part,
): Promise<WholeOutcome> {
  const { session } = await sessions.of(shard);
  const found = await lookIn(session, { ...asked, from });
  // probe: voted-part-settled
  const decision =
    found === undefined || found.kind === "prepared"
      ? await abortIn(ports, session, { ...asked, from, isDecidedHere: true })
      : found;
  const whole = wholeOutcome(asked.parts, new Map([[shard, stateOf(decision)]]));
  assert(whole !== undefined, "I3: what was asked to abort is decided");
  return whole;
}

/** What a log holds of the id, from a timestamp on up to its end as it is now. */
export async function lookIn(
  session: ShardSession,
  { id, from, signal, call }: Asked & { readonly from: Timestamp },
): Promise<Answer | undefined> {
  const { follower } = session;
  await orAborted(follower.refresh(), signal);
  const user = { readTimestamp: follower.tail.floor };
  follower.enter(user);
  try {
    const undecidedTo = Math.min(from, follower.tail.newest) as Timestamp;
    const search = new DecisionSearch(session, { id, undecidedTo }, true);
    for (;;) {
      const found = search.look();
      if (found !== "gap") return found;
      await orAborted(search.fill(call, limits.outcomePagesMax), signal);
    }
  } finally {
    follower.leave(user);
  }
}

/**
 * Asks to abort the id where it was not seen, or is decided; gives what the log holds of it then.
 * @param asked.isDecidedHere by a vote: that it is prepared is no answer then. Default: it is.
 */
export async function abortIn(
  ports: ClientPorts,
  session: ShardSession,
  {
    id,
    from,
    isDecidedHere = false,
    ...asked
  }: Asked & { readonly from: Timestamp; readonly isDecidedHere?: boolean },
): Promise<Answer> {
  const { follower } = session;
  const user = { readTimestamp: follower.tail.floor };
  follower.enter(user);
  try {
    const undecidedTo = Math.min(from, follower.tail.newest) as Timestamp;
    return await settledAnswer(ports, session, {
      ...{ ...asked, pagesMax: limits.outcomePagesMax, onSent: ignore },
      request: bare("abort", id, follower.tail.newest),
      search: new DecisionSearch(session, { id, undecidedTo }, !isDecidedHere),
      recheck: () => follower.tail.newest,
    });
  } finally {
    follower.leave(user);
  }
}

/**
 * Enters what became of the whole in one of its logs, where its part is open.
 * @param enter how its sender shows it: by its own proof, or by what it has found in all logs.
 */
export async function enterIn(
  ports: ClientPorts,
  session: ShardSession,
  {
    enter,
    ...asked
  }: Asked & {
    readonly from: Timestamp;
    readonly enter: Pick<CommitRequest, "kind" | "vote" | "whole">;
    readonly onSent?: AskedOutcome["onSent"];
  },
): ReturnType<typeof settledDecision> {
  const { follower } = session;
  const { id, from, signal, call, onSent = ignore } = asked;
  return settledDecision(ports, session, {
    ...{ signal, call, onSent, pagesMax: Number.POSITIVE_INFINITY },
    request: { ...bare(enter.kind, id, from), ...enter },
    search: new DecisionSearch(session, { id, undecidedTo: from }),
    recheck: () => follower.tail.newest,
  });
}

/** A request without checks and payload. */
export function bare(
  kind: CommitRequest["kind"],
  id: TransactionId,
  checkedTo: Timestamp,
): CommitRequest {
  const payload = { kind: "none" } as const;
  return { kind, id, isolation: "serializable", checkedTo, checks: [], payload };
}

function stateOf(answer: Answer | undefined): PartState {
  if (answer === undefined) return unseen;
  if (answer.kind === "aborted") return { kind: "aborted" };
  if (answer.kind === "prepared") return { kind: "prepared", timestamp: answer.timestamp };
  const { timestamp, stamps } = answer;
  return { kind: "committed", timestamp, stamps };
}

/**
 * `outcome(id)`. An id does not say which shards it was for, so that all logs are looked at; and
 * where it is nowhere, each of them is asked to abort it. Those of a shard that is split meanwhile
 * are asked again: the other part may hold it.
 * @throws as `settleOutcome` (outcome.ts).
 */
export async function settleInShards(parts: ShardedParts, asked: AskedOutcome): Promise<Outcome> {
  const { sessions } = parts;
  for (;;) {
    const { map } = sessions;
    const outcome = await settleInThese(parts, asked);
    if (outcome.kind === "committed" || sessions.map === map) return outcome;
  }
}

async function settleInThese(parts: ShardedParts, asked: AskedOutcome): Promise<Outcome> {
  const { ports, sessions } = parts;
  refuseLocal(asked.id);
  const from = transactionIdTimestamp(asked.id);
  // mutant: outcome-asks-one-shard
  const { entries, ended } = sessions.map;
  // One that has ended before the id was made has decided nothing of it.
  // mutant: outcome-forgets-the-ended
  const asking = [...entries, ...ended.filter((shard) => from < (shard.ended?.through ?? 0))];
  const all = await Promise.all(asking.map(({ number }) => sessions.of(number)));
  const found = await Promise.all(all.map(({ session }) => lookIn(session, { ...asked, from })));
  const newest = Math.max(...all.map(({ session }) => session.follower.tail.newest)) as Timestamp;
  if (from > newest) throw madeElsewhere(asked.id, newest);
  const isThere = found.some((answer) => answer !== undefined && answer.kind !== "aborted");
  const answers = isThere
    ? found
    : await Promise.all(
        all.map(async ({ session }, i) => {
          // Its maker had seen that timestamp in the log of each shard that it is for.
          const mayBeFor = session.follower.tail.newest >= from;
          return (
            found[i] ?? (mayBeFor ? await abortIn(ports, session, { ...asked, from }) : undefined)
          );
        }),
      );
  const said = answers.find((answer) => answer?.kind === "committed");
  const open = answers.flatMap((answer, i) => {
    const session = all[i]?.session;
    return answer?.kind === "prepared" && session ? [{ prepared: answer, session }] : [];
  });
  const settled = await settleAll(parts, asked, open);
  if (said?.kind === "committed") return { kind: "committed", commitTimestamp: said.timestamp };
  const rejected = settled.find((each) => each.status === "rejected");
  if (rejected !== undefined) throw rejected.reason;
  const ends = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  return ends.find(({ kind }) => kind === "committed") ?? { kind: "aborted" };
}

type OpenIn = { readonly session: ShardSession; readonly prepared: PreparedVerdict };

/**
 * What is open in each log, by what that log says of it. Somebody may have sent a part of his own
 * under the id of others: what becomes of that says nothing of theirs.
 */
async function settleAll(
  { ports, sessions }: ShardedParts,
  asked: AskedOutcome,
  open: readonly OpenIn[],
): Promise<readonly PromiseSettledResult<Outcome>[]> {
  // Those of one transaction name the same, and its logs are looked at once.
  const wholes = new Map<string, Promise<WholeOutcome>>();
  const wholeOf = (parts: readonly Part[]): Promise<WholeOutcome> => {
    const name = JSON.stringify(parts);
    const whole = wholes.get(name) ?? settleWhole({ ports, sessions }, { ...asked, parts });
    wholes.set(name, whole);
    return whole;
  };
  return Promise.allSettled(
    open.map(async ({ session, prepared: { parts, timestamp: from } }): Promise<Outcome> => {
      // Of mixed tables within one shard: that log alone decides.
      if (parts === undefined) return settleOutcome(ports, session, asked);
      const whole = await wholeOf(parts);
      // Where it was decided it is not open any more.
      if (session.follower.tail.open.get(asked.id) !== undefined) {
        await enterIn(ports, session, { ...asked, from, enter: { kind: "settle", whole } });
      }
      if (whole.kind === "aborted") return whole;
      return { kind: "committed", commitTimestamp: whole.timestamp };
    }),
  );
}
