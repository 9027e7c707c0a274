/** `tidemark shards` as text and as JSON. Pure. */
import type { Item, ShardId, ShardNumber, WriteHashes } from "../../core/types.ts";
import type { Split } from "../../aws/split-shard.ts";
import type { Join } from "../../functions/replay/join-shard.ts";
import { isWholeRange, type ShardRange } from "../../core/shard-map.ts";
import { healthOf, type Finding } from "../../inspection/findings.ts";
import type { ShardState } from "../../inspection/shard-state.ts";
import { inColumns } from "../shell/columns.ts";
import { rateText, spanText } from "../../inspection/words/moments.ts";
import type { Styles } from "../shell/styles.ts";
import { boundText, hashText, itemJson, keyText } from "../../inspection/words/values.ts";
import { findingLines } from "./findings.ts";
import { shardJson } from "./status.ts";

export type ShardList = {
  readonly states: readonly ShardState[];
  readonly findings: readonly Finding[];
  readonly nowMs: number;
  readonly streamless: boolean;
};

export function shardListLines(list: ShardList, styles: Styles): readonly string[] {
  const columns = [
    { title: "shard", align: "right" },
    { title: "log" },
    { title: "hashes from" },
    { title: "share", align: "right" },
    { title: "log end", align: "right" },
    { title: "watermark", align: "right" },
    { title: "behind", align: "right" },
    { title: "commits/s", align: "right" },
    { title: "open", align: "right" },
    { title: "stream's hash key" },
  ] as const;
  const rows = list.states.map(({ log, end, watermark, waiting, tally, open }) => {
    const { stream, express, vote, part } = tally.committed;
    return [
      log.number.toString(),
      log.shard,
      boundText(log.range.from),
      shareText(log.range),
      end?.position.toString() ?? "–",
      watermark?.position.toString() ?? "–",
      waiting.blocks === 0 ? "0" : `${waiting.blocks} (${spanText(waiting.oldestMs)})`,
      rateText(stream + express + vote + part, tally.spanMs),
      open.length.toString(),
      list.streamless ? "–" : log.startingHashKey,
    ];
  });
  const ill = findingLines(list.findings, styles, ["bad", "warning"]);
  return [...inColumns(columns, rows, styles), ...(ill.length === 0 ? [] : ["", ...ill])];
}

export function shardListJson({ states, findings }: ShardList): object {
  return { health: healthOf(findings), shards: states.map(shardJson), findings };
}

function shareText(range: ShardRange): string {
  if (isWholeRange(range)) return "100 %";
  return `${(((range.to - range.from) / 2 ** 32) * 100).toFixed(1)} %`;
}

export type Where = {
  readonly table: string;
  readonly key: Item;
  readonly number: ShardNumber;
  readonly shard: ShardId;
  readonly hashes: WriteHashes;
};

export function whereLine({ table, key, number, shard, hashes }: Where): string {
  const place = `shard ${number} (${shard}), as ${hashText(hashes.key)} in its log`;
  const bound = `0x${hashText(hashes.partition).slice(0, 8)}`;
  return `${table} ${keyText(key)} lies in ${place}; its partition's hash is ${bound}`;
}

export function whereJson({ table, key, number, shard, hashes }: Where): object {
  const { partition } = hashes;
  return {
    ...{ table, key: itemJson(key), number, shard },
    ...{ hash: hashText(hashes.key), partitionHash: hashText(partition) },
  };
}

export function splitLine(of: ShardNumber, { shard, from, forkedAt }: Split): string {
  const whose = `hashes from ${boundText(from)} on are shard ${shard}'s`;
  return `shard ${of} is split: ${whose}, since block ${forkedAt}`;
}

export function joinLine({ shard, heir, from, at, takenAt }: Join): string {
  const hash = `0x${from.toString(16).padStart(8, "0")}`;
  const whose = `hashes from ${hash} on are shard ${heir}'s, since its block ${takenAt}`;
  return `shard ${shard} has ended with block ${at}: ${whose}`;
}
