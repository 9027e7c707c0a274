/**
 * The definition of isolation with native operations, executed (docs/formats/history.md): tries
 * every order of the points, and every choice of which unknown ones took effect.
 */
import {
  isWrite,
  type History,
  type HistoryOp,
  type HistoryTransaction,
} from "../../testing/history/types.ts";

type Point = { readonly of: HistoryTransaction; readonly at: "both" | "read" | "commit" };

/** By key: the name of the version that stands there, deletions included. */
type State = ReadonlyMap<string, { readonly name: string; readonly isDeletion: boolean }>;

export function isLegalBesideNative(
  history: History,
  { strict }: { readonly strict: boolean },
): boolean {
  const unknown = history.transactions.filter(({ status }) => status === "unknown");
  const committed = history.transactions.filter(({ status }) => status === "commit");
  const native = new Set(
    history.transactions.flatMap(({ kind, ops }) =>
      kind === "native" ? ops.map(([, key]) => key) : [],
    ),
  );
  return subsets(unknown).some((effective) => {
    const members = [...committed, ...effective];
    if (!listedTookEffect(history, members)) return false;
    const points = members.flatMap((of): Point[] =>
      of.isolation === "serializable"
        ? [{ of, at: "both" }]
        : [
            { of, at: "read" },
            { of, at: "commit" },
          ],
    );
    const mustPrecede = (a: Point, b: Point): boolean =>
      isBefore(a, b, { strict, isNative: (key) => native.has(key) });
    const before = new Map(
      points.map((b) => [b, new Set(points.filter((a) => a !== b && mustPrecede(a, b)))]),
    );
    return search(history, points, before, { state: new Map(), orders: new Map() }, new Map());
  });
}

function search(
  history: History,
  left: readonly Point[],
  before: ReadonlyMap<Point, ReadonlySet<Point>>,
  now: { readonly state: State; readonly orders: ReadonlyMap<string, readonly string[]> },
  snapshots: ReadonlyMap<HistoryTransaction, State>,
): boolean {
  if (left.length === 0) return endsAsTold(history, now);
  return left.some((point) => {
    const { of } = point;
    if (left.some((other) => before.get(point)!.has(other))) return false;
    if (point.at !== "commit" && !fits(of.ops, now.state)) return false;
    const rest = left.filter((other) => other !== point);
    if (point.at === "read") {
      return search(history, rest, before, now, new Map([...snapshots, [of, now.state]]));
    }
    const state = new Map(now.state);
    const orders = new Map(now.orders);
    const last = new Map(of.ops.filter(isWrite).map((op) => [op[1], op]));
    for (const [key, [kind, , name]] of last) {
      const base = snapshots.get(of);
      if (base !== undefined && base.get(key)?.name !== now.state.get(key)?.name) return false;
      state.set(key, { name, isDeletion: kind === "d" });
      orders.set(key, [...(orders.get(key) ?? []), name]);
    }
    return search(history, rest, before, { state, orders }, snapshots);
  });
}

function isBefore(
  a: Point,
  b: Point,
  rules: { readonly strict: boolean; readonly isNative: (key: string) => boolean },
): boolean {
  if (a.of === b.of) return a.at === "read";
  if (a.of.kind === "init" || b.of.kind === "init") return b.of.kind !== "init";
  if (a.of.strict === false || b.of.strict === false) return false;
  if (a.of.status !== "commit" || a.of.end >= b.of.start) return false;
  const areTransactions = a.of.kind !== "native" && b.of.kind !== "native";
  if (rules.strict && areTransactions) return true;
  if (!rules.strict && a.of.process !== b.of.process) return false;
  return a.of.ops.some(([, key]) => rules.isNative(key) && isLast(a, key) && isFirst(b, key));
}

/** Whether the point comes after all that its transaction does with the key, or with that. */
function isLast({ of, at }: Point, key: string): boolean {
  const writes = of.ops.some((op) => isWrite(op) && op[1] === key);
  return at === "both" || at === (writes ? "commit" : "read") || (at === "read" && !writes);
}

function isFirst({ of, at }: Point, key: string): boolean {
  const own = of.ops.filter((op) => op[1] === key);
  if (own.length === 0) return false;
  const [first] = own;
  const reads = first !== undefined && !isWrite(first);
  return at === "both" || at === (reads ? "read" : "commit") || at === "commit";
}

function fits(ops: readonly HistoryOp[], state: State): boolean {
  const own = new Map<string, string | null>();
  return ops.every((op) => {
    const [kind, key, version] = op;
    if (isWrite(op)) {
      own.set(key, kind === "d" ? null : version);
      return true;
    }
    const stands = state.get(key);
    const found = own.has(key)
      ? (own.get(key) ?? null)
      : stands === undefined || stands.isDeletion
        ? null
        : stands.name;
    return kind === "x" ? found !== version : found === version;
  });
}

function endsAsTold(
  { versionOrder, finalState }: History,
  {
    state,
    orders,
  }: { readonly state: State; readonly orders: ReadonlyMap<string, readonly string[]> },
): boolean {
  const isAsListed = (versionOrder ?? []).every(({ key, versions }) => {
    const listed = (orders.get(key) ?? []).filter((name) => versions.includes(name));
    return listed.join(" ") === versions.join(" ");
  });
  return (
    isAsListed &&
    (finalState ?? []).every(({ key, version }) => {
      const stands = state.get(key);
      return (stands === undefined || stands.isDeletion ? null : stands.name) === version;
    })
  );
}

/** What a list or the end names was written by somebody who took effect. */
function listedTookEffect(
  { versionOrder, finalState }: History,
  members: readonly HistoryTransaction[],
): boolean {
  const written = new Set(
    members.flatMap(({ ops }) => ops.filter(isWrite).map(([, , name]) => name)),
  );
  const named = [
    ...(versionOrder ?? []).flatMap(({ versions }) => versions),
    ...(finalState ?? []).flatMap(({ version }) => version ?? []),
  ];
  return named.every((name) => written.has(name));
}

function subsets<Element>(all: readonly Element[]): readonly (readonly Element[])[] {
  return all.reduce<readonly (readonly Element[])[]>(
    (known, each) => known.flatMap((set) => [set, [...set, each]]),
    [[]],
  );
}
