/**
 * Transactions over several shards, when all is over: what one log has entered of one, all of them
 * have, at one timestamp; and it is committed exactly if all have prepared it, or by its vote (I3
 * over all logs).
 */
import type { LogBlock, Part, ShardNumber } from "../../core/types.ts";
import {
  decidingPart,
  foldPart,
  unseen,
  wholeOutcome,
  type PartState,
} from "../../core/whole-outcome.ts";
import type { LogJudge } from "./log-judge.ts";

export type WholesSeen = { readonly findings: readonly string[]; readonly committed: number };

/** @param logs by their numbers. */
export function judgeWholes(logs: ReadonlyMap<ShardNumber, LogJudge>): WholesSeen {
  const findings: string[] = [];
  let committed = 0;
  for (const [id, parts] of partsIn(logs)) {
    const first = new Map<ShardNumber, PartState>();
    const last = new Map<ShardNumber, PartState>();
    for (const { shard } of parts) {
      const blocks = logs.get(shard)?.all ?? [];
      first.set(shard, stateIn(blocks, id, "as prepared"));
      last.set(shard, stateIn(blocks, id, "as it ended"));
    }
    // What a vote decides its log says in the end.
    const isVoted = decidingPart(parts) !== undefined;
    const whole = wholeOutcome(parts, isVoted ? last : first);
    if (whole?.kind === "committed") committed += 1;
    for (const [shard, state] of last) {
      const isEntered = state.kind === "committed" || state.kind === "aborted";
      const isSame =
        state.kind === (whole?.kind ?? "aborted") &&
        (state.kind !== "committed" ||
          (whole?.kind === "committed" && whole.timestamp === state.timestamp));
      if (isEntered && isSame) continue;
      // Nobody need tell a log that has never seen its part.
      if (state.kind === "unseen" && whole?.kind !== "committed") continue;
      findings.push(
        `I3: ${id} is ${describe(whole)} by what its logs have prepared, and ` +
          `${describe(state)} in shard ${shard.toString()}`,
      );
    }
  }
  for (const [shard, log] of logs) findings.push(...openSinceFork(shard, log, logs));
  return { findings, committed };
}

/** What was open when the shard was split off is entered in its log, too, and as it ended. */
function openSinceFork(
  shard: ShardNumber,
  { past, all }: LogJudge,
  logs: ReadonlyMap<ShardNumber, LogJudge>,
): readonly string[] {
  const findings: string[] = [];
  for (const { verdicts } of past) {
    for (const verdict of verdicts) {
      if (verdict.kind !== "prepared" || verdict.parts === undefined) continue;
      const { id, parts } = verdict;
      if (stateIn(past, id, "as it ended").kind !== "prepared") continue;
      const how = decidingPart(parts) === undefined ? "as prepared" : "as it ended";
      const first = new Map(
        parts.map(({ shard: of }) => [of, stateIn(logs.get(of)?.all ?? [], id, how)]),
      );
      const whole = wholeOutcome(parts, first) ?? { kind: "aborted" as const };
      const state = stateIn(all, id, "as it ended");
      if (state.kind === whole.kind) continue;
      findings.push(
        `I3: ${id} was open when shard ${shard.toString()} was split off, is ${describe(whole)}, ` +
          `and ${describe(state)} there`,
      );
    }
  }
  return findings;
}

function partsIn(
  logs: ReadonlyMap<ShardNumber, LogJudge>,
): ReadonlyMap<LogBlock["verdicts"][number]["id"], readonly Part[]> {
  const found = new Map<LogBlock["verdicts"][number]["id"], readonly Part[]>();
  for (const { blocks } of logs.values()) {
    for (const { verdicts } of blocks) {
      for (const verdict of verdicts) {
        if (verdict.kind !== "prepared" || verdict.parts === undefined) continue;
        found.set(verdict.id, verdict.parts);
      }
    }
  }
  return found;
}

/** `as prepared`: what was entered afterwards is left aside. */
function stateIn(
  blocks: readonly LogBlock[],
  id: LogBlock["verdicts"][number]["id"],
  how: "as prepared" | "as it ended",
): PartState {
  let state = unseen;
  for (const block of blocks) {
    for (const verdict of block.verdicts) {
      if (verdict.id !== id) continue;
      state = foldPart(state, { ...block, verdicts: [verdict] }, id);
      if (how === "as prepared" && state.kind !== "unseen") return state;
    }
  }
  return state;
}

function describe(
  state: { readonly kind: string; readonly timestamp?: number } | undefined,
): string {
  if (state === undefined) return "open";
  const { kind, timestamp } = state;
  return timestamp === undefined ? kind : `${kind} at ${timestamp.toString()}`;
}
