/**
 * A long legal run of transactions and native operations: each takes effect somewhere within its
 * time, and sees what stands there. Deterministic.
 */
import type { HistoryOp, HistoryTransaction } from "../../testing/history/types.ts";

export type RunShape = {
  readonly count: number;
  readonly processes: number;
  readonly keys: number;
  /** Of 100. */
  readonly nativeShare: number;
  readonly deletions: boolean;
  /** How many operations of others an operation spans, about. */
  readonly span: number;
};

export function nativeRun(shape: RunShape): readonly HistoryTransaction[] {
  const random = generator(shape.count + shape.keys);
  const state = new Map<string, string | null>();
  const busyUntil = new Array<number>(shape.processes).fill(0);
  const keyOf = () => `k${random(random(3) === 0 ? 3 : shape.keys)}`;
  return Array.from({ length: shape.count }, (_each, i): HistoryTransaction => {
    const at = 100 + 10 * i;
    const process = random(shape.processes);
    const start = Math.max(at - random(10 * shape.span), (busyUntil[process] ?? 0) + 1);
    const isNative = random(100) < shape.nativeShare;
    const ops: HistoryOp[] = [];
    const seen = new Set<string>();
    const look = (key: string): void => void ops.push(["r", key, state.get(key) ?? null]);
    const write = (key: string): void => {
      const isDeletion = shape.deletions && random(4) === 0;
      const version = `${i}.${ops.length}`;
      ops.push([isDeletion ? "d" : "w", key, version]);
      state.set(key, isDeletion ? null : version);
    };
    for (let step = isNative ? 1 : 1 + random(3); step > 0; step -= 1) {
      const key = keyOf();
      if (seen.has(key)) continue;
      seen.add(key);
      const kind = random(3);
      if (kind !== 0) look(key);
      if (kind !== 1) write(key);
    }

    const end = at + random(10 * shape.span);
    busyUntil[process] = Math.max(busyUntil[process] ?? 0, end);
    return {
      ...{ id: `${isNative ? "n" : "t"}${i}`, process: `p${process}`, start: Math.min(start, at) },
      ...{ end, status: "commit", kind: isNative ? "native" : "txn" },
      isolation: "serializable",
      ops,
    };
  });
}

/** Numbers below a bound. */
function generator(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
