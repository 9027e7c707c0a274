/**
 * A few behaviours out of many: greedily those that show most of what the ones chosen so far do
 * not.
 */
import type { Trace } from "./trace.ts";

/** @param max bound on what is chosen; fewer when nothing new is left after a second round. */
export function selectTraces(traces: readonly Trace[], max: number): readonly Trace[] {
  const left = new Map(traces.map((trace) => [trace, featuresOf(trace)]));
  const seen = new Map<string, number>();
  const chosen: Trace[] = [];
  while (chosen.length < max && left.size > 0) {
    // A feature counts less each time that it is shown again.
    const worth = (features: ReadonlySet<string>): number =>
      Array.from(features).reduce(
        (sum, feature) => sum + 1 / (1 + (seen.get(feature) ?? 0)) ** 2,
        0,
      );
    let best: Trace | undefined;
    let bestWorth = 0;
    for (const [trace, features] of left) {
      const value = worth(features) / Math.sqrt(trace.steps.length);
      if (value <= bestWorth) continue;
      best = trace;
      bestWorth = value;
    }
    if (best === undefined) break;
    for (const feature of left.get(best) ?? []) seen.set(feature, (seen.get(feature) ?? 0) + 1);
    left.delete(best);
    chosen.push(best);
  }
  return chosen;
}

/** What a trace shows: its kinds of steps, with what came of them. */
export function featuresOf({ work, initial, steps }: Trace): ReadonlySet<string> {
  const features = new Set<string>();
  let before = initial;
  for (const { action, after } of steps) {
    features.add(`${JSON.stringify(Object.values(work))} ${action.name}`);
    features.add(action.name);
    if (action.name === "OraclePut") {
      const isTaken = after.log.length === before.log.length;
      features.add(isTaken ? "taken" : "appended");
      const block = isTaken ? undefined : after.log.at(-1);
      for (const { kind } of block?.verdicts ?? []) features.add(`verdict ${kind}`);
      const covered = (block?.cursor ?? 0) - (before.log.at(-1)?.cursor ?? 0);
      if (block !== undefined && block.verdicts.length < covered) features.add("duplicate");
    }
    if (action.name === "ClientRead") {
      const client = after.client[action.who];
      if (client?.pc === "aborted") features.add("read conflict");
      if (JSON.stringify(after.store) !== JSON.stringify(before.store)) features.add("helper");
      const extended = client !== undefined && client.r > (before.client[action.who]?.r ?? 0);
      if (extended && before.client[action.who]?.pc === "run") features.add("extended");
    }
    if (action.name === "ClientSend" || action.name === "ClientResend") {
      features.add(`${action.name} ${after.client[action.who]?.pc ?? ""}`);
      if (action.name === "ClientSend") features.add(JSON.stringify(action.what));
    }
    if (action.name === "ClientInstall" || action.name === "ReplayInstall") {
      const isSame = JSON.stringify(after.store) === JSON.stringify(before.store);
      features.add(`${action.name} ${isSame ? "superseded" : "installed"}`);
      if (after.mark > before.mark) features.add("watermark after install");
    }
    if (action.name === "ReplayStart" && after.mark > before.mark) features.add("nothing missing");
    before = after;
  }
  return features;
}
