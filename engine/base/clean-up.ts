/**
 * What nobody needs of a BASE transaction that is released: its void locks are taken away, and its
 * record is left to the store, which drops it some time later; its state stays for as long as
 * somebody may read a past in which it was open. What is left where this was cut short costs who
 * meets it a read.
 */
import * as limits from "../../core/limits.ts";
import type { ClientPorts } from "../../core/ports.ts";
import type { Item, TableDescription } from "../../core/types.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";
import { expiringAfter, itemKey, textOf } from "./attributes.ts";
import { stateKey, toState } from "./base-state.ts";
import { LockReader } from "./lock-reader.ts";
import { openKey, toReleasedEntry } from "./open-list.ts";
import { headKey, recordedIn, recordPartition, toHead } from "./record.ts";
import { allIn } from "./records.ts";
import type { SeenReservations } from "./reservations.ts";
import { takeAway } from "./void-locks.ts";

/** Of the records table; so many take one commit, however large each is. */
const itemsAtOnce = 25;

type RunOver = <Result>(
  task: (context: TransactionContext, records: TableDescription) => Promise<Result>,
) => Promise<Result>;

export async function cleanUp(
  over: RunOver,
  {
    base,
    ports,
    seen,
  }: {
    readonly base: string;
    readonly ports: Pick<ClientPorts, "clock" | "digest">;
    readonly seen: SeenReservations;
  },
): Promise<void> {
  const partition = recordPartition(base);
  const items = await over((context, records) => allIn(context, records, { partition }));
  const locks = recordedIn(items)?.steps.flatMap((step) => step.locks) ?? [];
  for (const some of inParts(distinct(locks))) {
    const isOver = await over(async (context, records) => {
      if (!(await isReleased(context, records, base))) return false;
      const reader = new LockReader(context, records, ports.digest);
      const isReserved = seen.stands.bind(seen);
      const by = { records, locks: reader, base, isReserved };
      for (const key of some) await takeAway(context, { ...by, key });
      return true;
    });
    if (!isOver) return;
  }
  const nowMs = ports.clock.nowMs();
  const ofRecord = expiringAfter(nowMs, limits.baseRetentionSeconds);
  const ofState = expiringAfter(nowMs, limits.baseSeenRetentionSeconds);
  const state = stateKey(base);
  const expiring = [...items.map(keyOf), state];
  for (const some of inParts(expiring)) {
    const isOver = await over(async (context, records) => {
      if (!(await isReleased(context, records, base))) return false;
      for (const key of some) {
        const item = await context.get(records.name, key);
        const expiry = key === state ? ofState : ofRecord;
        if (item !== undefined) context.putInto(records, { ...item, ...expiry });
      }
      if (some.at(-1) !== expiring.at(-1)) return true;
      // Last: who finds it does all of this again.
      const entry = await context.get(records.name, openKey(base));
      if (entry !== undefined && toReleasedEntry(entry) !== undefined) {
        context.deleteFrom(records, openKey(base));
      }
      return true;
    });
    if (!isOver) return;
  }
}

/**
 * Others may have cleaned up long ago, while this process slept, and the id may be used anew: of
 * that one nothing is taken away.
 */
async function isReleased(
  context: TransactionContext,
  { name: table }: TableDescription,
  base: string,
): Promise<boolean> {
  const keys = [headKey(base), stateKey(base)].map((key) => ({ table, key }));
  const [head, state] = await context.batchGet(keys);
  const hasEnded = head === undefined || toHead(head).phase === "ended";
  return hasEnded && toState(base, state).phase === "released";
}

function keyOf(item: Item): Item {
  return itemKey(textOf(item, "pk"), textOf(item, "sk"));
}

function distinct(keys: readonly Item[]): readonly Item[] {
  return [...new Map(keys.map((key) => [JSON.stringify(key), key])).values()];
}

function* inParts(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += itemsAtOnce) yield items.slice(at, at + itemsAtOnce);
}
