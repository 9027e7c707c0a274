/**
 * BASE transactions as their records tell, as far as these are installed: no log is asked, so that
 * they are seen also where one stands still.
 */
import { systemClock } from "../aws/system.ts";
import { baseRecordsTable, takesBase } from "../core/base-tables.ts";
import { CorruptDataError, InvalidRequestError } from "../core/errors.ts";
import type { Item, TableDescription } from "../core/types.ts";
import { stateKey, toState } from "../engine/base/base-state.ts";
import { retryAtMsOf } from "../engine/base/failures.ts";
import { assertListable, openKey, wantedOf } from "../engine/base/open-list.ts";
import {
  recordedIn,
  recordPartition,
  type BaseHead,
  type LookedAt,
  type ShownHead,
  type StepRecord,
} from "../engine/base/record.ts";
import { baseOf, partsOf, type NamedBase } from "../engine/base/base-name.ts";
import { queryOf, type PartitionRange } from "../engine/base/records.ts";
import { listedIn, lookedAt, lookedAtInTime } from "../engine/base/unreadable.ts";
import * as limits from "./limits.ts";
import type { Deployment } from "./deployment.ts";

/** One of them. */
export type SeenBase = Pick<
  BaseHead,
  | "name"
  | "version"
  | "steps"
  | "startedMs"
  | "lastMs"
  | "failures"
  | "failingSinceMs"
  | "failure"
  | "dependsOn"
  | "refusal"
> & {
  readonly id: string;
  /**
   * `damaged`: `failure` says which item of it no release up to this one has written.
   * `ended`: waits for those that it depends on;
   * `released`: all see what it has written.
   */
  readonly phase: BaseHead["phase"] | "released" | "damaged";
  /** Before that no runner tries it again: its handler has failed. Undefined: it does not rest. */
  readonly retryAtMs?: number | undefined;
};

export type SeenBases = {
  /** The oldest first. */
  readonly bases: readonly SeenBase[];
  /** So many are open; of those beyond `limits.basesMax` and `basesLookMs` nothing is told. */
  readonly all: number;
};

/** Whether somebody has to do something about it. */
export function isStuck({ phase }: Pick<SeenBase, "phase">): boolean {
  return phase === "parked" || phase === "damaged";
}

/** Whether a runner with its handler would have been at it by now, had there been one. */
export function isLeft(
  {
    phase,
    startedMs,
    lastMs,
    retryAtMs = 0,
  }: Pick<SeenBase, "phase" | "startedMs" | "lastMs" | "retryAtMs">,
  nowMs: number,
): boolean {
  // What has failed rests until then, and nobody has to be at it.
  const heardMs = Math.max(lastMs, retryAtMs);
  if (phase === "running") return nowMs - heardMs > limits.baseLeftMs;
  return phase === "requested" && nowMs - Math.max(startedMs, heardMs) > limits.baseLeftMs;
}

type Where = Pick<Deployment, "ports" | "registry">;

export function takesBases({ registry }: Pick<Deployment, "registry">): boolean {
  return registry.tables.some(takesBase);
}

/** Undefined: the registry has none. */
export function recordsTable({ ports, registry }: Where): TableDescription | undefined {
  const name = baseRecordsTable(ports.names.controlTable);
  return registry.tables.find((table) => table.name === name);
}

/** Those that are not released. @param name of their handler; undefined: of any. */
export async function openBases(deployment: Where, name?: string): Promise<SeenBases> {
  const table = recordsTable(deployment);
  if (table === undefined) return { bases: [], all: 0 };
  const { items } = deployment.ports;
  const listed = await listedIn((range) => itemsIn(deployment, table, range));
  const { looked, strange, count } = wantedOf(listed, { name, lookedAtMax: limits.basesMax });
  const versions = new Map(looked.map(({ base, version }) => [base, version]));
  // Of some the first step is on its way there.
  const look = (some: readonly string[]): Promise<readonly LookedAt[]> =>
    lookedAt(some, async (keys) => {
      const found = await items.batchGet(keys.map((key) => ({ table, key })));
      return found.map(({ item }) => item);
    });
  const untilMs = systemClock.monotonicMs() + limits.basesLookMs;
  const isOver = (): boolean => systemClock.monotonicMs() >= untilMs;
  const { heads } = await lookedAtInTime([...versions.keys()], look, isOver);
  const bases = heads.map((each) => {
    if ("head" in each) return seen(each.base, each.head);
    return damagedBase(each.base, versions.get(each.base) ?? 0, each.cause);
  });
  const strangers = strange.map(({ base, cause }) => damagedBase(base, 0, cause));
  return {
    bases: [...strangers.slice(0, limits.basesMax), ...bases].sort(
      (a, b) => a.startedMs - b.startedMs,
    ),
    all: count + strange.length,
  };
}

function damagedBase(base: string, version: number, cause: unknown): SeenBase {
  const failure = cause instanceof Error ? cause.message : "unknown";
  return {
    ...{ ...partsOf(base), version, phase: "damaged", failure, failures: 0 },
    ...{ steps: 0, startedMs: 0, lastMs: 0, dependsOn: [], refusal: undefined },
  };
}

export type OneBase = SeenBase & { readonly done: readonly StepRecord[] };

/** @throws InvalidRequestError where there is none, or its record has expired. */
export async function oneBase(deployment: Where, of: NamedBase): Promise<OneBase> {
  const base = baseOf(of);
  try {
    const table = recordsTable(deployment);
    // Of one whose item in the list is strange its record may be whole; nobody goes on with it.
    const entry = table && (await deployment.ports.items.get(table, openKey(base))).item;
    if (entry !== undefined) assertListable(entry);
    return await recordedBase(deployment, { base, table });
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return { ...damagedBase(base, 0, error), done: [] };
  }
}

async function recordedBase(
  deployment: Where,
  { base, table }: { readonly base: string; readonly table: TableDescription | undefined },
): Promise<OneBase> {
  const records =
    table === undefined
      ? []
      : await itemsIn(deployment, table, { partition: recordPartition(base) });
  const recorded = recordedIn(records);
  if (table === undefined || recorded === undefined) {
    throw new InvalidRequestError(
      "id",
      `there is no BASE transaction ${base}: it has not begun, or has ended more than a week ago`,
    );
  }
  const { item } = await deployment.ports.items.get(table, stateKey(base));
  const found = seen(base, recorded.head);
  const isReleased = found.phase === "ended" && toState(base, item).phase === "released";
  return { ...found, done: recorded.steps, ...(isReleased ? { phase: "released" } : {}) };
}

function seen(base: string, head: ShownHead): SeenBase {
  const { name, version, steps, phase, startedMs, lastMs, dependsOn, refusal } = head;
  const { failures, failingSinceMs, failure } = head;
  const { id } = partsOf(base);
  const failing = { failures, failingSinceMs, failure, retryAtMs: retryAtMsOf(head) };
  return { id, name, version, steps, phase, startedMs, lastMs, ...failing, dependsOn, refusal };
}

/** All items of a partition of the records table, or of a part of it. */
export async function itemsIn(
  { ports }: Where,
  table: TableDescription,
  range: PartitionRange,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  const query = { ...queryOf(range), table, descending: false };
  for (let startKey = range.behind; ;) {
    const page = await ports.items.query({ ...query, startKey });
    for (const { item } of page.rows) if (item !== undefined) items.push(item);
    startKey = page.lastKey;
    if (startKey === undefined) return items;
  }
}
