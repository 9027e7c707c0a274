/**
 * How a transaction over several shards is decided that touches mixed tables: all of its parts are
 * prepared, the stores are asked, and then it votes, in the log of its first part
 * (docs/adr/0015-many-shards.md, Votes). Nobody else can vote for it: until its vote is sent,
 * whatever fails is an abort.
 *
 *     A, B prepared ── fences in A, B ── all stand ── read again in A, B ── as read ── vote in A
 *
 * The order matters as within one shard: with a fence before its last place, somebody could read
 * there what it is about to write, and behind a native write that has come after the fence
 * (model/TidemarkNative.tla, fences-before-all-are-placed). Paper: Mediator §4.2.
 */
import { assert } from "../../core/assert.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type { CommittedVerdict, Stamp, TransactionId, WholeOutcome } from "../../core/types.ts";
import { ignore } from "../concurrency.ts";
import { conflictError } from "../conflict-error.ts";
import type { NativeChecks } from "../mixed-way.ts";
import type { PlacedPart } from "./own-outcome.ts";
import { enterIn } from "./settle-outcome.ts";

export type Committing = Extract<WholeOutcome, { readonly kind: "committed" }>;

export type VotingPart = PlacedPart & { readonly native: NativeChecks | undefined };

/** What the vote has come to: the whole, and what the log says that decides it. */
export type Voted = { readonly whole: Committing; readonly decision: CommittedVerdict };

type Asking = {
  readonly id: TransactionId;
  readonly proof: Uint8Array;
  readonly signal: AbortSignal;
  readonly call: CallOptions;
  /** What it comes to if it votes for itself. */
  readonly placed: Committing;
};

/**
 * Undefined: somebody has voted against it before.
 * @param prepared all parts, the deciding one first.
 * @throws ConflictError, UnavailableError, StoreError: not committed, and never will be.
 * @throws CommitUnknownError: its vote was sent, and no decision seen before the signal.
 */
export async function decideByVote(
  ports: ClientPorts,
  prepared: readonly VotingPart[],
  asking: Asking,
): Promise<Voted | undefined> {
  const [deciding] = prepared;
  assert(deciding !== undefined, "I3: it is prepared where it is decided");
  const stamps = await askStores(prepared, asking);
  const whole = { ...asking.placed, stamps };
  const { id, proof, signal, call } = asking;
  const { session, answer } = deciding;
  const decision = await enterIn(ports, session, {
    ...{ id, signal, call, from: answer.timestamp, onSent: ignore },
    enter: { kind: "vote", vote: { proof, stamps: [], whole } },
  });
  if (decision.kind === "aborted") {
    // probe: parts-voted-down-before-their-vote
    return undefined;
  }
  assert(decision.timestamp === whole.timestamp, "I3: it counts where its vote says");
  return { whole, decision };
}

/** The stamps of all parts, in their order. */
async function askStores(
  prepared: readonly VotingPart[],
  { id, call }: Asking,
): Promise<readonly Stamp[]> {
  const sides = prepared.flatMap(({ session, native, sentMs }) =>
    native === undefined ? [] : [{ session, native, sentMs }],
  );
  for (const { session, native } of sides) {
    // Where a stream has placed it, others may have come before.
    const overtaken = native.overtaken(session.follower.tail);
    if (overtaken !== undefined) throw conflictError(overtaken, overtaken);
  }
  const fenced = await allSettled(
    sides.map(({ native, sentMs }) => native.fence(id, { sentMs, call })),
  );
  // mutant: parts-not-compared
  await Promise.all(sides.map(({ native }) => native.compare(id, call)));
  // The page of a scan is read again by one shard, and has rows of all.
  await Promise.all(sides.map(({ native }) => native.compareRows(id, call)));
  const count = sides.reduce((sum, { native }) => sum + native.fences, 0);
  const stamps = fenced.flat();
  assert(stamps.length === count, "I10: what is voted is fenced, each write of it");
  return stamps;
}

/** All of them, whichever fails: none is on its way any more when this rejects. */
async function allSettled<T>(asked: readonly Promise<T>[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(asked);
  return settled.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}
