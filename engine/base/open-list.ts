/**
 * The list of BASE transactions that are not over, by which runners and people find them. An entry
 * is put and taken away by the commits that change the record.
 *
 *     pk            sk       what it says
 *     open#<digit>  <base>   that it is asked for, or not released, by which handler, and whether
 *                            it is parked; then, until its locks are taken away, that it is
 *                            released
 */
import { CorruptDataError } from "../../core/errors.ts";
import type { Item } from "../../core/types.ts";
import { count, itemKey, momentOf, numberOf, textOf } from "./attributes.ts";
import { partsOf } from "./base-name.ts";
import type { BaseHead } from "./record.ts";

export type OpenEntry = {
  readonly base: string;
  readonly name: string;
  readonly version: number;
  /** Undefined: it has begun. */
  readonly requestedMs?: number | undefined;
  /** Runners leave it alone, and need not look at its record. Not said of older ones. */
  readonly isParked?: boolean;
};

export type Listed = {
  readonly open: readonly OpenEntry[];
  readonly released: readonly ReleasedEntry[];
  readonly strange: readonly StrangeEntry[];
};

/** It is released; its locks are not taken away yet, and its record is not left to expire. */
export type ReleasedEntry = { readonly base: string; readonly releasedMs: number };

/** An item of the list that is none of ours. */
export type StrangeEntry = { readonly base: string; readonly cause: unknown };

const digits = "0123456789abcdef";

/** What is open is listed in so many partitions. */
export const openPartitions = Array.from(digits, (digit) => `open#${digit}`);

export function openKey(base: string): Item {
  let sum = 0;
  for (const each of base) sum = (sum * 31 + (each.codePointAt(0) ?? 0)) % 65_521;
  return itemKey(`open#${digits[sum % digits.length] ?? "0"}`, base);
}

export function openItem({ base, name, version, requestedMs, isParked }: OpenEntry): Item {
  return {
    ...openKey(base),
    ...{ name: { S: name }, version: count(version) },
    ...(requestedMs === undefined ? {} : { requestedMs: count(requestedMs) }),
    ...(isParked === true ? { parked: { BOOL: true } } : {}),
  };
}

/** Of one that is not released, as its head says. */
export function entryOf(base: string, { name, version, steps, phase, startedMs }: BaseHead): Item {
  const requestedMs = steps === 0 ? startedMs : undefined;
  return openItem({ base, name, version, requestedMs, isParked: phase === "parked" });
}

export function releasedEntryItem({ base, releasedMs }: ReleasedEntry): Item {
  return { ...openKey(base), releasedMs: count(releasedMs) };
}

/** Undefined of one that is not released. */
export function toReleasedEntry(item: Item): ReleasedEntry | undefined {
  if (item["releasedMs"] === undefined) return undefined;
  return { base: textOf(item, "sk"), releasedMs: momentOf(item, "releasedMs") };
}

/** What is listed; one strange item hides none of the others. */
export function toListed(items: readonly Item[]): Listed {
  const open: OpenEntry[] = [];
  const released: ReleasedEntry[] = [];
  const strange: StrangeEntry[] = [];
  for (const item of items) {
    try {
      const [over, entry] = [toReleasedEntry(item), toOpen(item)];
      if (over !== undefined) released.push(over);
      if (entry !== undefined) open.push(entry);
    } catch (cause) {
      if (!(cause instanceof CorruptDataError)) throw cause;
      strange.push({ base: textOf(item, "sk"), cause });
    }
  }
  return { open, released, strange };
}

/** Those that have begun, and then those asked for longest ago. */
export function byAge(a: OpenEntry, b: OpenEntry): number {
  return (a.requestedMs ?? 0) - (b.requestedMs ?? 0);
}

/** First what nobody goes on with. */
function inOrderOfCare(a: OpenEntry, b: OpenEntry): number {
  return Number(b.isParked === true) - Number(a.isParked === true) || byAge(a, b);
}

export type Wanted = {
  /** So many are open; of these some are not looked at. */
  readonly count: number;
  readonly looked: readonly OpenEntry[];
  readonly strange: readonly StrangeEntry[];
};

/**
 * What whoever lists them looks at.
 * @param wish.name of their handler; undefined: of any.
 * @param wish.lookedAtMax undefined: all of them.
 */
export function wantedOf(
  { open, strange }: Listed,
  wish: { readonly name: string | undefined; readonly lookedAtMax: number | undefined },
): Wanted {
  const isWanted = (name: string): boolean => wish.name === undefined || name === wish.name;
  const wanted = open.filter(({ name }) => isWanted(name)).sort(inOrderOfCare);
  return {
    count: wanted.length,
    looked: wanted.slice(0, wish.lookedAtMax),
    strange: strange.filter(({ base }) => isWanted(partsOf(base).name)),
  };
}

/** @throws CorruptDataError where its item in the list is none of ours. */
export function assertListable(item: Item): void {
  toReleasedEntry(item);
  toOpen(item);
}

/** Undefined of one that is released. */
function toOpen(item: Item): OpenEntry | undefined {
  if (item["releasedMs"] !== undefined) return undefined;
  const isRequested = item["requestedMs"] !== undefined;
  return {
    base: textOf(item, "sk"),
    name: textOf(item, "name"),
    version: numberOf(item, "version"),
    requestedMs: isRequested ? momentOf(item, "requestedMs") : undefined,
    isParked: item["parked"] !== undefined,
  };
}
