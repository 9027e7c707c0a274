/**
 * Small random histories with native operations, near the border of the legal: a legal schedule is
 * executed, and then a few reads, times or outcomes are changed.
 */
import fc from "fast-check";
import {
  isWrite,
  type History,
  type HistoryOp,
  type HistoryStatus,
  type HistoryTransaction,
} from "../../testing/history/types.ts";
import { versionsOf } from "./random-histories.ts";

export type NativeShape = {
  readonly isolations: readonly ("serializable" | "snapshot")[];
  readonly membersMax: number;
  /** Whether outcomes may be unknown. */
  readonly unknown: boolean;
  /** Whether the stores tell something, too. */
  readonly stores: boolean;
};

type Step = { readonly kind: "r" | "w" | "d" | "a"; readonly key: string };
type Plan = {
  readonly kind: "txn" | "native";
  readonly process: string;
  readonly isolation: "serializable" | "snapshot";
  readonly steps: readonly Step[];
  /** Of a native operation: what its answer told of what was there. */
  readonly tells: "all" | "nothing" | "other";
  readonly isStale: boolean;
  readonly status: HistoryStatus;
  readonly before: number;
  readonly after: number;
};
type Mutation = {
  readonly member: number;
  readonly op: number;
  readonly version: number;
  readonly what: "read" | "start" | "end" | "process" | "kind";
};

export function nativeHistoryArbitrary(shape: NativeShape): fc.Arbitrary<History> {
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom<Step["kind"][]>("r", "r", "w", "w", "d"),
    key: fc.constantFrom("x", "x", "y"),
  });
  const plan: fc.Arbitrary<Plan> = fc.record({
    kind: fc.constantFrom("txn", "native", "native"),
    process: fc.constantFrom("p", "q"),
    isolation: fc.constantFrom(...shape.isolations),
    steps: fc.array(step, { minLength: 1, maxLength: 3 }),
    tells: fc.constantFrom("all", "nothing", "nothing", "other"),
    isStale: fc.nat({ max: 14 }).map((n) => n === 0),
    status: fc.nat({ max: 11 }).map((n) => {
      if (n === 0) return "abort";
      return n <= 2 && shape.unknown ? "unknown" : "commit";
    }),
    before: fc.nat({ max: 20 }),
    after: fc.nat({ max: 20 }),
  });
  const mutation: fc.Arbitrary<Mutation> = fc.record({
    member: fc.nat({ max: 5 }),
    op: fc.nat({ max: 5 }),
    version: fc.nat({ max: 12 }),
    what: fc.constantFrom("read", "read", "start", "end", "process"),
  });
  return fc
    .record({
      plans: fc.array(plan, { minLength: 2, maxLength: shape.membersMax }),
      schedule: fc.array(fc.nat({ max: 999 }), { minLength: 16, maxLength: 16 }),
      mutations: fc.array(mutation, { minLength: 1, maxLength: 6 }),
      isStated: fc.boolean(),
      told: fc.array(fc.nat({ max: 99 }), { minLength: 8, maxLength: 8 }),
    })
    .map(({ plans, schedule, mutations, isStated, told }) => {
      const run = execute(plans, schedule, isStated);
      const transactions = mutate(run.transactions, mutations);
      return { transactions, ...(shape.stores ? storesOf(run, transactions, told) : {}) };
    });
}

type Run = {
  readonly transactions: readonly HistoryTransaction[];
  readonly orders: ReadonlyMap<string, readonly string[]>;
  readonly state: ReadonlyMap<string, string | null>;
};

/** Runs the plans in some order of their points. */
function execute(plans: readonly Plan[], schedule: readonly number[], isStated: boolean): Run {
  const state = new Map<string, string | null>();
  const orders = new Map<string, string[]>();
  const put = (key: string, version: string, kind: string): void => {
    state.set(key, kind === "d" ? null : version);
    orders.set(key, [...(orders.get(key) ?? []), version]);
  };
  if (isStated) put("x", "x0", "w");
  const points = plans
    .flatMap(({ kind, isolation }, i) => {
      const [a = 0, b = 0] = [schedule[2 * i], schedule[2 * i + 1]];
      const isPoint = kind === "native" || isolation === "serializable";
      return [
        { i, isRead: true, at: isPoint ? a : Math.min(a, b) },
        { i, isRead: false, at: isPoint ? a : Math.max(a, b) },
      ];
    })
    .sort((a, b) => a.at - b.at || a.i - b.i || Number(b.isRead) - Number(a.isRead));
  const ops: HistoryOp[][] = plans.map(() => []);
  const places: [number, number][] = plans.map(() => [0, 0]);
  let versions = 0;
  points.forEach(({ i, isRead }, at) => {
    const plan = plans[i]!;
    places[i]![isRead ? 0 : 1] = at + 1;
    if (isRead) {
      ops[i] = opsOf(plan, state, () => (versions += 1));
    } else if (plan.status !== "abort" && (plan.status !== "unknown" || plan.before % 2 === 0)) {
      const last = new Map(ops[i]!.filter(isWrite).map((op) => [op[1], op]));
      for (const [kind, key, version] of last.values()) put(key, version, kind);
    }
  });
  const members = plans.map((plan, i): HistoryTransaction => {
    const [read, commit] = places[i]!;
    const { kind, process, status } = plan;
    return {
      ...{ id: `${kind[0]!}${i}`, process, start: Math.max(1, 100 + 10 * read - plan.before) },
      ...{ end: 100 + 10 * commit + plan.after, status, kind },
      isolation: kind === "native" ? "serializable" : plan.isolation,
      ...(plan.isStale && ops[i]!.every(([op]) => op === "r") ? { strict: false } : {}),
      ops: ops[i]!,
    };
  });
  return { transactions: isStated ? [initial, ...members] : members, orders, state };
}

const initial: HistoryTransaction = {
  ...{ id: "init", process: "init", start: 0, end: 0, status: "commit", kind: "init" },
  ...{ isolation: "serializable", ops: [["w", "x", "x0"]] },
};

function opsOf(
  { kind, steps, tells }: Plan,
  state: ReadonlyMap<string, string | null>,
  nextVersion: () => number,
): HistoryOp[] {
  if (kind === "native") {
    const [{ kind: what, key }] = steps as readonly [Step, ...Step[]];
    const found = state.get(key) ?? null;
    const other: HistoryOp = ["x", key, found === null ? "x0" : null];
    const read: HistoryOp = tells === "other" ? other : ["r", key, found];
    if (what === "r") return [read];
    const write: HistoryOp = [what, key, `${key}${nextVersion()}`];
    return tells === "nothing" ? [write] : [read, write];
  }
  const own = new Map<string, string | null>();
  return steps.map(({ kind: what, key }): HistoryOp => {
    if (what === "r") return ["r", key, (own.has(key) ? own.get(key) : state.get(key)) ?? null];
    const version = `${key}${nextVersion()}`;
    own.set(key, what === "d" ? null : version);
    return [what, key, version];
  });
}

function mutate(
  transactions: readonly HistoryTransaction[],
  mutations: readonly Mutation[],
): readonly HistoryTransaction[] {
  const changed = [...transactions];
  for (const { member, op: place, version, what } of mutations) {
    const i = member % changed.length;
    const old = changed[i]!;
    const op = old.ops[place % old.ops.length]!;
    if (old.kind === "init") continue;
    if (what === "start") changed[i] = { ...old, start: Math.max(1, old.end - 10 * version) };
    else if (what === "end") changed[i] = { ...old, end: old.start + 10 * version };
    else if (what === "process") changed[i] = { ...old, process: version % 2 === 0 ? "p" : "q" };
    else if ((op[0] === "r" || op[0] === "x") && old.status === "commit") {
      const candidates = versionsOf(changed, op[1]);
      const found = candidates[version % candidates.length] ?? null;
      const read: HistoryOp = [op[0], op[1], found];
      changed[i] = { ...old, ops: old.ops.with(place % old.ops.length, read) };
    }
  }
  return changed;
}

/** A part of an order, and an end: mostly as they were. */
function storesOf(
  { orders, state }: Run,
  transactions: readonly HistoryTransaction[],
  told: readonly number[],
): Omit<History, "transactions"> {
  const isNative = transactions.some(
    ({ kind, ops }) => kind === "native" && ops.some(([, key]) => key === "x"),
  );
  // The order of an item of transactions alone must be whole, and has a test of its own.
  if (!isNative) return {};
  const [first = 0, second = 0, ...picks] = told;
  const listed = (orders.get("x") ?? []).filter((_version, i) => (picks[i % 6] ?? 0) % 3 > 0);
  if (first % 7 === 0) listed.reverse();
  const ends = versionsOf(transactions, "x");
  const end = second % 4 === 0 ? (ends[second % ends.length] ?? null) : (state.get("x") ?? null);
  return {
    ...(first % 2 === 0 ? { versionOrder: [{ key: "x", versions: listed }] } : {}),
    ...(second % 2 === 0 ? { finalState: [{ key: "x", version: end }] } : {}),
  };
}
