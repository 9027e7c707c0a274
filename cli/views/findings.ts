/** Findings as lines of text, the worst first. */
import type { Finding, Level } from "../../inspection/findings.ts";
import type { Styles } from "../shell/styles.ts";

const ranks: readonly Level[] = ["bad", "warning", "unknown", "fine"];

/** Each with a mark that stands for its level without a colour, too; its remedy below it. */
export function findingLines(
  findings: readonly Finding[],
  styles: Styles,
  shown: readonly Level[] = ranks,
): readonly string[] {
  const inOrder = ranks
    .filter((level) => shown.includes(level))
    .flatMap((level) => findings.filter((each) => each.level === level));
  return alikeOf(inOrder).flatMap(({ level, about, text, remedy, shards }) => [
    `${markOf(level, styles)} ${about}${ofShards(shards)}: ${text}`,
    ...(remedy === undefined ? [] : [`       ${styles.faint(`→ ${remedy}`)}`]),
  ]);
}

type Alike = Finding & { readonly shards: number[] };

/** What is the same of several shards is said once. */
function alikeOf(findings: readonly Finding[]): readonly Alike[] {
  const all = new Map<string, Alike>();
  for (const finding of findings) {
    const { shard, ...said } = finding;
    const name = JSON.stringify(said);
    const known = all.get(name) ?? { ...finding, shards: [] };
    if (shard !== undefined) known.shards.push(shard);
    all.set(name, known);
  }
  return [...all.values()];
}

function ofShards(shards: readonly number[]): string {
  if (shards.length === 0) return "";
  return ` of shard${shards.length === 1 ? "" : "s"} ${shards.join(", ")}`;
}

/** Of equal width. */
function markOf(level: Level, styles: Styles): string {
  switch (level) {
    case "fine":
      return styles.good("  ok  ");
    case "unknown":
      return styles.faint("  ??  ");
    case "warning":
      return styles.warning(" WARN ");
    case "bad":
      return styles.bad(" BAD  ");
  }
}
