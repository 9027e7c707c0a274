/** `tidemark outcome` as text and as JSON. Pure. */
import type { InLog, Known, Standing } from "../../inspection/decision.ts";
import type { Named } from "../../inspection/names.ts";
import { wayOf } from "../../inspection/tally.ts";
import { reasonText, retriedText, wayText } from "../../inspection/words/decisions.ts";
import { counted, momentText, spanText } from "../../inspection/words/moments.ts";
import type { Styles } from "../shell/styles.ts";
import { writeJson, writeText } from "./log.ts";

export type OutcomeView = {
  readonly known: Known;
  readonly standing: Standing;
  readonly isSharded: boolean;
  readonly showsItems: boolean;
  readonly nowMs: number;
  /** For each log, what it writes there, or what the winner of a conflict has written there. */
  readonly written: readonly (Named | undefined)[];
  readonly won: readonly (Named | undefined)[];
};

export function outcomeLines(view: OutcomeView, styles: Styles): readonly string[] {
  const { known, standing, nowMs } = view;
  const ago = spanText(nowMs - known.madeAfter / 1_000);
  return [
    `${known.id}: ${standingText(standing, styles)}`,
    styles.faint(`its maker had seen the log up to ${momentText(known.madeAfter)} (${ago} ago)`),
    ...known.logs.flatMap((each, at) => logLines(each, at, view, styles)),
    ...adviceOf(standing, known).map((line) => styles.faint(line)),
  ];
}

function standingText(standing: Standing, styles: Styles): string {
  switch (standing) {
    case "committed":
      return styles.good("committed");
    case "aborted":
      return styles.bad("aborted");
    case "open":
      return styles.warning("open: prepared, and not decided");
    case "undecided":
      return styles.warning("not decided: no log has it");
    case "unknown":
      return styles.warning("unknown: the logs were not read to their ends");
  }
}

function adviceOf(standing: Standing, { logs }: Known): readonly string[] {
  switch (standing) {
    case "committed":
    case "aborted":
      return [];
    case "open":
      return ["its client decides it, or replay after some seconds; --write does it now"];
    case "undecided":
      return ["a copy may be on its way; --write aborts it for good"];
    case "unknown": {
      const to = Math.min(...logs.map(({ searchedTo }) => searchedTo));
      return [`read up to ${momentText(to as Known["madeAfter"])}; --pages reads on`];
    }
  }
}

function logLines(
  { log, prepared, decision, sentAgain, winner }: InLog,
  at: number,
  { isSharded, showsItems, written, won }: OutcomeView,
  styles: Styles,
): readonly string[] {
  const place = (position: number): string =>
    isSharded ? `block ${log.number}/${position}` : `block ${position}`;
  const lines: string[] = [];
  if (prepared !== undefined) {
    const { parts, timestamp } = prepared.verdict;
    const of = parts === undefined ? "" : ` as a part of ${parts.length} shards`;
    lines.push(`prepared at ${momentText(timestamp)}${of}, ${place(prepared.position)}`);
  }
  if (sentAgain > 0) lines.push(`answered ${counted(sentAgain, "time")} to be sent again`);
  if (decision !== undefined) {
    const { verdict, position, isClients } = decision;
    const what =
      verdict.kind === "committed"
        ? `committed at ${momentText(verdict.timestamp)} (${verdict.timestamp}), ` +
          `${wayText(wayOf(verdict, isClients))}${retriedText(written[at])}`
        : `aborted at ${momentText(verdict.timestamp)}: ${reasonText(verdict.reason)}`;
    lines.push(`${what}, ${place(position)}`);
  }
  lines.push(...namedLines(written[at], showsItems, styles));
  if (winner !== undefined) {
    lines.push(`the winner was ${winner.verdict.id}, ${place(winner.position)}`);
    lines.push(...namedLines(won[at], showsItems, styles));
  }
  return lines;
}

function namedLines(
  named: Named | undefined,
  showsItems: boolean,
  styles: Styles,
): readonly string[] {
  if (named === undefined) return [];
  if (named.kind === "unreadable") return [styles.faint(`  keys unknown: ${named.because}`)];
  return named.writes.map((each) => `  ${writeText(each, showsItems)}`);
}

export function outcomeJson(view: OutcomeView): object {
  const { known, standing, showsItems, written, won } = view;
  const writesOf = (named: Named | undefined): object =>
    named === undefined
      ? {}
      : named.kind === "unreadable"
        ? { unreadable: named.because }
        : {
            earlierAttempts: named.earlierAttempts,
            writes: named.writes.map((each) => writeJson(each, showsItems)),
          };
  return {
    id: known.id,
    outcome: standing,
    madeAfter: known.madeAfter,
    logs: known.logs.map(({ log, prepared, decision, sentAgain, winner, searchedTo }, at) => ({
      ...{ shard: log.shard, number: log.number, sentAgain, searchedTo },
      prepared: prepared && { position: prepared.position, timestamp: prepared.verdict.timestamp },
      decision: decision && decisionJson(decision),
      ...writesOf(written[at]),
      winner: winner && {
        id: winner.verdict.id,
        position: winner.position,
        timestamp: winner.verdict.timestamp,
        ...writesOf(won[at]),
      },
    })),
  };
}

function decisionJson({ verdict, position, isClients }: NonNullable<InLog["decision"]>): object {
  const { kind, timestamp } = verdict;
  const at = { kind, timestamp, time: momentText(timestamp), position };
  return verdict.kind === "committed"
    ? { ...at, way: wayOf(verdict, isClients) }
    : { ...at, reason: verdict.reason };
}
