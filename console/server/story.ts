/**
 * A transaction's course, from what is left of it: its id, the logs, the stream's records, and the
 * tables it has written. Of the console's own clients their own account besides. Nothing here
 * decides anything: an id that no log tells of stays undecided.
 */
import type { KeyHash } from "../../core/types.ts";
import { parseTransactionId } from "../../schemas/transaction-id-text.ts";
import { readRequestAt } from "../../schemas/commit-record-reading.ts";
import { ifAllowed } from "../../inspection/allowed.ts";
import { decisionOn, standingOf, type InLog, type Known } from "../../inspection/decision.ts";
import type { Deployment } from "../../inspection/deployment.ts";
import type { Named, NamedWrite } from "../../inspection/names.ts";
import { wayOf } from "../../inspection/tally.ts";
import { counted } from "../../inspection/words/moments.ts";
import { reasonText, retriedText, wayText } from "../../inspection/words/decisions.ts";
import * as limits from "../limits.ts";
import type { Step, StepKey, Story } from "../wire.ts";
import { writeLine } from "./lines.ts";
import type { Seen } from "./sight.ts";

/** @param told by the client that ran it, if that is one of ours. */
export async function storyOf(
  { deployment, names }: Seen,
  text: string,
  told: readonly Step[] = [],
): Promise<Story> {
  const id = parseTransactionId(text);
  const known = await decisionOn(deployment, id, limits.storyPagesMax);
  const inLogs = await Promise.all(
    known.logs.map((inLog) => stepsIn({ deployment, names }, known, inLog)),
  );
  const began: Step = {
    at: known.madeAfter,
    ...({ from: "id", kind: "attempt", level: "fine" } as const),
    text: "begun: its id carries the newest commit that its maker had seen then",
  };
  const standing = standingOf(known);
  const steps = inOrder([began, ...told, ...inLogs.flat()]);
  return { id, standing, steps: [...steps, ...endOf(known, standing)] };
}

/** Steps without a time stay behind the one before them. */
function inOrder(steps: readonly Step[]): readonly Step[] {
  let last = 0;
  return steps
    .map((step) => ({ step, at: (last = step.at ?? last) }))
    .sort((a, b) => a.at - b.at)
    .map(({ step }) => step);
}

function endOf({ logs }: Known, standing: Story["standing"]): readonly Step[] {
  const plain = { from: "log", kind: "end" } as const;
  switch (standing) {
    case "committed":
    case "aborted":
      return [];
    case "open":
      return [
        {
          ...plain,
          level: "warning",
          text: "open: prepared, and not decided yet; whoever it stands in the way of ends it",
        },
      ];
    case "undecided":
      return [
        {
          ...plain,
          level: "unknown",
          text:
            "no log tells of it: it never left its client, met a conflict there, or is on its " +
            "way; `tidemark outcome <id> --write` settles it for good",
        },
      ];
    case "unknown": {
      const to = Math.min(...logs.map(({ searchedTo }) => searchedTo));
      const text = "the log goes on for longer than this page reads: `tidemark outcome` reads on";
      return [{ ...plain, at: to, level: "unknown", text }];
    }
  }
}

async function stepsIn(seen: Seen, known: Known, inLog: InLog): Promise<readonly Step[]> {
  const { log, prepared, decision, sentAgain, winner } = inLog;
  const shard = log.number;
  const told = decision?.verdict.kind === "committed" ? decision.verdict : prepared?.verdict;
  const named = told === undefined ? undefined : await seen.names.writes(log, told);
  const steps: Step[] = [];
  const checked = told === undefined ? undefined : await checksOf(seen, inLog, named);
  if (checked !== undefined) steps.push({ ...checked, at: known.madeAfter });
  if (sentAgain > 0) {
    const times = counted(sentAgain, "time");
    const text = `answered ${times} to be sent again: its check was too old, or one was in the way`;
    steps.push({ from: "log", kind: "send", level: "warning", text });
  }
  if (prepared !== undefined) {
    const { timestamp: at, parts } = prepared.verdict;
    const of = parts === undefined ? "it touches mixed tables" : `one of ${parts.length} parts`;
    steps.push({
      at,
      ...({ from: "log", kind: "prepare", level: "fine" } as const),
      text: `prepared: ${of}; from here on it stands in the way of others`,
      place: { shard, position: prepared.position },
    });
  }
  if (decision !== undefined) steps.push(decided(inLog, decision, named));
  if (winner !== undefined) {
    steps.push({
      at: winner.verdict.timestamp,
      ...({ from: "log", kind: "decide", level: "warning" } as const),
      text: "the winner committed, and wrote what this one had read or writes",
      place: { shard, position: winner.position },
      other: winner.verdict.id,
      ...keysOf(await seen.names.writes(log, winner.verdict)),
    });
  }
  if (decision?.verdict.kind === "committed" && named !== undefined) {
    steps.push(...(await installs(seen.deployment, inLog, named)));
  }
  return steps;
}

function decided(
  { log }: InLog,
  { verdict, position, isClients }: NonNullable<InLog["decision"]>,
  named: Named | undefined,
) {
  const place = { shard: log.number, position };
  const at = verdict.timestamp;
  const plain = { at, place, from: "log", kind: "decide" } as const;
  if (verdict.kind === "committed") {
    const way = wayText(wayOf(verdict, isClients));
    const text = `committed, ${way}${retriedText(named)}`;
    return { ...plain, level: "fine", text } satisfies Step;
  }
  return { ...plain, level: "bad", text: `aborted: ${reasonText(verdict.reason)}` } satisfies Step;
}

/** What it has read, as far as anything but its client tells. */
async function checksOf(
  seen: Seen,
  { log, prepared, decision }: InLog,
  named: Named | undefined,
): Promise<Step | undefined> {
  const plain = { kind: "read", level: "fine" } as const;
  if (prepared !== undefined) {
    return { ...plain, from: "log", ...checkedText(seen, prepared.verdict.checks, named) };
  }
  if (decision?.verdict.kind !== "committed") return undefined;
  const { payload, id } = decision.verdict;
  if (payload.kind !== "stream") {
    const text =
      "what it read its client has checked itself: a block of a client's own does not list it";
    return { ...plain, from: "log", level: "unknown", text };
  }
  const { sequenceNumber, requestIndex } = payload;
  const read = await ifAllowed(() =>
    seen.deployment.ports.stream.read(log.shard, sequenceNumber, { recordsMax: 1 }),
  );
  const [record] = read !== "denied" && read.kind === "found" ? read.records : [];
  if (record === undefined) return undefined;
  const request = readRequestAt(record.data, requestIndex);
  if (request.id !== id) return undefined;
  return { ...plain, from: "stream", ...checkedText(seen, request.checks, named) };
}

function checkedText(
  { names }: Seen,
  checks: readonly KeyHash[],
  named: Named | undefined,
): Pick<Step, "text" | "keys"> {
  const writes = named?.kind === "named" ? named.writes : [];
  const own = writes.filter(({ hash }) => checks.includes(hash));
  const tables = checks.flatMap((hash) => names.table(hash)?.name ?? []);
  const others = checks.length - own.length - tables.length;
  const parts = [
    ...(own.length > 0 ? [`${own.length} of what it writes`] : []),
    ...(tables.length > 0 ? [`the whole of ${tables.join(", ")}`] : []),
    ...(others > 0 ? [`${counted(others, "key or partition", "keys or partitions")} beside`] : []),
  ];
  const what = parts.length === 0 ? "nothing: its writes are blind" : parts.join(", ");
  return {
    text: `read and checked: ${what}`,
    ...(own.length === 0 ? {} : { keys: readKeys(own) }),
  };
}

function readKeys(writes: readonly NamedWrite[]): readonly StepKey[] {
  return writes.slice(0, limits.storyKeysMax).map((each) => writeLine(each));
}

function keysOf(named: Named): Pick<Step, "keys"> {
  return named.kind === "named" ? { keys: readKeys(named.writes) } : {};
}

/** What became of its writes, by the versions that stand in their tables. */
async function installs(
  { ports, registry }: Deployment,
  { log, decision }: InLog,
  named: Named,
): Promise<readonly Step[]> {
  if (decision?.verdict.kind !== "committed") return [];
  const { timestamp } = decision.verdict;
  const plain = { from: "tables", kind: "install" } as const;
  if (named.kind === "unreadable") {
    return [{ ...plain, level: "unknown", text: `its keys are unknown: ${named.because}` }];
  }
  const mixed = new Set(
    registry.tables.filter(({ access }) => access === "mixed").map(({ name }) => name),
  );
  const registered = new Set(registry.tables.map(({ name }) => name));
  const shown = named.writes.slice(0, limits.storyKeysMax);
  const asked = shown.filter(({ table }) => registered.has(table) && !mixed.has(table));
  const versions = await ports.items.versions(asked, { consistency: "strong" });
  const keys = shown.map((write): StepKey => {
    const version = versions[asked.indexOf(write)];
    const state =
      version === undefined
        ? "unknown"
        : version === timestamp
          ? "installed"
          : version > timestamp
            ? "superseded"
            : "pending";
    return { ...writeLine(write, true), state };
  });
  const watermark = await ports.control.readWatermark(log.shard);
  const isPassed = (watermark?.position ?? 0) >= decision.position;
  const pending = keys.filter(({ state }) => state === "pending").length;
  const many = counted(named.writes.length, "write");
  const text = isPassed
    ? `${many} installed or superseded: the watermark has passed it`
    : pending === 0
      ? `${many} installed by whoever was first; replay has not vouched for it yet`
      : `${pending} of ${many} not in the tables yet: readers see them all the same`;
  const level = pending === 0 ? "fine" : "warning";
  return [{ ...plain, level, text, keys }];
}
