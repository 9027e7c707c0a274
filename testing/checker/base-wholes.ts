/**
 * BASE transactions as wholes, beside ACID ones: no ACID transaction lies on a cycle of what reads,
 * overwrites and misses what, with each BASE transaction taken for one point, its release. What one
 * BASE transaction overwrites that another has read orders nothing: that is allowed
 * (docs/adr/0017-base-transactions.md, The cycle that is allowed).
 *
 * By real time the release lies behind the call of the last step, and before anybody is told that
 * it is over; by the database's own timestamps it has a place. So an ACID transaction that has seen
 * an open one lies on a cycle.
 */
import type { CheckOptions } from "./check-history.ts";
import { addRealTime, addTimestamps } from "./clock-order.ts";
import { DependencyBuilder, memberOfPoint, readPoint, type Choices } from "./dependencies.ts";
import { Findings, type Finding } from "./findings.ts";
import { at, cyclicComponents, EdgeList, edgeKinds, type EdgeKind, type Graph } from "./graph.ts";
import { buildModel, keyAt, memberAt, type Member, type Model } from "./model.ts";
import { certainChoices, guessChoices, isAmbiguous, nullReadsOf } from "./null-reads.ts";
import { versionOrders } from "./version-order.ts";
import type { History, HistoryTransaction } from "../history/types.ts";

/** What is said of a BASE transaction as a whole. */
type Whole = {
  /** The member that stands for all its steps. */
  readonly first: number;
  /** When its last step was called for: its release lies behind that. */
  lastStart: number;
  /** When somebody was told that it is over. */
  readonly end: number;
  /** Of its release, as the database says. */
  readonly releasedAt: number | undefined;
};

const findingsMax = 100;

const takesEffect = (member: Member): boolean => member.takesEffect;

/**
 * @param history without lines of kind `base`, which `bases` has.
 * @returns cycles, and what is wrong with single reads.
 */
export function judgeWholes(
  history: History,
  bases: readonly HistoryTransaction[],
  { strict, timestamps = true }: Pick<CheckOptions, "strict" | "timestamps">,
): readonly Finding[] {
  const ofReads = new Findings(findingsMax);
  const model = buildModel(history, { abortedReads: false, findings: ofReads });
  // What is wrong with versions is found among the steps.
  const orders = versionOrders(model, history, new Findings(0));
  const wholes = wholesOf(model, bases);
  const nullReads = nullReadsOf(model, orders, takesEffect);
  const clocked = { ...model, members: model.members.map((each) => asWhole(each, wholes)) };
  const solve = (choices: Choices): readonly Finding[] => {
    const options = { levels: "as-asked", counts: takesEffect, nullReads, choices } as const;
    const builder = new DependencyBuilder(model, orders, options);
    if (strict) addRealTime(builder, clocked, takesEffect);
    if (timestamps) addTimestamps(builder, clocked, takesEffect);
    const graph = builder.edges.toGraph(builder.nodes);
    return cyclesOf(model, contracted(model, graph, wholes), wholes);
  };
  const guessed = solve(guessChoices(model, orders, nullReads));
  const isCertain = guessed.length === 0 || !nullReads.some(isAmbiguous);
  return [...ofReads.list, ...(isCertain ? guessed : solve(certainChoices(nullReads)))];
}

function wholesOf(model: Model, bases: readonly HistoryTransaction[]): ReadonlyMap<string, Whole> {
  const told = new Map(bases.map((base) => [base.id, base]));
  const wholes = new Map<string, Whole>();
  model.members.forEach((member, i) => {
    const { parent, start } = member.transaction;
    if (parent === undefined || !member.takesEffect) return;
    const known = wholes.get(parent);
    if (known !== undefined) {
      known.lastStart = Math.max(known.lastStart, start);
      return;
    }
    const base = told.get(parent);
    const end = base?.status === "commit" ? base.end : Number.MAX_SAFE_INTEGER;
    wholes.set(parent, { first: i, lastStart: start, end, releasedAt: base?.commitTs });
  });
  return wholes;
}

/** A step as the clocks have its BASE transaction. */
function asWhole(member: Member, wholes: ReadonlyMap<string, Whole>): Member {
  const { transaction } = member;
  const whole = wholeOf(member, wholes);
  if (whole === undefined) return member;
  const { commitTs: _own, snapshotTs: _read, ...rest } = transaction;
  const { lastStart: start, end, releasedAt } = whole;
  const commitTs = releasedAt === undefined ? {} : { commitTs: releasedAt };
  return { ...member, transaction: { ...rest, start, end, status: "commit", ...commitTs } };
}

function wholeOf(
  { transaction: { parent }, takesEffect: counts }: Member,
  wholes: ReadonlyMap<string, Whole>,
): Whole | undefined {
  return parent === undefined || !counts ? undefined : wholes.get(parent);
}

/** All steps of one at one node; without what one step has missed of another. */
function contracted(model: Model, graph: Graph, wholes: ReadonlyMap<string, Whole>): Graph {
  const wholeAt = (node: number): Whole | undefined => {
    const member = memberOfPoint(model, node);
    return member === undefined ? undefined : wholeOf(memberAt(model, member), wholes);
  };
  const edges = new EdgeList();
  for (let node = 0; node < graph.nodes; node += 1) {
    const whole = wholeAt(node);
    const from = whole === undefined ? node : readPoint(whole.first);
    for (let edge = at(graph.first, node); edge < at(graph.first, node + 1); edge += 1) {
      const target = at(graph.to, edge);
      const kind = at(graph.kind, edge) as EdgeKind;
      const other = wholeAt(target);
      const to = other === undefined ? target : readPoint(other.first);
      const isMissed = kind === edgeKinds.rw || kind === edgeKinds.rwAbsent;
      const isAmongSteps = other !== undefined || memberOfPoint(model, target) === undefined;
      if (from === to || (isMissed && whole !== undefined && isAmongSteps)) continue;
      edges.add(from, to, kind, at(graph.key, edge));
    }
  }
  return edges.toGraph(graph.nodes);
}

function cyclesOf(
  model: Model,
  graph: Graph,
  wholes: ReadonlyMap<string, Whole>,
): readonly Finding[] {
  const inWholes = new Set(Array.from(wholes.values(), ({ first }) => readPoint(first)));
  return cyclicComponents(graph, ~0).flatMap((nodes): Finding[] => {
    const outside = nodes.filter((node) => !inWholes.has(node));
    // Those that depend on each other are released at once.
    if (outside.length === 0) return [];
    const acid = outside.find((node) => memberOfPoint(model, node) !== undefined);
    return [described(model, graph, cycleThrough(graph, acid ?? outside[0] ?? 0, new Set(nodes)))];
  });
}

type Step = { readonly from: number; readonly edge: number };

/** The shortest, by edges. */
function cycleThrough(graph: Graph, start: number, nodes: ReadonlySet<number>): readonly Step[] {
  const reachedBy = new Map<number, Step>();
  let level = [start];
  while (level.length > 0 && !reachedBy.has(start)) {
    const next: number[] = [];
    for (const from of level) {
      for (let edge = at(graph.first, from); edge < at(graph.first, from + 1); edge += 1) {
        const to = at(graph.to, edge);
        if (!nodes.has(to) || reachedBy.has(to)) continue;
        reachedBy.set(to, { from, edge });
        next.push(to);
      }
    }
    level = next;
  }
  const steps: Step[] = [];
  for (let step = reachedBy.get(start); step !== undefined; step = reachedBy.get(step.from)) {
    steps.push(step);
    if (step.from === start) break;
  }
  return steps.reverse();
}

const words: { readonly [Kind in EdgeKind]?: string } = {
  [edgeKinds.ww]: "is overwritten by",
  [edgeKinds.wr]: "is read by",
  [edgeKinds.rw]: "missed what was written by",
  [edgeKinds.rwAbsent]: "missed what was put by",
  [edgeKinds.realTime]: "was over before",
  [edgeKinds.timestamp]: "stands, by timestamps, before",
};

function described(model: Model, graph: Graph, cycle: readonly Step[]): Finding {
  const transactions: string[] = [];
  const parts: string[] = [];
  for (const { from, edge } of cycle) {
    const member = memberOfPoint(model, from);
    if (member !== undefined) {
      const { id, parent } = memberAt(model, member).transaction;
      transactions.push(parent ?? id);
      parts.push(parent === undefined ? id : `BASE ${parent}`);
    }
    const key = at(graph.key, edge);
    const word = words[at(graph.kind, edge) as EdgeKind];
    if (word !== undefined) parts.push(key < 0 ? word : `${word} (${keyAt(model, key)})`);
  }
  const [first = ""] = parts;
  const circle = `${parts.join(" ")} ${first}`;
  const description = `an ACID transaction is not apart from BASE ones: ${circle}`;
  return { anomaly: "not apart", description, transactions };
}
