/** `tidemark conflicts` as text and as JSON. Pure. */
import type { Contention, HotKey } from "../../inspection/contention.ts";
import type { NamedKey } from "../../inspection/hot-keys.ts";
import { inColumns } from "../shell/columns.ts";
import { counted, spanText } from "../../inspection/words/moments.ts";
import type { Styles } from "../shell/styles.ts";
import { hashText, itemJson, keyText } from "../../inspection/words/values.ts";

export type ConflictsView = Omit<Contention, "keys"> & {
  readonly keys: readonly NamedKey[];
  readonly sinceMs: number;
};

export function conflictsLines(view: ConflictsView, styles: Styles): readonly string[] {
  const { sinceMs, commits, conflicts, waits, untold, keys } = view;
  const columns = [
    { title: "table" },
    { title: "key" },
    { title: "written", align: "right" },
    { title: "lost", align: "right" },
    { title: "perhaps", align: "right" },
    { title: "retried", align: "right" },
    { title: "waited", align: "right" },
    { title: "shard", align: "right" },
  ] as const;
  const rows = keys.map(({ hot, table, key }) => [
    table ?? `unknown ${hashText(hot.table)}`,
    key === undefined ? styles.faint(`hash ${hashText(hot.key)}`) : keyText(key),
    hot.commits.toString(),
    hot.lost === 0 ? "–" : styles.bad(hot.lost.toString()),
    hot.lostPerhaps === 0 ? "–" : styles.warning(hot.lostPerhaps.toString()),
    retriesText(hot, styles),
    hot.waited === 0 ? "–" : hot.waited.toString(),
    hot.log.number.toString(),
  ]);
  const further = untold === 0 ? "" : `; ${counted(untold, "cause")} of these lie further back`;
  return [
    `In the last ${spanText(sinceMs)}: ${counted(commits, "commit")}, ` +
      `${counted(conflicts, "conflict")} found by oracles, ${counted(waits, "wait")}${further}`,
    ...(rows.length === 0 ? [] : ["", ...inColumns(columns, rows, styles)]),
  ];
}

/** What is not told of all may be more. */
function retriesText({ retries, commits }: HotKey, styles: Styles): string {
  const { known, runs } = retries;
  if (known === 0) return commits === 0 ? "–" : "?";
  if (runs === 0) return known < commits ? "?" : "–";
  return styles.warning(known < commits ? `≥ ${runs.toString()}` : runs.toString());
}

export function conflictsJson(view: ConflictsView): object {
  const { keys, ...counts } = view;
  return {
    ...counts,
    keys: keys.map(({ hot, table, key }) => ({
      ...{ table, key: key && itemJson(key), hash: hashText(hot.key), number: hot.log.number },
      written: hot.commits,
      ...{ lost: hot.lost, lostPerhaps: hot.lostPerhaps, waited: hot.waited },
      retries: hot.retries,
    })),
  };
}
