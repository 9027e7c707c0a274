/**
 * What a change feed has to give, out of what the logs commit: each transaction once, in the order
 * of timestamps and ids; the steps of BASE transactions as one, where these are released.
 */
import { isBaseRecordsTable, isOwnTable } from "../../core/own-tables.ts";
import type { Timestamp, TransactionId } from "../../core/types.ts";
import type { ChangePosition, CommittedChanges } from "../../engine/changes/types.ts";
import type { LoggedBases } from "../base/base-log.ts";
import type { LoggedWrite } from "../judges/logged-writes.ts";

export type ExpectedChange = {
  readonly timestamp: Timestamp;
  readonly id: TransactionId;
  /** What it says, equal exactly for the same. */
  readonly text: string;
};

type Commit = {
  readonly timestamp: Timestamp;
  readonly id: TransactionId;
  /** Of tables of the application, by key. */
  readonly writes: Map<string, string>;
};

/**
 * @param bases undefined: there are no BASE transactions.
 * @param tables that the feed is asked for. Default: all.
 */
export function expectedChanges(
  logged: readonly LoggedWrite[],
  bases: LoggedBases | undefined,
  tables?: readonly string[],
): readonly ExpectedChange[] {
  const commits = commitsOf(logged, tables);
  const steps = stepsByTimestamp(bases);
  const releases = releasesByTimestamp(bases);
  const open = new Map<string, Commit[]>();
  const expected: ExpectedChange[] = [];
  for (const commit of commits) {
    const { timestamp, id, writes } = commit;
    const base = steps.get(timestamp);
    if (base !== undefined) open.set(base, [...(open.get(base) ?? []), commit]);
    const released = releases.get(timestamp) ?? [];
    const given =
      released.length > 0 ? lastWrites(released.flatMap((each) => open.get(each) ?? [])) : writes;
    if (given.size === 0 || (base !== undefined && released.length === 0)) continue;
    expected.push({ timestamp, id, text: textOf(released, given) });
  }
  return expected;
}

/** The same of what a feed has given. */
export function givenText({ bases, items }: CommittedChanges): string {
  const writes = items.map(({ table, key, after }): [string, string] => [
    itemText(table, key),
    JSON.stringify(after ?? null),
  ]);
  return textOf(bases, new Map(writes));
}

export function isBehind(
  { timestamp, id }: Pick<ExpectedChange, "timestamp" | "id">,
  after: ChangePosition,
): boolean {
  if (timestamp !== after.timestamp) return timestamp > after.timestamp;
  return after.id !== undefined && id > after.id;
}

function commitsOf(
  logged: readonly LoggedWrite[],
  tables: readonly string[] | undefined,
): readonly Commit[] {
  const byId = new Map<TransactionId, Commit>();
  for (const { id, timestamp, table, key, item } of logged) {
    const commit = byId.get(id) ?? { id, timestamp, writes: new Map<string, string>() };
    byId.set(id, commit);
    if (isOwnTable(table.name) || isBaseRecordsTable(table.name)) continue;
    if (tables?.includes(table.name) === false) continue;
    commit.writes.set(itemText(table.name, key), JSON.stringify(item ?? null));
  }
  return [...byId.values()].sort(inOrder);
}

function inOrder(a: Commit, b: Commit): number {
  return a.timestamp - b.timestamp || (a.id < b.id ? -1 : 1);
}

function stepsByTimestamp(bases: LoggedBases | undefined): ReadonlyMap<number, string> {
  const steps = [...(bases ?? [])].flatMap(([base, { steps: made }]) =>
    [...made.values()].flat().map((timestamp): [number, string] => [timestamp, base]),
  );
  return new Map(steps);
}

function releasesByTimestamp(bases: LoggedBases | undefined): ReadonlyMap<number, string[]> {
  const releases = new Map<number, string[]>();
  for (const [base, { releasedAt }] of bases ?? []) {
    for (const timestamp of releasedAt) {
      releases.set(timestamp, [...(releases.get(timestamp) ?? []), base]);
    }
  }
  return releases;
}

function lastWrites(commits: readonly Commit[]): Map<string, string> {
  return new Map([...commits].sort(inOrder).flatMap(({ writes }) => [...writes]));
}

function itemText(table: string, key: object): string {
  return `${table} ${JSON.stringify(Object.entries(key).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
}

function textOf(bases: readonly string[], writes: ReadonlyMap<string, string>): string {
  const lines = [...writes].map(([key, item]) => `${key} = ${item}`).sort();
  return [...(bases.length === 0 ? [] : [`of ${[...bases].sort().join(", ")}`]), ...lines].join(
    "\n",
  );
}
