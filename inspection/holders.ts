/**
 * BASE transactions that hold one item: what others of it wait for. As `bases.ts` by their locks
 * and records as far as these are installed, so that it is seen also where a log stands still.
 */
import { systemDigest } from "../aws/system-digest.ts";
import { takesBase } from "../core/base-tables.ts";
import { CorruptDataError } from "../core/errors.ts";
import type { Item, TableDescription } from "../core/types.ts";
import { partsOf } from "../engine/base/base-name.ts";
import { stateKey, toState } from "../engine/base/base-state.ts";
import { headKey, stepKey, toHead, toStep } from "../engine/base/record.ts";
import {
  lockPlace,
  readPartition,
  toReadLock,
  toWriteLock,
  writeLockKey,
} from "../engine/base/saline-locks.ts";
import { ifAllowed, type Allowed } from "./allowed.ts";
import { itemsIn, recordsTable, type SeenBase } from "./bases.ts";
import type { Deployment } from "./deployment.ts";
import * as limits from "./limits.ts";

export type Holder = {
  readonly name: string;
  readonly id: string;
  /** Who reads it waits for one that has written it; who writes it, for both. */
  readonly does: "wrote" | "read";
  /** Undefined: its record is not installed yet, or damaged. */
  readonly open:
    | (Pick<SeenBase, "phase" | "startedMs"> & {
        /** That it has made last, from 1. */
        readonly step: { readonly number: number; readonly name: string | undefined };
      })
    | undefined;
};

export type Holders = {
  /** Those that have written it first. */
  readonly holders: readonly Holder[];
  /** Of more than `limits.holdersMax` the others are counted. */
  readonly more: number;
};

const unheld: Holders = { holders: [], more: 0 };

type Where = Pick<Deployment, "ports" | "registry">;
type Asked = { readonly table: TableDescription; readonly key: Item };

/** `denied`: no right to read the table of their records. */
export async function holdersOf(deployment: Where, asked: Asked): Promise<Allowed<Holders>> {
  const records = recordsTable(deployment);
  if (records === undefined || !takesBase(asked.table)) return unheld;
  return ifAllowed(() => look(deployment, records, asked));
}

async function look(
  deployment: Where,
  records: TableDescription,
  { table, key }: Asked,
): Promise<Holders> {
  const { items } = deployment.ports;
  const place = lockPlace(systemDigest, table, key);
  const lock = (await items.get(records, writeLockKey(place))).item;
  const written = lock === undefined ? [] : toWriteLock(lock).holds.map(({ base }) => base);
  const reads = await itemsIn(deployment, records, { partition: readPartition(place.partition) });
  const read = reads
    .map(toReadLock)
    .filter(({ sorts, all }) => all || sorts.has(place.sort))
    .map(({ base }) => base);
  const bases = [...new Set([...written, ...read])];
  // Void locks stay for a while.
  const states = await items.batchGet(
    bases.map((base) => ({ table: records, key: stateKey(base) })),
  );
  const open = bases.filter((base, at) => toState(base, states[at]?.item).phase !== "released");
  const shown = open.slice(0, limits.holdersMax);
  const holders = shown.map(async (base): Promise<Holder> => {
    const does = written.includes(base) ? "wrote" : "read";
    return { ...partsOf(base), does, open: await openOf(deployment, records, base) };
  });
  return { holders: await Promise.all(holders), more: open.length - shown.length };
}

async function openOf(
  { ports: { items } }: Where,
  table: TableDescription,
  base: string,
): Promise<Holder["open"]> {
  try {
    const { item } = await items.get(table, headKey(base));
    if (item === undefined) return undefined;
    const { phase, startedMs, steps: number } = toHead(item);
    const step = (await items.get(table, stepKey(base, number))).item;
    const name = step === undefined ? undefined : toStep(step)?.name;
    return { phase, startedMs, step: { number, name } };
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return undefined;
  }
}
