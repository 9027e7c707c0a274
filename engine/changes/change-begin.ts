/** Where a reader of changes begins that has no position yet, or one that is too old. */
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type { CommittedVerdict, LogPosition, ShardNumber, Timestamp } from "../../core/types.ts";
import type { Call } from "../call.ts";
import { orAborted } from "../concurrency.ts";
import { PayloadGoneError, PayloadLoader } from "../log/payload-loader.ts";
import { decodeBlock } from "../log/stored-block.ts";
import type { Sessions } from "../sessions.ts";
import { reach } from "../sharded/reach.ts";
import type { ShardSession } from "../shard-session.ts";

/** Every log has come so far: what is committed from now on counts above it. */
export async function nowIn(
  ports: ClientPorts,
  sessions: Sessions,
  call: Call,
): Promise<Timestamp> {
  const seen = await refreshed(sessions, call);
  const all = seen.filter(({ number }) => sessions.map.live(number) !== undefined);
  const moment = Math.max(...all.map(({ follower }) => follower.tail.newest)) as Timestamp;
  await Promise.all(all.map((session) => reach(ports, session, { moment, call })));
  return moment;
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

/** Whether the block is there, and so is the payload of the first commit from it on. */
async function canBeRead(
  ports: ClientPorts,
  { shard, hashes }: ShardSession,
  position: LogPosition,
  call: CallOptions,
): Promise<boolean> {
  const { blocks } = await ports.log.readAfter(shard, (position - 1) as LogPosition, call);
  if (blocks[0]?.position !== position) return false;
  for (const stored of blocks) {
    const { verdicts } = decodeBlock(stored, hashes);
    const commit = verdicts.find((each): each is CommittedVerdict => each.kind === "committed");
    if (commit === undefined) continue;
    try {
      await new PayloadLoader(ports, { shard, hashes }).loadBytes(commit, call);
    } catch (error) {
      if (error instanceof PayloadGoneError) return false;
      throw error;
    }
    return true;
  }
  return true;
}
