/**
 * The definition of what BASE transactions owe to others, executed: ACID transactions and whole
 * BASE transactions can be put in one order in which all conflicts go forward. BASE transactions
 * may share a place, as those do that are released at once; and what one of them has overwritten
 * that another has read counts for nothing. Tries every order; for a handful of transactions.
 */
import { isWrite, type History, type HistoryTransaction } from "../../testing/history/types.ts";

/** `from` comes before `to`, or beside it if both are BASE transactions and it is no time. */
type Before = { readonly from: string; readonly to: string; readonly isTime: boolean };

/** @param history with an order of versions, of committed transactions and without deletions. */
export function areApart(history: History, { strict }: { readonly strict: boolean }): boolean {
  const members = history.transactions.filter(
    ({ kind, status }) => kind !== "base" && status === "commit",
  );
  const nameOf = ({ id, parent }: HistoryTransaction): string => parent ?? id;
  const bases = new Set(members.flatMap(({ parent }) => parent ?? []));
  const before = [
    ...conflictsOf(history, members).flatMap(({ from, to, isMissed }): Before[] => {
      const isAmongBases = bases.has(nameOf(from)) && bases.has(nameOf(to));
      if (nameOf(from) === nameOf(to) || (isMissed && isAmongBases)) return [];
      return [{ from: nameOf(from), to: nameOf(to), isTime: false }];
    }),
    ...(strict ? timesOf(history, members) : []),
  ];
  const names = [...new Set(members.map(nameOf))];
  const search = (left: readonly string[], placed: ReadonlySet<string>): boolean => {
    if (left.length === 0) return true;
    return groupsOf(left, bases).some((group) => {
      const fits = before.every(({ from, to, isTime }) => {
        if (!group.includes(to) || placed.has(from)) return true;
        return group.includes(from) && !isTime;
      });
      if (!fits) return false;
      const rest = left.filter((name) => !group.includes(name));
      return search(rest, new Set([...placed, ...group]));
    });
  };
  return search(names, new Set());
}

/** What may stand at one place: one ACID transaction, or some BASE transactions. */
function groupsOf(left: readonly string[], bases: ReadonlySet<string>): readonly string[][] {
  const groups: string[][] = left.filter((name) => !bases.has(name)).map((name) => [name]);
  let some: string[][] = [[]];
  for (const name of left.filter((each) => bases.has(each))) {
    some = some.flatMap((group) => [group, [...group, name]]);
  }
  return [...groups, ...some.filter((group) => group.length > 0)];
}

type Conflict = {
  readonly from: HistoryTransaction;
  readonly to: HistoryTransaction;
  readonly isMissed: boolean;
};

function conflictsOf(
  { versionOrder = [] }: History,
  members: readonly HistoryTransaction[],
): readonly Conflict[] {
  const writers = new Map(
    members.flatMap((member) =>
      member.ops.filter(isWrite).map(([, , version]) => [version, member] as const),
    ),
  );
  const conflicts: Conflict[] = [];
  const add = (
    from: HistoryTransaction | undefined,
    to: HistoryTransaction | undefined,
    isMissed: boolean,
  ): void => {
    if (from !== undefined && to !== undefined && from !== to) {
      conflicts.push({ from, to, isMissed });
    }
  };
  for (const { key, versions } of versionOrder) {
    versions.forEach((version, i) => {
      add(writers.get(versions[i - 1] ?? ""), writers.get(version), false);
    });
    for (const reader of members) {
      const [, , version] = reader.ops.find(([, name]) => name === key) ?? [];
      const first = reader.ops.find(([, name]) => name === key)?.[0];
      if (first !== "r" || version === undefined) continue;
      const place = version === null ? -1 : versions.indexOf(version);
      if (version !== null) add(writers.get(version), reader, false);
      if (version === null || place >= 0) {
        add(reader, writers.get(versions[place + 1] ?? ""), true);
      }
    }
  }
  return conflicts;
}

/** What was told before another was called for. */
function timesOf(history: History, members: readonly HistoryTransaction[]): readonly Before[] {
  const spans = new Map<string, { start: number; end: number }>();
  for (const { id, parent, start, end } of members) {
    const name = parent ?? id;
    const told = history.transactions.find((each) => each.id === parent);
    const isTold = told?.status === "commit";
    spans.set(name, {
      // A BASE transaction is released behind the call of its last step.
      start: Math.max(spans.get(name)?.start ?? 0, start),
      end: parent === undefined ? end : isTold ? told.end : Number.POSITIVE_INFINITY,
    });
  }
  return Array.from(spans).flatMap(([from, { end }]) =>
    Array.from(spans).flatMap(([to, { start }]): Before[] =>
      from !== to && end < start ? [{ from, to, isTime: true }] : [],
    ),
  );
}
