/** Blocks of the log as text and as JSON. Pure. */
import type { Verdict } from "../../core/types.ts";
import type { NamedWrite } from "../../inspection/names.ts";
import type { ShownBlock, ShownVerdict } from "../../inspection/shown-block.ts";
import { isProvisioning, wayOf } from "../../inspection/tally.ts";
import { makerText, reasonText } from "../../inspection/words/decisions.ts";
import { counted, momentText } from "../../inspection/words/moments.ts";
import type { Styles } from "../shell/styles.ts";
import { hashText, itemJson, itemText, keyText } from "../../inspection/words/values.ts";

export type LogView = {
  /** Several shards: each block names its own. */
  readonly isSharded: boolean;
  readonly showsItems: boolean;
};

export function blockLines(shown: ShownBlock, view: LogView, styles: Styles): readonly string[] {
  const { log, position, bytes, block, fault, verdicts } = shown;
  const place = view.isSharded ? `${log.number}/${position}` : position.toString();
  if (block === undefined) {
    return [`${styles.strong(place)}  ${styles.bad(`is no block: ${fault ?? ""}`)}`];
  }
  const { maker, throughTimestamp, rejectedRecords, oldestOpen } = block;
  const notes = [
    makerText(block),
    `${bytes} B`,
    ...(maker !== undefined && maker.installed.length > 0
      ? [`has installed ${counted(maker.installed.length, "commit")} of its own`]
      : []),
    ...(rejectedRecords > 0 ? [`${counted(rejectedRecords, "record")} refused`] : []),
    ...(oldestOpen === undefined ? [] : [`open since block ${oldestOpen}`]),
    ...(block.verdicts.length === 0 ? ["decides nothing"] : []),
  ];
  const head = `${styles.strong(place)}  ${momentText(throughTimestamp)}`;
  return [
    `${head}  ${styles.faint(notes.join(", "))}`,
    // Provisioning's stands for no transaction: it makes the block's time.
    ...(isProvisioning(block) ? [] : verdicts).flatMap((each) =>
      verdictLines(each, shown, view, styles),
    ),
  ];
}

function verdictLines(
  shown: ShownVerdict,
  { block }: ShownBlock,
  { showsItems }: LogView,
  styles: Styles,
): readonly string[] {
  const { verdict, tables, writes, unreadable } = shown;
  const what = kindText(verdict, styles);
  const detail = detailText(verdict, block?.maker !== undefined);
  const listed = tables.map((each) => `${each.name} (${each.writes})`).join(", ");
  const places = writes === undefined && listed !== "" ? ` ${listed}` : "";
  return [
    `  ${what} ${verdict.id}${detail === "" ? "" : `  ${detail}`}${places}`,
    ...(writes ?? []).map((write) => `    ${writeText(write, showsItems)}`),
    ...(unreadable === undefined ? [] : [styles.faint(`    keys unknown: ${unreadable}`)]),
  ];
}

/** Of equal width. */
function kindText({ kind }: Verdict, styles: Styles): string {
  const text = kind.padEnd("committed".length);
  switch (kind) {
    case "committed":
      return styles.good(text);
    case "aborted":
      return styles.bad(text);
    case "prepared":
    case "stale":
    case "busy":
      return styles.warning(text);
  }
}

function detailText(verdict: Verdict, isClients: boolean): string {
  switch (verdict.kind) {
    case "committed": {
      const way = wayOf(verdict, isClients);
      const ways = { stream: "by the stream", express: "express", vote: "by vote" };
      if (way !== "part") return ways[way];
      return `a part, counts at ${momentText(verdict.timestamp)}`;
    }
    case "aborted":
      return reasonText(verdict.reason);
    case "prepared":
      return verdict.parts === undefined
        ? `checks ${verdict.checks.length}`
        : `a part of ${verdict.parts.length} shards: ` +
            verdict.parts.map(({ shard }) => shard).join(", ");
    case "stale":
      return "its check was too old: sent again";
    case "busy":
      return `${verdict.inTheWay} is open and in the way: sent again`;
  }
}

/** Also of `tidemark outcome`. */
export function writeText({ table, key, item }: NamedWrite, showsItems: boolean): string {
  const what = item === undefined ? "delete" : "put   ";
  const content = item === undefined || !showsItems ? "" : ` ${itemText(item)}`;
  return `${what} ${table} ${keyText(key)}${content}`;
}

export function blockJson(shown: ShownBlock, { showsItems }: LogView): object {
  const { log, position, bytes, block, fault, verdicts } = shown;
  const where = { shard: log.shard, number: log.number, position, bytes };
  if (block === undefined) return { ...where, fault };
  const { maker, throughTimestamp, previousTimestamp, arrivalMs, rejectedRecords } = block;
  return {
    ...where,
    ...{ previousTimestamp, throughTimestamp, time: momentText(throughTimestamp) },
    ...{ arrivalMs, cursor: block.cursor, rejectedRecords, oldestOpen: block.oldestOpen },
    ...(block.fork === undefined ? {} : { fork: block.fork }),
    ...(block.handover === undefined ? {} : { handover: block.handover }),
    maker: maker === undefined ? { kind: "oracle" } : { kind: "client", number: maker.number },
    verdicts: verdicts.map((each) => verdictJson(each, maker !== undefined, showsItems)),
  };
}

function verdictJson(shown: ShownVerdict, isClients: boolean, showsItems: boolean): object {
  const { verdict, tables, writes, unreadable } = shown;
  const { kind, id } = verdict;
  const known = {
    ...(tables.length === 0 ? {} : { tables }),
    ...(writes === undefined ? {} : { writes: writes.map((each) => writeJson(each, showsItems)) }),
    ...(unreadable === undefined ? {} : { unreadable }),
  };
  switch (verdict.kind) {
    case "committed": {
      const { timestamp, placed } = verdict;
      const time = momentText(timestamp);
      return { kind, id, timestamp, time, placed, way: wayOf(verdict, isClients), ...known };
    }
    case "aborted": {
      const { timestamp, reason } = verdict;
      return { kind, id, timestamp, time: momentText(timestamp), reason };
    }
    case "prepared": {
      const { timestamp, parts, checks } = verdict;
      const time = momentText(timestamp);
      return { kind, id, timestamp, time, parts, checks: checks.map(hashText), ...known };
    }
    case "stale":
      return { kind, id };
    case "busy":
      return { kind, id, inTheWay: verdict.inTheWay };
  }
}

/** Also of `tidemark outcome`. */
export function writeJson({ table, key, item, hash }: NamedWrite, showsItems: boolean): object {
  return {
    op: item === undefined ? "delete" : "put",
    ...{ table, key: itemJson(key), hash: hashText(hash) },
    ...(showsItems && item !== undefined ? { item: itemJson(item) } : {}),
  };
}
