/**
 * Small random histories near the border of the legal: a legal schedule is executed, and then a few
 * reads or times of what its transactions saw are changed.
 */
import fc from "fast-check";
import type { HistoryOp, HistoryTransaction } from "../../testing/history/types.ts";

export type Shape = {
  readonly isolations: readonly ("serializable" | "snapshot")[];
  /**
   * Every write follows a read of its key, so that the order of versions is known without being
   * told.
   */
  readonly readsBeforeWrites: boolean;
  readonly deletions: boolean;
  readonly timestamps: boolean;
};

type Step = { readonly kind: "r" | "w" | "d" | "a"; readonly key: string };

type Plan = {
  readonly isolation: "serializable" | "snapshot";
  readonly steps: readonly Step[];
  readonly aborts: boolean;
  /** How much longer than its points it lasts. */
  readonly before: number;
  readonly after: number;
};

type Mutation = {
  readonly transaction: number;
  readonly op: number;
  readonly version: number;
  readonly what: "read" | "start" | "end" | "timestamp";
};

export function historyArbitrary(shape: Shape): fc.Arbitrary<readonly HistoryTransaction[]> {
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom<Step["kind"][]>(
      "r",
      "r",
      "w",
      "a",
      ...(shape.deletions ? (["d", "d"] as const) : []),
    ),
    key: fc.constantFrom(...(shape.deletions ? ["x", "y"] : ["x", "y", "z"])),
  });
  const plan: fc.Arbitrary<Plan> = fc.record({
    isolation: fc.constantFrom(...shape.isolations),
    steps: fc.array(step, { minLength: 1, maxLength: 3 }),
    aborts: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    before: fc.integer({ min: 0, max: 25 }),
    after: fc.integer({ min: 0, max: 25 }),
  });
  const mutation: fc.Arbitrary<Mutation> = fc.record({
    transaction: fc.nat({ max: 4 }),
    op: fc.nat({ max: 5 }),
    version: fc.nat({ max: 12 }),
    what: fc.constantFrom<Mutation["what"][]>(
      "read",
      "read",
      "start",
      "end",
      ...(shape.timestamps ? (["timestamp"] as const) : []),
    ),
  });
  return fc
    .record({
      plans: fc.array(plan, { minLength: 2, maxLength: 5 }),
      schedule: fc.array(fc.nat({ max: 999 }), { minLength: 10, maxLength: 10 }),
      mutations: fc.array(mutation, { maxLength: shape.deletions ? 6 : 3 }),
    })
    .map(({ plans, schedule, mutations }) =>
      mutate(execute(plans, schedule, shape), mutations, shape),
    );
}

/** Runs the plans in some order of their points; what they read is what stood there. */
function execute(plans: readonly Plan[], schedule: readonly number[], shape: Shape) {
  const points = plans
    .flatMap((plan, i) => {
      const [a = 0, b = 0] = [schedule[2 * i], schedule[2 * i + 1]];
      const isPoint = plan.isolation === "serializable";
      return [
        { i, isRead: true, at: isPoint ? a : Math.min(a, b) },
        { i, isRead: false, at: isPoint ? a : Math.max(a, b) },
      ];
    })
    .sort((a, b) => a.at - b.at || a.i - b.i || Number(b.isRead) - Number(a.isRead));
  const state = new Map<string, string | null>();
  const ops: HistoryOp[][] = plans.map(() => []);
  const places: [number, number][] = plans.map(() => [0, 0]);
  let versions = 0;
  points.forEach(({ i, isRead }, at) => {
    const plan = plans[i]!;
    places[i]![isRead ? 0 : 1] = at + 1;
    if (!isRead) {
      if (plan.aborts) return;
      for (const [kind, key, version] of ops[i]!) {
        if (kind !== "r") state.set(key, kind === "d" ? null : version);
      }
      return;
    }
    const own = new Map<string, string | null>();
    const look = (key: string): void => {
      ops[i]!.push(["r", key, (own.has(key) ? own.get(key) : state.get(key)) ?? null]);
    };
    for (const { kind, key } of plan.steps) {
      if (kind === "r" || shape.readsBeforeWrites) look(key);
      if (kind === "r") continue;
      versions += 1;
      ops[i]!.push([kind, key, `${key}${versions}`]);
      own.set(key, kind === "d" ? null : `${key}${versions}`);
    }
  });
  return plans.map((plan, i): HistoryTransaction => {
    const [read, commit] = places[i]!;
    const writes = ops[i]!.some(([kind]) => kind !== "r");
    const isPoint = plan.isolation === "serializable";
    return {
      id: `t${i}`,
      process: "p",
      start: Math.max(0, 100 + 10 * read - plan.before),
      end: 100 + 10 * commit + plan.after,
      status: plan.aborts ? "abort" : "commit",
      kind: "txn",
      isolation: plan.isolation,
      ops: ops[i]!,
      ...(shape.timestamps ? { snapshotTs: 10 * (isPoint ? commit : read) - 5 } : {}),
      ...(shape.timestamps && writes && !plan.aborts ? { commitTs: 10 * commit } : {}),
    };
  });
}

function mutate(
  transactions: readonly HistoryTransaction[],
  mutations: readonly Mutation[],
  shape: Shape,
): readonly HistoryTransaction[] {
  const changed = [...transactions];
  for (const { transaction, op: place, version, what } of mutations) {
    const i = transaction % changed.length;
    const old = changed[i]!;
    const op = old.ops[place % old.ops.length];
    if (what === "start") changed[i] = { ...old, start: Math.max(0, old.end - 10 * version) };
    else if (what === "end") changed[i] = { ...old, end: old.start + 10 * version };
    else if (what === "timestamp") {
      if (shape.timestamps) changed[i] = { ...old, snapshotTs: Math.max(0, 10 * version - 5) };
    } else if (op?.[0] === "r") {
      const candidates = versionsOf(changed, op[1]);
      const read: HistoryOp = ["r", op[1], candidates[version % candidates.length] ?? null];
      changed[i] = { ...old, ops: old.ops.with(place % old.ops.length, read) };
    }
  }
  return changed;
}

/** What a read of the key may have found: nothing, or what one of them wrote. */
export function versionsOf(
  transactions: readonly HistoryTransaction[],
  key: string,
): (string | null)[] {
  const written = transactions.flatMap(({ ops }) =>
    ops.flatMap(([kind, name, version]) =>
      (kind === "w" || kind === "a") && name === key ? [version] : [],
    ),
  );
  return [null, ...written];
}
