/** What is well and what is not, with what to do about it. Pure. */
import { counted, spanText } from "./words/moments.ts";
import * as limits from "./limits.ts";
import type { ShardNumber } from "../core/types.ts";
import { denied } from "./allowed.ts";
import type { ShardState } from "./shard-state.ts";

/** `unknown`: the rights at hand, or this place, do not show it. */
export type Level = "fine" | "unknown" | "warning" | "bad";

export type Finding = {
  readonly level: Level;
  /** What it is about, in a word or two. */
  readonly about: string;
  /** Undefined: it is no single shard's, or there is only one. */
  readonly shard?: ShardNumber;
  readonly text: string;
  /** What to do; undefined: nothing. */
  readonly remedy?: string;
};

/** Whether anything is ill: the exit code is 1 then. */
export function isUnhealthy(findings: readonly Finding[]): boolean {
  return findings.some(({ level }) => level === "bad");
}

export function findingsOf(
  states: readonly ShardState[],
  { nowMs, streamless }: { readonly nowMs: number; readonly streamless: boolean },
): readonly Finding[] {
  const each = states.flatMap((state) => {
    const found = [
      logFinding(state),
      installFinding(state, streamless),
      ...(streamless ? [] : [oracleFinding(state)]),
      openFinding(state, nowMs),
      letterFinding(state),
    ];
    const { number: shard } = state.log;
    return states.length === 1 ? found : found.map((finding) => ({ ...finding, shard }));
  });
  return [...each, reaperFinding(states, nowMs)];
}

/** One function, for all shards. */
function reaperFinding(states: readonly ShardState[], nowMs: number): Finding {
  const about = "reaper";
  const seen = states.map(({ reapedMs }) => reapedMs);
  if (seen.includes(denied))
    return { level: "unknown", about, text: "no right to see its samples" };
  const times = seen.filter((each) => typeof each === "number");
  if (times.length === 0) return { level: "unknown", about, text: "it has not run yet" };
  const agoMs = nowMs - Math.max(...times);
  const text = `it ran ${spanText(agoMs)} ago`;
  if (agoMs < limits.reaperWarningMs) return { level: "fine", about, text };
  const remedy = "look whether reaper (or housekeeping) runs; tombstones stay meanwhile";
  return { level: "warning", about, text, remedy };
}

function logFinding({ fault, watermark, end }: ShardState): Finding {
  const about = "log";
  if (fault !== undefined) {
    const remedy = "docs/operations.md, A block that stops the shard";
    return { level: "bad", about, text: `a block stops the shard: ${fault}`, remedy };
  }
  if (watermark === undefined) {
    const remedy = "the control table was edited: put its entry back from a backup";
    return { level: "bad", about, text: "it has no watermark", remedy };
  }
  if (end === undefined) return { level: "fine", about, text: "it is empty" };
  if (watermark.position <= end.position) {
    return { level: "fine", about, text: "its newest blocks decode" };
  }
  const text = `its watermark (${watermark.position}) lies above its end (${end.position})`;
  const remedy = "the log table was restored or cut: docs/operations.md, Backup and restore";
  return { level: "bad", about, text, remedy };
}

function installFinding({ waiting }: ShardState, streamless: boolean): Finding {
  const { blocks, oldestMs } = waiting;
  const about = "installs";
  if (blocks === 0) return { level: "fine", about, text: "all that is committed is installed" };
  const text = `${counted(blocks, "block")} behind the log, the oldest for ${spanText(oldestMs)}`;
  if (oldestMs < limits.lagWarningMs) return { level: "fine", about, text };
  const who = streamless ? "housekeeping, or a client that keeps house," : "replay";
  const level = oldestMs < limits.lagBadMs ? "warning" : "bad";
  return { level, about, text, remedy: `look whether ${who} runs, and what its log says` };
}

function oracleFinding({ undecided, end }: ShardState): Finding {
  const about = "oracle";
  if (undecided === denied) {
    const text = "no right to read the stream, so no sign of requests that wait";
    return { level: "unknown", about, text, remedy: "policy read-write has that right" };
  }
  if (undecided === undefined || end?.cursor === undefined) {
    return { level: "unknown", about, text: "nothing has come by the stream yet" };
  }
  const { records, oldestMs } = undecided;
  if (records === 0) {
    return { level: "fine", about, text: "every record of the stream is decided" };
  }
  const text = `${counted(records, "record")} undecided, the oldest for ${spanText(oldestMs)}`;
  if (oldestMs < limits.undecidedRecordMs) return { level: "fine", about, text };
  const remedy =
    "look whether the oracle runs, and what its log says: nothing commits by the stream";
  return { level: "bad", about, text, remedy };
}

function openFinding({ open, openIsPartial }: ShardState, nowMs: number): Finding {
  const about = "open";
  const [oldest] = open;
  if (oldest === undefined && openIsPartial) {
    return { level: "unknown", about, text: "too much of the log lies behind what may be open" };
  }
  if (oldest === undefined) return { level: "fine", about, text: "no transaction is open" };
  const ageMs = nowMs - oldest.since / 1_000;
  const many = `${counted(open.length, "transaction")} open${openIsPartial ? " at least" : ""}`;
  const text = `${many}, the oldest for ${spanText(ageMs)}`;
  if (ageMs < limits.openWarningMs) return { level: "fine", about, text };
  const remedy = `\`tidemark outcome ${oldest.id}\` tells of it; replay ends what its client left`;
  return { level: "warning", about, text, remedy };
}

function letterFinding({ deadLetters }: ShardState): Finding {
  const about = "dead letters";
  if (deadLetters === denied) {
    const remedy = "allow dynamodb:Query of the control table under dead-letters#*";
    return { level: "unknown", about, text: "no right to look for them", remedy };
  }
  if (deadLetters === 0) return { level: "fine", about, text: "none" };
  const text = `${counted(deadLetters, "committed write")} can never be installed`;
  const remedy = "docs/operations.md, Dead letters; `tidemark audit` lists them";
  return { level: "bad", about, text, remedy };
}

/** What is not known is no reason to worry. */
export function healthOf(findings: readonly Finding[]): "fine" | "warning" | "bad" {
  const has = (level: Level): boolean => findings.some((each) => each.level === level);
  return has("bad") ? "bad" : has("warning") ? "warning" : "fine";
}
