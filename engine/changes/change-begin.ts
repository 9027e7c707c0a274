/** Where a reader of changes begins that has no position yet, or one that is too old. */
import { CorruptDataError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type {
  CommittedVerdict,
  LogPosition,
  PreparedVerdict,
  ShardNumber,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import type { Call } from "../call.ts";
import { orAborted } from "../concurrency.ts";
import { PayloadGoneError, PayloadLoader } from "../log/payload-loader.ts";
import { decodeBlock } from "../log/stored-block.ts";
import type { Sessions } from "../sessions.ts";
import { reach } from "../sharded/reach.ts";
import type { ShardSession } from "../shard-session.ts";
import { streamOrGone } from "./stream-or-gone.ts";

type Location = PreparedVerdict["payload"];

/** Every log has come so far: what is committed from now on counts above it. */
export async function nowIn(
  ports: ClientPorts,
  sessions: Sessions,
  call: Call,
): Promise<Timestamp> {
  const all = await refreshedLive(sessions, call);
  const moment = newestOf(all);
  await Promise.all(all.map((session) => reach(ports, session, { moment, call })));
  return moment;
}

/** The newest timestamp that any log shows now. */
export async function newestIn(sessions: Sessions, call: Call): Promise<Timestamp> {
  return newestOf(await refreshedLive(sessions, call));
}

function newestOf(all: readonly ShardSession[]): Timestamp {
  return Math.max(...all.map(({ follower }) => follower.tail.newest)) as Timestamp;
}

async function refreshedLive(sessions: Sessions, call: Call): Promise<readonly ShardSession[]> {
  const seen = await refreshed(sessions, call);
  return seen.filter(({ number }) => sessions.map.live(number) !== undefined);
}

/** From it on, all logs and all payloads are still there. */
export async function oldestIn(
  ports: ClientPorts,
  sessions: Sessions,
  call: Call,
): Promise<Timestamp> {
  const all = await refreshed(sessions, call);
  const oldest = (some: readonly ShardSession[]): Promise<readonly Timestamp[]> =>
    Promise.all(some.map((session) => oldestReadable(ports, session, call.options)));
  const endOf = ({ number }: ShardSession): Timestamp | undefined =>
    sessions.map.get(number)?.ended?.through;
  const ends = await oldest(all.filter((session) => endOf(session) === undefined));
  const live = Math.max(0, ...ends) as Timestamp;
  // Of a log that has ended before, nothing is read.
  const ended = await oldest(all.filter((session) => (endOf(session) ?? 0) > live));
  return Math.max(live, ...ended) as Timestamp;
}

/** Of all shards that there are, and were: what their logs say of others is looked for as well. */
async function refreshed(sessions: Sessions, call: Call): Promise<readonly ShardSession[]> {
  const found = new Map<ShardNumber, ShardSession>();
  for (;;) {
    if (sessions.isOld) await orAborted(sessions.learn(), call.signal);
    const unseen = sessions.map.all.filter(({ number }) => !found.has(number));
    if (unseen.length === 0) return [...found.values()];
    await Promise.all(
      unseen.map(async ({ number }) => {
        const { session } = await orAborted(sessions.of(number), call.signal);
        await orAborted(session.follower.refresh(), call.signal);
        found.set(number, session);
      }),
    );
  }
}

/** Log and stream let go of their oldest, so the first that can be read is found by halves. */
async function oldestReadable(
  ports: ClientPorts,
  session: ShardSession,
  call: CallOptions,
): Promise<Timestamp> {
  const { tail } = session.follower;
  let low = 1;
  let high = tail.position + 1;
  // Invariant: from `high` on all can be read, and what lies below `low` cannot.
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await canBeRead(ports, session, middle as LogPosition, call)) high = middle;
    else low = middle + 1;
  }
  const stored = await ports.log.readAt(session.shard, low as LogPosition, call);
  return stored === undefined ? tail.newest : decodeBlock(stored, session.hashes).previousTimestamp;
}

/**
 * Whether the block is there, and so are the payloads from it on. Those that lie in blocks are
 * there as long as these. Of those that lie elsewhere the first one says it of all behind it; but
 * for what was prepared before the block, whose record came earlier than theirs.
 */
async function canBeRead(
  ports: ClientPorts,
  { shard, hashes }: ShardSession,
  position: LogPosition,
  call: CallOptions,
): Promise<boolean> {
  const { blocks: stored } = await ports.log.readAfter(shard, (position - 1) as LogPosition, call);
  const blocks = stored.map((each) => decodeBlock(each, hashes));
  const [first] = blocks;
  if (first?.position !== position) return false;
  // The store takes what has expired away in any order: what follows may be gone already.
  const ageMs = ports.clock.nowMs() - first.throughTimestamp / 1_000;
  if (ageMs >= limits.logExpiredAgeMsMin) return false;
  const loader = new PayloadLoader(streamOrGone(ports), { shard, hashes });
  const prepared = new Map<TransactionId, Location>();
  const seen = new Set<Location["kind"]>();
  for (const verdict of blocks.flatMap(({ verdicts }) => verdicts)) {
    if (verdict.kind === "prepared") prepared.set(verdict.id, verdict.payload);
    if (verdict.kind !== "committed") continue;
    const { id, payload } = verdict;
    const isEarlier = payload.kind === "prepared" && !prepared.has(id);
    const location = payload.kind === "prepared" ? prepared.get(id) : payload;
    const found = location ?? (await loader.locate(verdict, call));
    if (found === undefined) return false;
    const isInBlock = found.kind === "inline" || found.kind === "none";
    if (isInBlock || (seen.has(found.kind) && !isEarlier)) continue;
    if (!isEarlier) seen.add(found.kind);
    if (!(await isThere(loader, { ...verdict, payload: found }, call))) return false;
  }
  return true;
}

async function isThere(
  loader: PayloadLoader,
  verdict: CommittedVerdict,
  call: CallOptions,
): Promise<boolean> {
  try {
    await loader.loadBytes(verdict, call);
  } catch (error) {
    if (error instanceof PayloadGoneError) return false;
    // Damaged: who reads passes it by.
    if (!(error instanceof CorruptDataError)) throw error;
  }
  return true;
}
