/**
 * The order of each key's versions: as the stores have it if somebody has written that down, else
 * by the commit timestamps of the writers, else as far as read-modify-writes tell. What is in the
 * stores and should not be, and what is not and should, is found on the way.
 */
import { assert } from "../../core/assert.ts";
import type { History } from "../history/types.ts";
import type { Findings } from "./findings.ts";
import { keyAt, memberAt, nothing, versionAt, type Model } from "./model.ts";

/** A version that took effect. */
export type Entry = {
  readonly member: number;
  readonly version: number;
  readonly isDeletion: boolean;
};

export type KeyOrder = {
  /**
   * Each in order. The first one begins where the key's history begins; the others lie somewhere
   * after that beginning, nobody knows where. Usually there is one.
   */
  readonly segments: readonly (readonly Entry[])[];
  /** Whether all deletions that took effect, or may have, stand in the segments. */
  readonly deletionsKnown: boolean;
  /** Whether a deletion of unknown outcome may lie anywhere, within a segment as well. */
  readonly maybeDeleted?: boolean;
};

export function versionOrders(
  model: Model,
  history: History,
  findings: Findings,
): readonly KeyOrder[] {
  const writers = writersByKey(model);
  const listed = new Map<number, readonly string[]>();
  for (const { key, versions } of history.versionOrder ?? []) {
    const number = model.keyNumbers.get(key);
    if (number !== undefined && !listed.has(number)) listed.set(number, versions);
    else if (number !== undefined) findings.add("duplicate", [], `two orders of ${key} are given`);
    else if (versions.length > 0) {
      findings.add(
        "dirty write",
        [],
        `${key} holds ${versions.join(", ")}, and nobody wrote to it`,
      );
    }
  }
  const orders = model.keys.map((_key, key) => {
    const { entries, maybeDeleted } = writers[key] ?? { entries: [], maybeDeleted: false };
    const names = listed.get(key);
    const order =
      names === undefined
        ? inferredOrder(model, { entries, maybeDeleted }, findings)
        : listedOrder(model, { key, entries, names }, findings);
    return maybeDeleted ? { ...order, deletionsKnown: false, maybeDeleted } : order;
  });
  judgeFinalState(model, orders, { history, findings });
  return orders;
}

type Writers = { readonly entries: Entry[]; maybeDeleted: boolean };

/** Entries of a key in the order of the file, those that state the beginning first. */
function writersByKey(model: Model): readonly Writers[] {
  const byKey: Writers[] = model.keys.map(() => ({ entries: [], maybeDeleted: false }));
  const enter = (isInitial: boolean): void => {
    model.members.forEach(({ transaction, takesEffect, writes }, member) => {
      if ((transaction.kind === "init") !== isInitial) return;
      for (const [key, version] of writes) {
        const { isDeletion } = versionAt(model, version);
        const writers = byKey[key];
        assert(writers !== undefined, "checker: every key has writers");
        if (takesEffect) writers.entries.push({ member, version, isDeletion });
        else if (isDeletion && transaction.status === "unknown") writers.maybeDeleted = true;
      }
    });
  };
  enter(true);
  enter(false);
  return byKey;
}

function listedOrder(
  model: Model,
  given: {
    readonly key: number;
    readonly entries: readonly Entry[];
    readonly names: readonly string[];
  },
  findings: Findings,
): KeyOrder {
  const { key, entries, names } = given;
  const order: Entry[] = [];
  const present = new Set<number>();
  for (const name of names) {
    const version = model.versionNumbers.get(name);
    const facts = version === undefined ? undefined : model.versions[version];
    if (version === undefined || facts?.key !== key) {
      findings.add(
        "dirty write",
        [],
        `${keyAt(model, key)} held ${name}, which nobody wrote to it`,
      );
      continue;
    }
    const { transaction, takesEffect } = memberAt(model, facts.member);
    if (!takesEffect) {
      const problem = `${keyAt(model, key)} held ${name}, though ${transaction.id} aborted`;
      findings.add("dirty write", [transaction.id], problem);
      continue;
    }
    if (present.has(version)) {
      findings.add("duplicate", [transaction.id], `${keyAt(model, key)} held ${name} twice`);
      continue;
    }
    present.add(version);
    const { member, isDeletion } = facts;
    // A transaction's versions that stand together are one; apart they let others in between.
    if (order.at(-1)?.member === member) order.pop();
    order.push({ member, version, isDeletion });
  }
  const missing = entries.filter(({ version }) => !present.has(version));
  for (const { member, version, isDeletion } of missing) {
    const { transaction } = memberAt(model, member);
    if (isDeletion || transaction.kind === "init") continue;
    const name = versionAt(model, version).name;
    const problem = `${transaction.id} wrote ${keyAt(model, key)} = ${name} and was ${
      transaction.status === "commit" ? "acknowledged" : "committed in part"
    }, but the order of versions has nothing of it`;
    findings.add("lost write", [transaction.id], problem);
  }
  const initial = missing.filter(({ member }) => kindOf(model, member) === "init");
  const deletions = missing.filter(
    ({ member, isDeletion }) => isDeletion && kindOf(model, member) !== "init",
  );
  return withDeletions(model, [...initial, ...order], deletions);
}

function kindOf(model: Model, member: number): string {
  return memberAt(model, member).transaction.kind;
}

/**
 * Stores do not know deletions by name: their place follows from timestamps, or from what the
 * deleter had read.
 */
function withDeletions(
  model: Model,
  order: readonly Entry[],
  deletions: readonly Entry[],
): KeyOrder {
  let deletionsKnown = true;
  // What comes directly after the entry of that index; -1: before the first one.
  const after = new Map<number, Entry[]>();
  const indexOf = new Map(order.map(({ version }, i) => [version, i]));
  for (const deletion of inCommitOrder(model, deletions)) {
    const place =
      placeByTimestamp(model, order, deletion) ??
      indexOf.get(readBefore(model, deletion) ?? nothing);
    if (place === undefined) {
      deletionsKnown = false;
      continue;
    }
    const there = after.get(place);
    if (there === undefined) after.set(place, [deletion]);
    else there.push(deletion);
  }
  const all = [...(after.get(-1) ?? [])];
  order.forEach((entry, i) => all.push(entry, ...(after.get(i) ?? [])));
  return { segments: [all], deletionsKnown };
}

/** The index after which the entry belongs; undefined where timestamps do not tell. */
function placeByTimestamp(model: Model, order: readonly Entry[], entry: Entry): number | undefined {
  if (commitTsOf(model, entry) === undefined) return undefined;
  const isBelow = (other: Entry): boolean | undefined => {
    if (kindOf(model, other.member) === "init") return true;
    if (commitTsOf(model, other) === undefined) return undefined;
    return compareCommits(model, other.member, entry.member) < 0;
  };
  const below = order.findLastIndex((each) => isBelow(each) === true);
  const next = order[below + 1];
  return next === undefined || isBelow(next) === false ? below : undefined;
}

function inCommitOrder(model: Model, entries: readonly Entry[]): Entry[] {
  return [...entries].sort((a, b) => compareCommits(model, a.member, b.member));
}

/** By timestamp, and among those that were committed as one by place. */
function compareCommits(model: Model, left: number, right: number): number {
  const a = memberAt(model, left).transaction;
  const b = memberAt(model, right).transaction;
  return (a.commitTs ?? 0) - (b.commitTs ?? 0) || (a.place ?? 0) - (b.place ?? 0);
}

function commitTsOf(model: Model, { member }: Entry): number | undefined {
  return memberAt(model, member).transaction.commitTs;
}

/** The version that the writer of an entry had read of its key; undefined if it had read none. */
function readBefore(model: Model, { member, version }: Entry): number | undefined {
  const { key } = versionAt(model, version);
  return memberAt(model, member).reads.get(key);
}

function inferredOrder(
  model: Model,
  { entries, maybeDeleted }: Writers,
  findings: Findings,
): KeyOrder {
  const initial = entries.filter(({ member }) => kindOf(model, member) === "init");
  const others = entries.filter(({ member }) => kindOf(model, member) !== "init");
  const timed = others.filter((entry) => commitTsOf(model, entry) !== undefined);
  const sorted = inCommitOrder(model, timed);
  sorted.forEach((entry, i) => {
    const before = sorted[i - 1];
    const timestamp = commitTsOf(model, entry);
    if (before === undefined || compareCommits(model, before.member, entry.member) !== 0) return;
    const ids = [before, entry].map(({ member }) => memberAt(model, member).transaction.id);
    findings.add("duplicate", ids, `${ids.join(" and ")} both committed at ${timestamp ?? ""}`);
  });
  if (timed.length === others.length) {
    return { segments: [[...initial, ...sorted]], deletionsKnown: true };
  }
  const unplaced = others.filter((entry) => commitTsOf(model, entry) === undefined);
  return new Linking(model, [...initial, ...sorted], { unplaced, maybeDeleted }).order();
}

/**
 * Whoever read a version and then wrote the key follows that version directly, or has lost an
 * update, and then any order shows a cycle. So read-modify-writes link versions to chains; what
 * hangs on the known ones is known, the rest are segments.
 */
class Linking {
  readonly #model: Model;
  readonly #known: readonly Entry[];
  readonly #unplaced: ReadonlyMap<number, Entry>;
  readonly #hasDeletions: boolean;
  /** Unplaced entries by the version that their writers had read. */
  readonly #followers = new Map<number, Entry[]>();
  readonly #placed = new Set<Entry>();

  /** @param of `maybeDeleted`: a deletion of unknown outcome may stand between. */
  constructor(
    model: Model,
    known: readonly Entry[],
    of: { readonly unplaced: readonly Entry[]; readonly maybeDeleted: boolean },
  ) {
    const { unplaced, maybeDeleted } = of;
    this.#model = model;
    this.#known = known;
    this.#unplaced = new Map(unplaced.map((entry) => [entry.version, entry]));
    this.#hasDeletions =
      maybeDeleted || [...known, ...unplaced].some(({ isDeletion }) => isDeletion);
    for (const entry of unplaced) {
      const version = this.#followed(entry);
      if (version === undefined) continue;
      const list = this.#followers.get(version);
      if (list === undefined) this.#followers.set(version, [entry]);
      else list.push(entry);
    }
  }

  order(): KeyOrder {
    const first = this.#followers.get(nothing) ?? [];
    const beginning = this.#chain([...first, ...this.#known]);
    const segments: Entry[][] = [];
    const unplaced = Array.from(this.#unplaced.values());
    const heads = unplaced.filter((entry) => {
      const version = this.#followed(entry);
      return version === undefined || !this.#unplaced.has(version);
    });
    for (const entry of [...heads, ...unplaced]) {
      if (!this.#placed.has(entry)) segments.push(this.#chain([entry]));
    }
    const [only] = segments;
    const isInitial = beginning.every(({ member }) => kindOf(this.#model, member) === "init");
    // One segment after nothing but the beginning follows it directly.
    if (only !== undefined && segments.length === 1 && isInitial) {
      return { segments: [[...beginning, ...only]], deletionsKnown: true };
    }
    return { segments: [beginning, ...segments], deletionsKnown: segments.length === 0 };
  }

  /** The version that the entry directly follows. A read of nothing may follow any deletion. */
  #followed(entry: Entry): number | undefined {
    const version = readBefore(this.#model, entry);
    return version === nothing && this.#hasDeletions ? undefined : version;
  }

  #chain(start: readonly Entry[]): Entry[] {
    const chain: Entry[] = [];
    const deferred = new Set<Entry>();
    // A stack: what hangs on an entry comes directly before or after it.
    const open = [...start].reverse();
    for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
      if (this.#placed.has(entry)) continue;
      const before = this.#unplaced.get(this.#followed(entry) ?? nothing);
      if (before !== undefined && !this.#placed.has(before) && !deferred.has(entry)) {
        deferred.add(entry);
        open.push(entry, before);
        continue;
      }
      this.#placed.add(entry);
      chain.push(entry);
      open.push(...(this.#followers.get(entry.version) ?? []).toReversed());
    }
    return chain;
  }
}

function judgeFinalState(
  model: Model,
  orders: readonly KeyOrder[],
  { history, findings }: { readonly history: History; readonly findings: Findings },
): void {
  for (const { key: name, version } of history.finalState ?? []) {
    const key = model.keyNumbers.get(name);
    const order = key === undefined ? undefined : orders[key];
    if (order === undefined) {
      if (version !== null) {
        findings.add("dirty write", [], `${name} ended as ${version}, and nobody wrote to it`);
      }
      continue;
    }
    judgeEnd(model, order, { name, version, findings });
  }
}

function judgeEnd(
  model: Model,
  { segments, deletionsKnown }: KeyOrder,
  end: { readonly name: string; readonly version: string | null; readonly findings: Findings },
): void {
  const { name, version, findings } = end;
  const lasts = segments.map((segment) => segment.at(-1));
  const last = lasts[0];
  if (version === null) {
    if (!deletionsKnown || lasts.some((entry) => entry === undefined || entry.isDeletion)) return;
    const { transaction } = memberAt(model, last?.member ?? 0);
    const problem = `${name} ended as nothing, though ${transaction.id} was the last to write it`;
    findings.add("lost write", [transaction.id], problem);
    return;
  }
  const number = model.versionNumbers.get(version);
  if (lasts.some((entry) => entry?.version === number && number !== undefined)) return;
  const facts = number === undefined ? undefined : model.versions[number];
  if (facts === undefined || model.keys[facts.key] !== name) {
    findings.add("dirty write", [], `${name} ended as ${version}, which nobody wrote to it`);
    return;
  }
  const { transaction, takesEffect } = memberAt(model, facts.member);
  if (!takesEffect) {
    const problem = `${name} ended as ${version}, though ${transaction.id} aborted`;
    findings.add("dirty write", [transaction.id], problem);
    return;
  }
  if (!facts.isFinal || segments.length > 1 || last === undefined) return;
  const winner = memberAt(model, last.member).transaction;
  const instead = last.isDeletion
    ? `its deletion by ${winner.id}`
    : versionAt(model, last.version).name;
  const problem =
    `${name} ended as ${version} of ${transaction.id}, but the last in order is ` + instead;
  findings.add("final-state mismatch", [transaction.id, winner.id], problem);
}
