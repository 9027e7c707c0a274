/**
 * What the log says of BASE transactions, out of the records that their commits put: when each of
 * their steps was committed, and when they were released. Nobody is told these timestamps, so
 * histories get them from here.
 */
import { attribute } from "../../core/attributes.ts";
import { baseExpiryAttribute } from "../../core/base-tables.ts";
import type { Item } from "../../core/types.ts";
import { isWrite, type HistoryTransaction } from "../../testing/history/types.ts";
import type { LoggedVersions } from "../../testing/history/chained-versions.ts";
import type { LoggedWrite } from "../judges/logged-writes.ts";

type LoggedBase = {
  /** Commit timestamps by number of the step; more than one: it was made more than once. */
  readonly steps: Map<number, number[]>;
  /** Whether its last step is made, and all is recorded that it returned. */
  hasEnded: boolean;
  /** Whether somebody has asked for it before it began. */
  isRequested: boolean;
  /** Commits after which nothing of it was to happen any more: it was refused, or cancelled. */
  closings: number;
  /** Timestamps of the commits that released it. */
  readonly releasedAt: number[];
  /** Others that it is to be released after, as its newest record says. */
  dependsOn: readonly string[];
};

export type LoggedBases = ReadonlyMap<string, LoggedBase>;

const recordPrefix = "base#";
const statePrefix = "state#";
const stepPrefix = "step#";
const unheard = { hasEnded: false, isRequested: false, closings: 0 };

/** @param recordsTable where a deployment records its BASE transactions. */
export function basesOf(writes: readonly LoggedWrite[], recordsTable: string): LoggedBases {
  const bases = new Map<string, LoggedBase>();
  const at = (base: string): LoggedBase => {
    const known = bases.get(base);
    if (known !== undefined) return known;
    const fresh = { steps: new Map(), releasedAt: [], dependsOn: [], ...unheard };
    bases.set(base, fresh);
    return fresh;
  };
  for (const { table, item, timestamp } of writes) {
    if (table.name !== recordsTable || item === undefined) continue;
    // What is cleaned away is put again, with the time at which it expires; so is what is closed.
    if (baseExpiryAttribute in item && !isClosed(item)) continue;
    const pk = textOf(item, "pk");
    if (pk.startsWith(statePrefix)) {
      if (textOf(item, "phase") === "released") {
        at(pk.slice(statePrefix.length)).releasedAt.push(timestamp);
      }
    } else if (pk.startsWith(recordPrefix)) {
      note(at(pk.slice(recordPrefix.length)), item, timestamp);
    }
  }
  return bases;
}

function note(base: LoggedBase, item: Item, timestamp: number): void {
  const sort = textOf(item, "sk");
  if (sort.startsWith(stepPrefix)) {
    const number = Number(sort.slice(stepPrefix.length));
    base.steps.set(number, [...(base.steps.get(number) ?? []), timestamp]);
    return;
  }
  base.hasEnded ||= textOf(item, "phase") === "ended";
  base.isRequested ||= textOf(item, "phase") === "requested";
  if (isClosed(item)) base.closings += 1;
  const dependsOn = attribute(item, "dependsOn");
  const others = dependsOn !== undefined && "L" in dependsOn ? dependsOn.L : [];
  base.dependsOn = others.flatMap((each) => ("S" in each ? [each.S] : []));
}

/** It never began, and never will. */
function isClosed(item: Item): boolean {
  return ["refused", "cancelled"].includes(textOf(item, "phase"));
}

function textOf(item: Item, name: string): string {
  const value = attribute(item, name);
  return value !== undefined && "S" in value ? value.S : "";
}

/** Steps and BASE transactions of a history with the timestamps that the log has of them. */
export function withBaseTimes(
  transactions: readonly HistoryTransaction[],
  bases: LoggedBases,
  logged: readonly LoggedVersions[],
): readonly HistoryTransaction[] {
  const times = new Map(
    logged.flatMap(({ versions }) => versions.map((each) => [each.version, each.timestamp])),
  );
  return transactions.map((transaction) => {
    const { kind, id, status, parent, step, ops } = transaction;
    if (status === "abort") return transaction;
    if (kind === "base") {
      const [commitTs] = bases.get(id)?.releasedAt ?? [];
      return commitTs === undefined ? transaction : { ...transaction, commitTs };
    }
    if (parent === undefined || step === undefined) return transaction;
    const [commitTs] = bases.get(parent)?.steps.get(step) ?? [];
    const writes = ops.filter(isWrite);
    const isThis = writes.some(([, , version]) => times.get(version) === commitTs);
    const isLogged = writes.length === 0 ? status === "commit" : isThis;
    return commitTs === undefined || !isLogged ? transaction : { ...transaction, commitTs };
  });
}

/** What is wrong with them when all is over. */
export function unfinishedBases(bases: LoggedBases): readonly string[] {
  return Array.from(bases, ([base, logged]) => findingsOf(base, logged, bases)).flat();
}

function findingsOf(base: string, logged: LoggedBase, bases: LoggedBases): readonly string[] {
  const { steps, hasEnded, releasedAt, dependsOn, isRequested, closings } = logged;
  if (closings > 1) return [`BASE: ${base} was refused or cancelled ${closings} times`];
  if (closings > 0) {
    return steps.size === 0 ? [] : [`BASE: ${base} was refused or cancelled, and has made steps`];
  }
  if (isRequested && steps.size === 0) {
    return [`BASE: ${base} was requested, and nothing has become of it`];
  }
  const findings: string[] = [];
  for (const [number, { length }] of steps) {
    if (length > 1) findings.push(`BASE: step ${number} of ${base} was made ${length} times`);
    if (!steps.has(number - 1) && number > 1) {
      findings.push(`BASE: step ${number} of ${base} was made without the one before it`);
    }
  }
  if (!hasEnded) findings.push(`BASE: ${base} was accepted, and has not ended`);
  if (releasedAt.length !== 1) {
    findings.push(`BASE: ${base} was released ${releasedAt.length} times`);
  }
  const [released] = releasedAt;
  for (const other of dependsOn) {
    const [before] = bases.get(other)?.releasedAt ?? [];
    if (released === undefined || (before !== undefined && before <= released)) continue;
    findings.push(`BASE: ${base} was released before ${other}, which it depends on`);
  }
  return findings;
}
