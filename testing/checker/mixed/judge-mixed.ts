/**
 * Judges a history in which native operations stand beside transactions. The definition is that of
 * docs/formats/history.md: one order of all points in which every read finds what stands there; a
 * process's operations on one item come in its order; with `strict`, transactions come in that of
 * real time, and so do all operations on one item.
 *
 * First an order is looked for in one pass: n operations and e edges take (n + e) log n. Only
 * where none is found it is worked out what must come before what (`saturation.ts`), which ends in
 * a cycle for nearly all that is illegal; the little that is neither is tried out, up to a bound.
 */
import type { History } from "../../history/types.ts";
import { addRealTime } from "../clock-order.ts";
import { CycleSearch } from "../cycles.ts";
import { describeCycle } from "../describe-cycle.ts";
import { Findings, type Finding } from "../findings.ts";
import { keyAt, memberAt, type Model } from "../model.ts";
import type { KeyOrder } from "../version-order.ts";
import { narrowByTime } from "./by-time.ts";
import { tryAll } from "./exhaustive.ts";
import { Greedy } from "./greedy.ts";
import { addItemTime } from "./item-time.ts";
import { addCommitOrder, addFinalState, addListed, addSegments } from "./known-orders.ts";
import { Problem, type ItemRead } from "./problem.ts";
import { topologicalOrder } from "./reach.ts";
import { RunState } from "./run-state.ts";
import { Saturation } from "./saturation.ts";

export type MixedCase = {
  readonly history: History;
  readonly model: Model;
  /** Of the keys that transactions alone touch. */
  readonly orders: readonly KeyOrder[];
  /** The others. */
  readonly keys: ReadonlySet<number>;
  readonly strict: boolean;
  /** Whether `commitTs` orders the transactions that write one item. */
  readonly timestamps: boolean;
};

export type MixedVerdict = {
  readonly findings: readonly Finding[];
  /** Whether the history was neither shown to have an order nor to have none. */
  readonly isUndecided: boolean;
  readonly work: { readonly nodes: number; readonly edges: number; readonly visits: number };
};

/** In steps and decisions taken back, per point: a first try, and after saturation. */
const firstTry = { stepsMax: 4, repairsMax: 0.01 };
const secondTry = { stepsMax: 20, repairsMax: 0.05 };

export function judgeMixed(given: MixedCase): MixedVerdict {
  if (!given.strict) {
    // The order of real time is the likeliest, and easier to find.
    const { verdict, work } = judge({ ...given, strict: true });
    if (verdict === "legal") return { findings: [], isUndecided: false, work };
  }
  const { verdict, findings, work } = judge(given);
  return { findings, isUndecided: verdict === "unknown", work };
}

type Judged = {
  readonly verdict: "legal" | "illegal" | "unknown";
  readonly findings: readonly Finding[];
  readonly work: MixedVerdict["work"];
};

function judge(given: MixedCase): Judged {
  const findings = new Findings(Number.MAX_SAFE_INTEGER);
  const problem = problemOf(given, findings);
  reportUnexplained(problem, findings);
  let visits = 0;
  const points = 2 * given.model.members.length;
  const isFound = ({ stepsMax, repairsMax }: typeof firstTry): boolean => {
    const greedy = new Greedy(new RunState(problem));
    const limits = { stepsMax: stepsMax * points + 1000, repairsMax: repairsMax * points + 10 };
    const found = greedy.search(limits);
    visits += greedy.steps;
    return found;
  };
  const judged = (isOpen: boolean): Judged => ({
    verdict: isOpen ? "unknown" : findings.count > 0 ? "illegal" : "legal",
    findings: findings.list,
    work: { nodes: problem.nodes, edges: problem.edges.length, visits },
  });
  // Times and lists alone may contradict each other.
  const isOrdered = topologicalOrder(problem.edges.toGraph(problem.nodes), () => 0) !== undefined;
  if (isOrdered && isFound(firstTry)) return judged(false);
  const saturation = new Saturation(problem);
  const hasCycle = !saturation.run();
  visits += saturation.visits;
  if (hasCycle) {
    const search = new CycleSearch(problem.edges, problem.nodes);
    for (const component of search.components()) {
      findings.push(describeCycle(problem.model, search.graph, search.worstCycle(component)));
    }
    visits += search.visits;
    return judged(false);
  }
  for (const read of saturation.impossible) reportImpossible(problem, read, findings);
  if (saturation.impossible.length > 0 || isFound(secondTry)) return judged(false);
  const search = tryAll(new RunState(problem));
  if (search === "none") {
    findings.add("no order", [], "no order of what happened explains all that was read");
  }
  return judged(search === "unknown");
}

/** The history as points, items and edges. What is wrong with lists and ends is found, too. */
export function problemOf({ model, history, ...given }: MixedCase, findings: Findings): Problem {
  const { orders, keys, strict, timestamps } = given;
  const problem = new Problem(model);
  addSegments(problem, orders);
  addListed(problem, { history, keys }, findings);
  if (timestamps) addCommitOrder(problem, keys);
  addFinalState(problem, { history, keys }, findings);
  addItemTime(problem, keys, { strict });
  if (strict) {
    // One of unknown outcome comes after what had ended, if at all; nothing comes after it.
    addRealTime(problem, model, ({ transaction: { kind, status } }) => {
      return status !== "abort" && kind !== "native";
    });
  }
  if (strict) narrowByTime(problem);
  return problem;
}

/** Looks that no write at all explains: they are findings, and out of the way of the rest. */
function reportUnexplained(problem: Problem, findings: Findings): void {
  const unexplained = problem.reads.filter(
    ({ candidates, member }) =>
      candidates.length === 0 && (member === undefined || !problem.isOptional(member)),
  );
  for (const read of unexplained) {
    problem.reads.splice(problem.reads.indexOf(read), 1);
    reportImpossible(problem, read, findings);
  }
}

function reportImpossible(problem: Problem, read: ItemRead, findings: Findings): void {
  const key = keyAt(problem.model, read.item);
  if (read.member === undefined) {
    findings.add("final-state mismatch", [], `nothing explains how ${key} ended`);
    return;
  }
  const { id } = memberAt(problem.model, read.member).transaction;
  const what = read.isAbsent ? "as it was there" : "to be something that nobody wrote";
  findings.add("garbage read", [id], `${id} found ${key} ${what}, and nothing explains that`);
}
