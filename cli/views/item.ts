/** `tidemark item` as text and as JSON. Pure. */
import type { ItemHistory, ItemVersion, StoredNow } from "../../inspection/item-history.ts";
import type { Holder } from "../../inspection/holders.ts";
import { inColumns } from "../shell/columns.ts";
import { momentText, spanText } from "../../inspection/words/moments.ts";
import { plainText } from "../../inspection/words/plain-text.ts";
import type { Styles } from "../shell/styles.ts";
import { hashText, itemJson, itemText, keyText } from "../../inspection/words/values.ts";

export function itemHistoryLines(
  found: ItemHistory,
  { nowMs, styles }: { readonly nowMs: number; readonly styles: Styles },
): readonly string[] {
  const { table, key, log, hashes, stored, versions, open, lookedTo } = found;
  const columns = [
    { title: "version" },
    { title: "ago", align: "right" },
    { title: "state" },
    { title: "transaction" },
    { title: "way" },
    { title: "item" },
  ] as const;
  const rows = versions.map((each) => [
    momentText(each.version),
    each.version === 0 ? "" : spanText(nowMs - each.version / 1_000),
    stateText(each, styles),
    each.commit?.id ?? "–",
    each.commit?.way ?? "–",
    contentText(each),
  ]);
  const past = lookedTo === undefined ? "its beginning" : momentText(lookedTo);
  return [
    `${styles.strong(`${table.name} ${keyText(key)}`)}  shard ${log.number}, ` +
      `hash ${hashText(hashes.key)}`,
    ...storedLines(stored, styles),
    ...open.map(({ id, since, does }) => {
      const age = spanText(nowMs - since / 1_000);
      return styles.warning(`open: ${id} ${does} it, since ${momentText(since)} (${age})`);
    }),
    ...heldLines(found.held, nowMs, styles),
    ...(rows.length === 0 ? [] : ["", ...inColumns(columns, rows, styles)]),
    "",
    styles.faint(`the log was looked through back to ${past}` + historyNote(found)),
  ];
}

function heldLines(held: ItemHistory["held"], nowMs: number, styles: Styles): readonly string[] {
  if (held === "denied") return [styles.faint("no right to see which BASE transactions hold it")];
  const { holders, more } = held;
  return [
    ...holders.map((each) => styles.warning(plainText(heldText(each, nowMs)))),
    ...(more > 0 ? [styles.warning(`held by ${more} more BASE transactions`)] : []),
  ];
}

const doneText = { wrote: "written", read: "read" } as const;

function heldText({ name, id, does, open }: Holder, nowMs: number): string {
  const who = `held by BASE transaction ${name} ${id}, which has ${doneText[does]} it`;
  if (open === undefined) return `${who}; its record is not to be had`;
  const { phase, startedMs, step } = open;
  const since = new Date(startedMs).toISOString();
  const at = `step ${step.number}${step.name === undefined ? "" : ` "${step.name}"`} made`;
  return `${who}: ${phase}, ${at}, since ${since} (${spanText(nowMs - startedMs)})`;
}

function historyNote({ table }: ItemHistory): string {
  if (table.history) return "; the table keeps its versions";
  return table.access === "mixed"
    ? "; of native writes nothing tells"
    : "; the table keeps no versions";
}

function storedLines(stored: StoredNow, styles: Styles): readonly string[] {
  const { state, item, version, nonce, fence } = stored;
  const lines: string[] = [];
  if (state === "item" && item !== undefined) {
    const by = version === 0 ? "no commit's" : momentText(version);
    lines.push(`stored, version ${by}: ${itemText(item)}`);
  } else if (state === "absent") lines.push("nothing is stored");
  else if (state === "tombstone") {
    lines.push(`deleted at ${momentText(version)}; its tombstone is stored`);
  } else lines.push("nothing is there but the placeholder of a transaction");
  if (nonce !== undefined) lines.push(styles.faint(`nonce ${nonce}`));
  if (fence !== undefined) lines.push(styles.warning(`fenced by transaction ${fence}`));
  return lines;
}

function stateText({ state, version }: ItemVersion, styles: Styles): string {
  // What no commit has written: what was there before the first one.
  if (version === 0) return "before";
  switch (state) {
    case "stored":
      return styles.good(state);
    case "pending":
      return styles.warning(state);
    case "kept":
      return state;
    case "logged":
      return styles.faint(state);
  }
}

function contentText({ content, version }: ItemVersion): string {
  if (content === undefined) return "not known";
  if (content.item !== undefined) return itemText(content.item);
  return version === 0 ? "nothing" : "deleted";
}

export function itemHistoryJson(found: ItemHistory): object {
  const { table, key, log, hashes, stored, versions, open, lookedTo } = found;
  return {
    table: table.name,
    key: itemJson(key),
    ...{ shard: log.shard, number: log.number, hash: hashText(hashes.key) },
    stored: { ...stored, item: stored.item && itemJson(stored.item) },
    versions: versions.map(({ version, state, commit, content }) => ({
      ...{ version, time: momentText(version), state, ...commit },
      ...(content === undefined
        ? {}
        : content.item === undefined
          ? { deleted: true }
          : { item: itemJson(content.item) }),
    })),
    open,
    heldBy: heldJson(found.held),
    ...(found.held === "denied" || found.held.more === 0 ? {} : { heldByMore: found.held.more }),
    lookedTo,
  };
}

/** Null: there is no right to see that. */
function heldJson(held: ItemHistory["held"]): readonly object[] | null {
  if (held === "denied") return null;
  return held.holders.map(({ name, id, does, open }) => ({
    ...{ name, id, does },
    ...(open === undefined
      ? {}
      : { phase: open.phase, since: new Date(open.startedMs).toISOString(), step: open.step }),
  }));
}
