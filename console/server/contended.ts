/** Conflicts by table and key, as the logs and the console's own clients tell of them. */
import { hotKeys } from "../../inspection/hot-keys.ts";
import { hashText } from "../../inspection/words/values.ts";
import * as limits from "../limits.ts";
import type { Contended, ContendedKey, TrafficConflict } from "../wire.ts";
import { wireItem } from "./lines.ts";
import type { Sight } from "./sight.ts";

export type ContendedRequest = {
  readonly windowMs: number;
  readonly table?: string | undefined;
};

export async function contendedKeys(
  sight: Sight,
  { windowMs, table }: ContendedRequest,
  traffic: readonly TrafficConflict[],
): Promise<Contended> {
  const { deployment } = await sight.seen();
  const found = await hotKeys(deployment, {
    sinceMs: sight.clock.nowMs() - windowMs,
    table,
    rows: limits.contendedMax,
    // A Kinesis shard gives five reads a second, to all who read it.
    readsElsewhere: sight.isLocal,
  });
  const { commits, conflicts, waits, untold, more } = found;
  return {
    ...{ windowMs, commits, conflicts, waits, untold, more },
    keys: found.keys.map(({ hot, table: name, key }): ContendedKey => ({
      table: name ?? `unknown table ${hashText(hot.table)}`,
      key: key && wireItem(key),
      hash: hashText(hot.key),
      shard: hot.log.number,
      ...{ commits: hot.commits, lost: hot.lost, retries: hot.retries },
      ...{ lostPerhaps: hot.lostPerhaps, waited: hot.waited, duels: hot.duels },
    })),
    traffic: traffic.filter((each) => table === undefined || each.table === table),
  };
}
