/** Older blocks of one log, a page at a time, newest first. */
import type { LogPosition } from "../../core/types.ts";
import { logsOf } from "../../inspection/deployment.ts";
import { blocksAfter, newestBlocks } from "../../inspection/log-reading.ts";
import { shownBlock } from "../../inspection/shown-block.ts";
import * as limits from "../limits.ts";
import type { LogPage } from "../wire.ts";
import { blockLine } from "./lines.ts";
import type { Sight } from "./sight.ts";

/** @param before blocks below this position; undefined: the newest ones. */
export async function logPage(
  sight: Sight,
  { shard, before }: { readonly shard: number; readonly before: number | undefined },
): Promise<LogPage> {
  const { deployment, names } = await sight.seen();
  const { log: store } = deployment.ports;
  const [log] = logsOf(deployment, shard);
  if (log === undefined) return { blocks: [] };
  const blocksMax = limits.blocksShownMax;
  const read =
    before === undefined
      ? await newestBlocks(store, log, { blocksMax })
      : before <= 1
        ? []
        : [
            ...(await blocksAfter(store, log, {
              after: Math.max(0, before - 1 - blocksMax) as LogPosition,
              blocksMax: Math.min(blocksMax, before - 1),
            })),
          ].reverse();
  const shown = await Promise.all(
    read.map((block) => shownBlock(log, block, { wanted: {}, names, search: "block" })),
  );
  const oldest = read.at(-1)?.position;
  return {
    blocks: shown.flatMap((each) => (each === undefined ? [] : [blockLine(each)])),
    ...(oldest === undefined || oldest <= 1 ? {} : { before: oldest }),
  };
}
