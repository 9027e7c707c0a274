/**
 * Transactions that were committed as one leave one version of each item in the log: the last. The
 * others are known to their clients only. Here they are put where they belong, so that the checker
 * can judge what was read and written within such a commit like everything else.
 *
 * Only what a later member has replaced is put in: a version that should be in the log and is not
 * stays missing, and is found as a lost write.
 */
import type { HistoryTransaction, VersionOrder } from "./types.ts";

/** One key's versions as the log has them, with the timestamps of their commits; oldest first. */
export type LoggedVersions = {
  readonly key: string;
  readonly versions: readonly { readonly version: string; readonly timestamp: number }[];
  /** Timestamps of the commits that delete the key: a deletion has no name in the log. */
  readonly deletedAt: readonly number[];
};

/** Those who were committed at one timestamp, in order. */
type Group = readonly HistoryTransaction[];

/** What a member left of a key. */
type Left = {
  /** Undefined: nothing. The checker finds the place of a deletion. */
  readonly version: string | undefined;
  /** Undefined for one whose client never told. */
  readonly place: number | undefined;
};

/**
 * The order of every key's versions, of transactions that were committed as one in the order of
 * their places.
 */
export function withChainedVersions(
  logged: readonly LoggedVersions[],
  all: readonly HistoryTransaction[],
): readonly VersionOrder[] {
  // Native operations are in no commit.
  const transactions = all.filter(({ kind }) => kind !== "native");
  const writers = writersByVersion(transactions);
  const groups = groupsOf(commitTimestamps(logged, transactions, writers), writers);
  const groupsByKey = new Map<string, Map<number, Group>>();
  for (const [timestamp, group] of groups) {
    for (const [kind, key] of group.flatMap(({ ops }) => ops)) {
      if (kind === "r") continue;
      const ofKey = groupsByKey.get(key) ?? new Map<number, Group>();
      groupsByKey.set(key, ofKey.set(timestamp, group));
    }
  }
  const orders = new Map(logged.map(({ key, versions }) => [key, versions]));
  return Array.from(new Set([...orders.keys(), ...groupsByKey.keys()]), (key) => ({
    key,
    versions: versionsOf(key, orders.get(key) ?? [], groupsByKey.get(key) ?? new Map()),
  })).filter(({ versions }) => versions.length > 0);
}

/**
 * When each transaction was committed: as its client was told, or as the log says of what it wrote.
 * Of one whose outcome nobody knows, and of which the log has nothing, somebody may tell who read
 * what it wrote: a version that is not in the log is read by members of the same commit only. Or it
 * did nothing but delete, also what such a commit's member wrote, and the log has that.
 */
function commitTimestamps(
  logged: readonly LoggedVersions[],
  transactions: readonly HistoryTransaction[],
  writers: ReadonlyMap<string, HistoryTransaction>,
): ReadonlyMap<HistoryTransaction, number> {
  const inLog = new Set<string>();
  const timestamps = new Map<HistoryTransaction, number>();
  const unknown = transactions.filter(({ status }) => status === "unknown");
  const deletions = new LoggedDeletions(logged);
  const open: HistoryTransaction[] = [];
  const note = (transaction: HistoryTransaction | undefined, timestamp: number): void => {
    if (transaction === undefined || transaction.status === "abort") return;
    if (timestamps.has(transaction)) return;
    timestamps.set(transaction, timestamp);
    open.push(transaction);
  };
  for (const transaction of transactions) {
    if (transaction.commitTs !== undefined) note(transaction, transaction.commitTs);
  }
  for (const { version, timestamp } of logged.flatMap(({ versions }) => versions)) {
    inLog.add(version);
    note(writers.get(version), timestamp);
  }
  for (let reader = open.pop(); reader !== undefined; reader = open.pop()) {
    const timestamp = timestamps.get(reader) ?? 0;
    for (const [kind, , version] of reader.ops) {
      if (kind !== "r" || version === null || inLog.has(version)) continue;
      const writer = writers.get(version);
      if (writer?.status === "unknown" && writer.process === reader.process) {
        note(writer, timestamp);
      }
    }
    const deleted = new Set(writtenKeys(reader).filter((key) => deletions.isAt(key, timestamp)));
    if (deleted.size === 0) continue;
    for (const other of unknown) {
      const writes = other.ops.filter(([kind]) => kind !== "r");
      const readHere = ([kind, , version]: HistoryTransaction["ops"][number]): boolean => {
        const writer = kind === "r" && version !== null ? writers.get(version) : undefined;
        return writer !== undefined && timestamps.get(writer) === timestamp;
      };
      if (
        other.process === reader.process &&
        writes.some(([, key]) => deleted.has(key)) &&
        writes.every(([kind, key]) => kind === "d" && deletions.isAt(key, timestamp)) &&
        other.ops.some(readHere)
      ) {
        note(other, timestamp);
      }
    }
  }
  return timestamps;
}

function writtenKeys({ ops }: HistoryTransaction): readonly string[] {
  return ops.flatMap(([kind, key]) => (kind === "r" ? [] : [key]));
}

/** Which keys the log deletes at which timestamp. */
class LoggedDeletions {
  readonly #timestamps: ReadonlyMap<string, ReadonlySet<number>>;

  constructor(logged: readonly LoggedVersions[]) {
    this.#timestamps = new Map(logged.map(({ key, deletedAt }) => [key, new Set(deletedAt)]));
  }

  isAt(key: string, timestamp: number): boolean {
    return this.#timestamps.get(key)?.has(timestamp) === true;
  }
}

function writersByVersion(
  transactions: readonly HistoryTransaction[],
): ReadonlyMap<string, HistoryTransaction> {
  const writers = new Map<string, HistoryTransaction>();
  for (const transaction of transactions) {
    for (const [kind, , version] of transaction.ops) {
      if (kind === "w" || kind === "a") writers.set(version, transaction);
    }
  }
  return writers;
}

/** By timestamp. */
function groupsOf(
  timestamps: ReadonlyMap<HistoryTransaction, number>,
  writers: ReadonlyMap<string, HistoryTransaction>,
): ReadonlyMap<number, Group> {
  const groups = new Map<number, HistoryTransaction[]>();
  for (const [transaction, timestamp] of timestamps) {
    const group = groups.get(timestamp);
    if (group === undefined) groups.set(timestamp, [transaction]);
    else group.push(transaction);
  }
  for (const [timestamp, group] of groups) {
    if (group.length < 2) groups.delete(timestamp);
    else groups.set(timestamp, inOrder(group, writers));
  }
  return groups;
}

/**
 * Those whose place is known by place; the others after all that they have read from, as early as
 * can be.
 */
function inOrder(
  group: Group,
  writers: ReadonlyMap<string, HistoryTransaction>,
): HistoryTransaction[] {
  const order = group
    .filter((each) => placeOf(each) !== undefined)
    .sort((a, b) => (placeOf(a) ?? 0) - (placeOf(b) ?? 0));
  const open = new Set(
    group.filter((each) => placeOf(each) === undefined).sort((a, b) => a.end - b.end),
  );
  let first = 0;
  while (open.size > 0) {
    const candidates = Array.from(open, (transaction) => ({
      transaction,
      readFrom: transaction.ops.flatMap(([kind, , version]) => {
        const writer = kind === "r" && version !== null ? writers.get(version) : undefined;
        return writer === undefined || writer === transaction ? [] : [writer];
      }),
    }));
    // In a circle of reads, which is for the checker to find, anybody may be the first.
    const next =
      candidates.find(({ readFrom }) => !readFrom.some((each) => open.has(each))) ?? candidates[0];
    if (next === undefined) break;
    const after = Math.max(...next.readFrom.map((each) => order.indexOf(each)), -1);
    order.splice(after < 0 ? first : after + 1, 0, next.transaction);
    if (after < 0) first += 1;
    open.delete(next.transaction);
  }
  return order;
}

function placeOf({ commitTs, place = 0 }: HistoryTransaction): number | undefined {
  return commitTs === undefined ? undefined : place;
}

function versionsOf(
  key: string,
  logged: LoggedVersions["versions"],
  groups: ReadonlyMap<number, Group>,
): readonly string[] {
  const inLog = new Set(logged.map(({ version }) => version));
  const replaced = Array.from(groups, ([timestamp, group]) => ({
    ...{ timestamp, rank: 0 },
    versions: replacedIn(key, group, inLog),
  }));
  // What the log has of a commit comes after what was replaced in it.
  const left = logged.map(({ timestamp, version }) => ({
    ...{ timestamp, rank: 1 },
    versions: [version],
  }));
  return [...replaced, ...left]
    .sort((a, b) => a.timestamp - b.timestamp || a.rank - b.rank)
    .flatMap(({ versions }) => versions);
}

/** The versions that members of a commit left and later members replaced, in order. */
function replacedIn(key: string, group: Group, inLog: ReadonlySet<string>): readonly string[] {
  const all = group.flatMap((member) => leftBy(member, key) ?? []);
  const isLogged = ({ version }: Left): boolean => version !== undefined && inLog.has(version);
  // What the commit leaves is what the log has of it; else somebody has deleted the item in the
  // end.
  const ends = all.some(isLogged)
    ? all.filter(isLogged)
    : all.filter(({ version }) => version === undefined);
  const isReplaced = ({ place }: Left): boolean =>
    ends.some((end) => end.place === undefined || place === undefined || end.place > place);
  return all.flatMap((each) =>
    each.version === undefined || isLogged(each) || !isReplaced(each) ? [] : [each.version],
  );
}

/** Undefined when it did not write the key. */
function leftBy(member: HistoryTransaction, key: string): Left | undefined {
  const last = member.ops.findLast(([kind, name]) => kind !== "r" && name === key);
  if (last === undefined) return undefined;
  const version = last[0] === "d" ? undefined : (last[2] ?? undefined);
  return { version, place: placeOf(member) };
}
