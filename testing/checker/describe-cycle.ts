/**
 * A cycle of points as a finding: its steps from transaction to transaction, in words, and its
 * name.
 */
import { assert } from "../../core/assert.ts";
import type { PathEdge } from "./cycles.ts";
import { memberOfPoint } from "./dependencies.ts";
import type { Anomaly, CycleStep, Finding } from "./findings.ts";
import { at, edgeKinds, type EdgeKind, type Graph } from "./graph.ts";
import { keyAt, memberAt, nothing, versionAt, type Model } from "./model.ts";

type Step = {
  readonly from: number;
  readonly to: number;
  readonly kind: Exclude<EdgeKind, 0 | 1>;
  readonly key: number;
};

export function describeCycle(model: Model, graph: Graph, path: readonly PathEdge[]): Finding {
  const steps = stepsOf(model, graph, path);
  assert(steps.length > 0, "checker: a cycle passes through transactions");
  const anomaly = nameOf(model, steps);
  const cycle = steps.map((step): CycleStep => {
    const kind = kindNames[step.kind];
    return {
      from: idOf(model, step.from),
      to: idOf(model, step.to),
      kind,
      ...(step.key < 0 ? {} : { key: keyAt(model, step.key) }),
      text: textOf(model, step),
    };
  });
  const lines = cycle.map(({ kind, text }) => `  ${text} (${kind})`);
  return {
    anomaly,
    description: [`${meanings[anomaly] ?? "a cycle"}:`, ...lines].join("\n"),
    transactions: [...new Set(cycle.map(({ from }) => from))],
    cycle,
  };
}

const kindNames: Readonly<Record<Step["kind"], CycleStep["kind"]>> = {
  [edgeKinds.ww]: "ww",
  [edgeKinds.wr]: "wr",
  [edgeKinds.rw]: "rw",
  [edgeKinds.rwAbsent]: "rw",
  [edgeKinds.realTime]: "real-time",
  [edgeKinds.timestamp]: "timestamp",
  [edgeKinds.initial]: "initial",
  [edgeKinds.itemTime]: "item-time",
  [edgeKinds.itemProcess]: "process",
  [edgeKinds.final]: "final",
  [edgeKinds.implied]: "ww",
};

const meanings: { readonly [Name in Anomaly]?: string } = {
  G0: "transactions overwrote each other's writes in a circle",
  G1c: "information flowed in a circle",
  "G-single":
    "one transaction saw a part of another one, or of what came after it, and missed a part " +
    "(read skew)",
  phantom: "a row was there for one read and missing from another",
  "lost update": "a write was based on a version that had been overwritten",
  "G2-item": "each transaction missed what the next one wrote",
  "write skew": "two transactions each read what the other one overwrote",
  "long fork": "readers saw independent writes in different orders",
  G2: "each transaction missed what the next one wrote, rows that it had searched for among them",
  "G0-realtime": "writes took effect in another order than that of real time",
  "G1c-realtime": "something was seen before it was there",
  "stale read": "a read missed what had been acknowledged before",
  "G2-realtime": "transactions missed each other's writes, against real time",
  "G-SIa": "a snapshot transaction depends on what was committed after its snapshot",
  "G-SIb": "a snapshot transaction missed what was committed before its snapshot",
  "timestamp order": "timestamps contradict what happened",
  "process order": "one process's operations on one item took effect in another order than its own",
  "final-state mismatch": "what stood there when all was over is not what was written last",
};

function stepsOf(model: Model, graph: Graph, path: readonly PathEdge[]): readonly Step[] {
  // Begins at a transaction, so that no step is cut in two.
  const start = path.findIndex(({ from }) => memberOfPoint(model, from) !== undefined);
  const turned = [...path.slice(start), ...path.slice(0, start)];
  const steps: Step[] = [];
  let open: Pick<Step, "from" | "kind" | "key"> | undefined;
  for (const { edge, from } of turned) {
    const kind = at(graph.kind, edge) as EdgeKind;
    const member = memberOfPoint(model, from);
    if (member !== undefined && kind !== edgeKinds.within && kind !== edgeKinds.onward) {
      open = { from: member, kind, key: at(graph.key, edge) };
    }
    const to = memberOfPoint(model, at(graph.to, edge));
    if (to === undefined || open === undefined) continue;
    steps.push({ ...open, to });
    open = undefined;
  }
  return steps;
}

function nameOf(model: Model, steps: readonly Step[]): Anomaly {
  const has = (...kinds: readonly EdgeKind[]): boolean =>
    steps.some(({ kind }) => kinds.includes(kind));
  const anti = steps.filter(({ kind }) => kind === edgeKinds.rw || kind === edgeKinds.rwAbsent);
  if (has(edgeKinds.timestamp)) return timestampName(model, steps, anti);
  if (has(edgeKinds.final)) return "final-state mismatch";
  if (has(edgeKinds.itemProcess)) return "process order";
  if (has(edgeKinds.realTime, edgeKinds.itemTime)) {
    if (anti.length === 1) return "stale read";
    if (anti.length > 1) return "G2-realtime";
    return has(edgeKinds.wr) ? "G1c-realtime" : "G0-realtime";
  }
  const [only] = anti;
  if (only === undefined) return has(edgeKinds.wr) ? "G1c" : "G0";
  const isAbsent = anti.some(({ kind }) => kind === edgeKinds.rwAbsent);
  if (anti.length === 1) {
    if (memberAt(model, only.from).writes.has(only.key)) return "lost update";
    return isAbsent ? "phantom" : "G-single";
  }
  const [first] = anti;
  const updatesOne = anti.every(
    ({ from, key }) => key === first?.key && memberAt(model, from).writes.has(key),
  );
  if (updatesOne) return "lost update";
  const isAdjacent = steps.some(
    (step, i) =>
      anti.includes(step) && anti.some((other) => other === steps[(i + 1) % steps.length]),
  );
  if (!isAdjacent) return "long fork";
  if (isAbsent) return "G2";
  const bothWrite = steps.every(({ from }) => memberAt(model, from).writes.size > 0);
  return steps.length === 2 && bothWrite ? "write skew" : "G2-item";
}

function timestampName(model: Model, steps: readonly Step[], anti: readonly Step[]): Anomaly {
  const others = steps.filter(
    ({ kind }) => kind !== edgeKinds.timestamp && kind !== edgeKinds.initial,
  );
  const [only] = others;
  if (only === undefined || others.length > 1 || only.kind === edgeKinds.realTime) {
    return "timestamp order";
  }
  const isSnapshot = (member: number): boolean =>
    memberAt(model, member).transaction.isolation === "snapshot";
  if (anti.length === 1) return isSnapshot(only.from) ? "G-SIb" : "timestamp order";
  return isSnapshot(only.to) ? "G-SIa" : "timestamp order";
}

function idOf(model: Model, member: number): string {
  return memberAt(model, member).transaction.id;
}

function textOf(model: Model, { from, to, kind, key }: Step): string {
  const first = idOf(model, from);
  const second = idOf(model, to);
  const name = keyAt(model, key);
  switch (kind) {
    case edgeKinds.ww:
    case edgeKinds.implied:
      return (
        `${first} wrote ${name}${written(model, from, key)}, then ${second} overwrote ` +
        `it${written(model, to, key)}`
      );
    case edgeKinds.wr:
      return (
        `${first} wrote ${name}${written(model, from, key)}, and ${second} read ` +
        readBy(model, to, key)
      );
    case edgeKinds.rw:
    case edgeKinds.rwAbsent:
      return (
        `${first} read ${name} = ${readBy(model, from, key)}, before ${second} overwrote ` +
        `it${written(model, to, key)}`
      );
    case edgeKinds.realTime: {
      const { end } = memberAt(model, from).transaction;
      return (
        `${first} had ended at ${end} when ${second} began at ` +
        `${memberAt(model, to).transaction.start}`
      );
    }
    case edgeKinds.timestamp:
      return (
        `${first} stands at ${timestampOf(model, from)}, and ${second} after it at ` +
        timestampOf(model, to)
      );
    case edgeKinds.initial:
      return `${first} states what was there before ${second}`;
    case edgeKinds.itemTime:
      return `${first} had ended before ${second} began, and both are about ${name}`;
    case edgeKinds.itemProcess:
      return `${first} had ended before ${second} of the same process began, both about ${name}`;
    case edgeKinds.final:
      return (
        `${first} wrote ${name}${written(model, from, key)}, and when all was over ${name} ` +
        `did not show what ${second} had written`
      );
  }
}

function written(model: Model, member: number, key: number): string {
  const version = memberAt(model, member).writes.get(key);
  if (version === undefined) return "";
  const { name, isDeletion } = versionAt(model, version);
  return isDeletion ? ` by deleting it (${name})` : ` as ${name}`;
}

function readBy(model: Model, member: number, key: number): string {
  const version = memberAt(model, member).reads.get(key);
  return version === undefined || version === nothing ? "nothing" : versionAt(model, version).name;
}

function timestampOf(model: Model, member: number): string {
  const { snapshotTs, commitTs, isolation } = memberAt(model, member).transaction;
  if (isolation === "serializable") return String(commitTs ?? snapshotTs);
  return `${snapshotTs ?? "?"} to ${commitTs ?? "?"}`;
}
