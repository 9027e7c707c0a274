/**
 * The definition of isolation, executed: a history is legal if its points in time can be put in one
 * order in which every read finds what stood there. A serializable transaction is one point, a
 * snapshot one reads at one and writes at a later one, and nobody else writes what it writes in
 * between. Tries every order; for a handful of transactions.
 */
import { isWrite, type History, type HistoryTransaction } from "../../testing/history/types.ts";

type Rules = {
  /** What had ended before another began comes before it. */
  readonly strict: boolean;
  /** Points stand in the order of `snapshotTs` and `commitTs`. */
  readonly timestamps: boolean;
};

type Point = { readonly transaction: HistoryTransaction; readonly at: "both" | "read" | "commit" };

/** What stands under a key: a version, or nothing since a deletion or ever. */
type State = ReadonlyMap<string, string | null>;

/**
 * Whether the committed transactions have a legal order; with a version order, one whose writes
 * come in that order.
 */
export function isLegal(history: History, rules: Rules): boolean {
  const committed = history.transactions.filter(({ status }) => status === "commit");
  const points = committed.flatMap((transaction): Point[] =>
    transaction.isolation === "serializable"
      ? [{ transaction, at: "both" }]
      : [
          { transaction, at: "read" },
          { transaction, at: "commit" },
        ],
  );
  const wanted = new Map(history.versionOrder?.map(({ key, versions }) => [key, versions]));
  const search = (
    left: readonly Point[],
    now: { readonly state: State; readonly written: ReadonlyMap<string, readonly string[]> },
    snapshots: ReadonlyMap<HistoryTransaction, State>,
  ): boolean => {
    if (left.length === 0) return true;
    return left.some((point) => {
      if (!mayComeNext(point, left, rules)) return false;
      const { transaction } = point;
      if (point.at !== "commit" && !readsFit(transaction, now.state)) return false;
      const rest = left.filter((other) => other !== point);
      if (point.at === "read") {
        return search(rest, now, new Map([...snapshots, [transaction, now.state]]));
      }
      const writes = lastWrites(transaction);
      const base = snapshots.get(transaction);
      const isFirst = [...writes.keys()].every(
        (key) => base === undefined || base.get(key) === now.state.get(key),
      );
      if (!isFirst) return false;
      const state = new Map(now.state);
      const written = new Map(now.written);
      for (const [key, { version, isDeletion }] of writes) {
        // A deletion of its own leaves a mark, so that it counts as a write although nothing stands
        // there.
        state.set(key, isDeletion ? `deleted ${version}` : version);
        const order = [...(written.get(key) ?? []), version];
        const prefix = wanted.get(key)?.slice(0, order.length);
        if (prefix !== undefined && prefix.join("\n") !== order.join("\n")) return false;
        written.set(key, order);
      }
      return search(rest, { state, written }, snapshots);
    });
  };
  return search(points, { state: new Map(), written: new Map() }, new Map());
}

function mayComeNext(point: Point, left: readonly Point[], rules: Rules): boolean {
  return left.every((other) => other === point || !mustPrecede(other, point, rules));
}

/** Whether `a` has to come before `b`. */
function mustPrecede(a: Point, b: Point, { strict, timestamps }: Rules): boolean {
  if (a.transaction === b.transaction && a.at === "read") return true;
  const isOther = a.transaction !== b.transaction;
  if (strict && isOther && a.transaction.end < b.transaction.start) return true;
  if (!timestamps) return false;
  const [first, second] = [placeOf(a), placeOf(b)];
  if (first === undefined || second === undefined) return false;
  return (
    first.timestamp < second.timestamp ||
    (first.timestamp === second.timestamp && first.rank < second.rank)
  );
}

function placeOf({ transaction, at }: Point) {
  const { commitTs } = transaction;
  const snapshotTs = readsOthers(transaction) ? transaction.snapshotTs : undefined;
  const timestamp =
    at === "read" ? snapshotTs : at === "commit" ? commitTs : (commitTs ?? snapshotTs);
  if (timestamp === undefined) return undefined;
  return { timestamp, rank: at === "commit" || (at === "both" && commitTs !== undefined) ? 0 : 1 };
}

/** Every read finds what stands, or what the transaction itself has written before it. */
function readsFit({ ops }: HistoryTransaction, state: State): boolean {
  const own = new Map<string, string | null>();
  return ops.every(([kind, key, version]) => {
    if (kind !== "r") {
      own.set(key, kind === "d" ? null : version);
      return true;
    }
    if (own.has(key)) return own.get(key) === version;
    const found = state.get(key) ?? null;
    return (found?.startsWith("deleted ") === true ? null : found) === version;
  });
}

function lastWrites({ ops }: HistoryTransaction) {
  const writes = new Map<string, { readonly version: string; readonly isDeletion: boolean }>();
  for (const [kind, key, version] of ops.filter(isWrite)) {
    writes.set(key, { version, isDeletion: kind === "d" });
  }
  return writes;
}

/** Whether it read anything that it had not written itself. */
function readsOthers({ ops }: HistoryTransaction): boolean {
  const own = new Set<string>();
  return ops.some(([kind, key]) => {
    if (kind !== "r") own.add(key);
    return kind === "r" && !own.has(key);
  });
}
