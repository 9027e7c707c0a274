/**
 * How a transaction ends that has read mixed tables and commits nothing
 * (docs/adr/0014-native-operations.md, Read-only): what it has read is read again and compared, and
 * the log is looked at last. Nothing open may be about to write there: its native part may have
 * been acknowledged, and what it writes must not lie behind this one then.
 *
 *   read x, y ─── read again ─── refresh: no commit on x, y since, nothing open ─── true at once
 */
import { UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ClientPorts } from "../../core/ports.ts";
import type { KeyHash } from "../../core/types.ts";
import { orAborted } from "../concurrency.ts";
import { conflictError } from "../conflict-error.ts";
import type { AttemptView, SharedView } from "../mixed-way.ts";
import { bringAllAbout } from "../committing/request-settler.ts";
import type { ShardSession } from "../shard-session.ts";
import type { MixedItems } from "./mixed-items.ts";
import type { MixedReadSet } from "./mixed-read-set.ts";
import { nativeConflict } from "./native-conflict.ts";
import { changedRead } from "./read-again.ts";

export type EndParts = {
  readonly items: MixedItems;
  readonly ports: ClientPorts;
  readonly session: ShardSession;
};

/** @throws ConflictError, and the attempt is over; UnavailableError, StoreError. */
export async function endReading(
  parts: EndParts,
  view: AttemptView,
  set: MixedReadSet,
): Promise<void> {
  // One item is what one consistent call has shown.
  const isLone = set.size === 1 && set.keys.size === 1 && view.reads.size === 0;
  if (set.size === 0 || isLone) return;
  const { items, ports, session } = parts;
  const { follower } = session;
  const { signal } = view.call;
  const hashes = set.checks().map(([hash]) => hash);
  let met = 0;
  for (let tries = 0; tries < limits.readTriesMax; tries += 1) {
    const { newest } = view.tail;
    // mutant: read-only-unchecked
    const changed = await changedRead(items, set, view.call);
    if (changed !== undefined) throw view.doom(nativeConflict(changed));
    await orAborted(follower.refresh(), signal);
    view.refuseBelowTail();
    const conflict = view.reads.extend(view.tail);
    if (conflict !== undefined) throw view.doom(conflictError(conflict, conflict));
    // mutant: read-only-does-not-settle
    const open = view.tail.open.writerOfAny([...hashes, ...hashesOf(view.reads)]);
    if (open !== undefined) {
      met += 1;
      const all = view.tail.open.allInTheWay([...hashes, ...hashesOf(view.reads)], []);
      await bringAllAbout(ports, session, {
        ...{ ids: [open, ...all], met, call: view.call },
        signal: signal ?? new AbortController().signal,
      });
      continue;
    }
    const isOvertaken = hashes.some((hash) => (view.tail.lastCommit(hash) ?? 0) > newest);
    if (!isOvertaken) return;
  }
  throw tooOften(view);
}

/**
 * The same of a transaction that has read in several shards: all of it is read again, and then each
 * log is looked at.
 *
 *   read x in A, y in B ─── read again ─── refresh A, B: no commit since, nothing open ─── true
 *
 * @param views all of its shards.
 * @throws as `endReading`.
 */
export async function endReadingInShards(views: readonly SharedView[]): Promise<void> {
  for (let tries = 0; tries < limits.readTriesMax; tries += 1) {
    const newest = views.map(({ tail }) => tail.newest);
    await Promise.all(
      views.map(async ({ mixed }) => {
        await mixed?.compare();
      }),
    );
    // mutant: read-only-looks-at-one-log
    await Promise.all(views.map((view) => view.extendToEnd()));
    const met = views.map(({ mixed, reads, tail }) =>
      tail.open.allInTheWay([...(mixed?.hashes ?? []), ...hashesOf(reads)], []),
    );
    await Promise.all(
      views.map(async (view, i) => {
        const ids = met[i] ?? [];
        if (ids.length > 0) await view.settle(ids);
      }),
    );
    if (met.some(({ length }) => length > 0)) continue;
    const isOvertaken = views.some(({ mixed, tail }, i) =>
      mixed?.hashes.some((hash) => (tail.lastCommit(hash) ?? 0) > (newest[i] ?? 0)),
    );
    if (!isOvertaken) return;
  }
  throw tooOften(views[0]);
}

function tooOften(view: AttemptView | undefined): Error {
  const error = new UnavailableError(
    `what was read of mixed tables was written ${limits.readTriesMax} times by transactions ` +
      "while it was compared",
  );
  return view?.doom(error) ?? error;
}

/**
 * Of the other tables: what is open there may rest on what a native write has replaced since, which
 * this one has seen. No fence says so there.
 */
function* hashesOf({ keys, predicates }: AttemptView["reads"]): Generator<KeyHash> {
  yield* keys.keys();
  yield* predicates.keys();
}
