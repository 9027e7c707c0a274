/** Keys that transactions fight over, named: of the command line and of the console. */
import { isBaseRecordsTable, isOwnTable } from "../core/own-tables.ts";
import type { Item } from "../core/types.ts";
import * as limits from "./limits.ts";
import { contentionIn, hotter, withRetries, type Contention, type HotKey } from "./contention.ts";
import { tableNamed, type Deployment } from "./deployment.ts";
import { newestBlocks } from "./log-reading.ts";
import { Names } from "./names.ts";

export type NamedKey = {
  readonly hot: HotKey;
  /** Undefined: no registered table has its hash. */
  readonly table: string | undefined;
  /** Undefined: its payload was not read, or could not be. */
  readonly key: Item | undefined;
};

export type HotKeys = Omit<Contention, "keys"> & {
  readonly keys: readonly NamedKey[];
  /** Keys that were left out. */
  readonly more: number;
};

export type HotKeysRequest = {
  /** Milliseconds since the epoch. */
  readonly sinceMs: number;
  /** Keys of this table alone. */
  readonly table?: string | undefined;
  readonly rows: number;
  /** Read payloads that lie outside of the blocks, too, to name all keys. */
  readonly readsElsewhere: boolean;
};

/** @throws InvalidRequestError for a table that is not registered. */
export async function hotKeys(
  deployment: Deployment,
  { sinceMs, table, rows, readsElsewhere }: HotKeysRequest,
): Promise<HotKeys> {
  const wanted =
    table === undefined
      ? undefined
      : deployment.logs[0]?.hashes.table(tableNamed(deployment, table).name);
  const logs = await Promise.all(
    deployment.logs.map(async (log) => ({
      log,
      blocks: await newestBlocks(deployment.ports.log, log, {
        blocksMax: limits.blocksMax,
        until: ({ block }) => block !== undefined && block.throughTimestamp / 1_000 < sinceMs,
      }),
    })),
  );
  const found = contentionIn(logs);
  const names = new Names(deployment);
  const isShown = (key: HotKey): boolean => {
    if (wanted !== undefined) return key.table === wanted;
    const name = names.table(key.table)?.name ?? "";
    const isOwn = isOwnTable(name) || isBaseRecordsTable(name);
    // Of Tidemark's own records nobody wants to know but where somebody has lost to them.
    return !isOwn || key.lost + key.lostPerhaps + key.waited > 0;
  };
  const all = found.keys.filter(isShown);
  const shown = all.slice(0, rows);
  const keys = await named(names, shown, readsElsewhere);
  return { ...found, keys, more: all.length - shown.length };
}

/** Each payload is read once, and not more than so many. */
async function named(
  names: Names,
  keys: readonly HotKey[],
  readsElsewhere: boolean,
): Promise<readonly NamedKey[]> {
  const rows: NamedKey[] = [];
  let reads = 0;
  for (const hot of keys) {
    const tableName = names.table(hot.table)?.name;
    const isHere = hot.told.payload.kind === "inline";
    const mayRead = isHere || (readsElsewhere && reads < limits.payloadsMax);
    if (!isHere && mayRead) reads += 1;
    const told = mayRead ? await names.writes(hot.log, hot.told) : undefined;
    if (told?.kind !== "named") {
      rows.push({ hot, table: tableName, key: undefined });
      continue;
    }
    // Of what lies in the log's blocks it is known already.
    if (!isHere) hot.retries = withRetries(hot.retries, told.earlierAttempts);
    const write = told.writes.find(({ hash }) => hash === hot.key);
    rows.push({ hot, table: tableName, key: write?.key });
  }
  // What was read tells of retries, too.
  return rows.sort((a, b) => hotter(a.hot, b.hot));
}
