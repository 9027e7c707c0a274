/**
 * What is known of the order of an item's versions beforehand, as edges between writers: all of it
 * for an item of transactions alone, a part for one that native operations touch, too.
 */
import type { History } from "../../history/types.ts";
import type { Findings } from "../findings.ts";
import { edgeKinds } from "../graph.ts";
import { keyAt, memberAt, versionAt } from "../model.ts";
import type { KeyOrder } from "../version-order.ts";
import type { Problem } from "./problem.ts";

/** Orders of items of transactions alone. */
export function addSegments(problem: Problem, orders: readonly KeyOrder[]): void {
  orders.forEach(({ segments }, key) => {
    for (const segment of segments) {
      addChain(
        problem,
        segment.map(({ member }) => member),
        key,
      );
    }
  });
}

/**
 * The lists of the other items. A list may leave out what the log or the store that it is taken
 * from never had: native writes, or a commit that was superseded before it was installed. What it
 * names must have been written, and stands in order.
 */
export function addListed(
  problem: Problem,
  { history, keys }: { readonly history: History; readonly keys: ReadonlySet<number> },
  findings: Findings,
): void {
  const { model } = problem;
  for (const { key: name, versions } of history.versionOrder ?? []) {
    const key = model.keyNumbers.get(name);
    if (key === undefined || !keys.has(key)) continue;
    const writers: number[] = [];
    const seen = new Set<string>();
    for (const version of versions) {
      const number = model.versionNumbers.get(version);
      const facts = number === undefined ? undefined : model.versions[number];
      const writer = facts?.key === key ? memberAt(model, facts.member) : undefined;
      if (facts === undefined || writer === undefined) {
        findings.add("dirty write", [], `${name} held ${version}, which nobody wrote to it`);
      } else if (!writer.takesEffect) {
        const { id } = writer.transaction;
        findings.add("dirty write", [id], `${name} held ${version}, though ${id} aborted`);
      } else if (seen.has(version)) {
        findings.add("duplicate", [writer.transaction.id], `${name} held ${version} twice`);
      } else {
        writers.push(facts.member);
      }
      seen.add(version);
    }
    addChain(problem, writers, key);
  }
}

/** Transactions that write one item come in the order of their commits, as the database says. */
export function addCommitOrder(problem: Problem, keys: ReadonlySet<number>): void {
  for (const key of keys) {
    const timed = (problem.items[key]?.writers ?? []).flatMap(({ member, isCertain }) => {
      const { commitTs, place = 0 } = memberAt(problem.model, member).transaction;
      return commitTs === undefined || !isCertain ? [] : [{ member, commitTs, place }];
    });
    timed.sort((a, b) => a.commitTs - b.commitTs || a.place - b.place);
    addChain(
      problem,
      timed.map(({ member }) => member),
      key,
    );
  }
}

/** What stood there when all was over. */
export function addFinalState(
  problem: Problem,
  { history, keys }: { readonly history: History; readonly keys: ReadonlySet<number> },
  findings: Findings,
): void {
  const { model } = problem;
  for (const { key: name, version } of history.finalState ?? []) {
    const key = model.keyNumbers.get(name);
    const item = key === undefined ? undefined : problem.items[key];
    if (key === undefined || item === undefined || !keys.has(key)) continue;
    const number = version === null ? undefined : model.versionNumbers.get(version);
    const facts = number === undefined ? undefined : versionAt(model, number);
    const writer = facts === undefined ? undefined : memberAt(model, facts.member);
    if (version !== null && (facts?.key !== key || writer?.takesEffect !== true)) {
      const whose =
        writer === undefined
          ? "which nobody wrote to it"
          : `though ${writer.transaction.id} aborted`;
      findings.add("dirty write", [], `${name} ended as ${version}, ${whose}`);
      continue;
    }
    if (facts?.isFinal === false) {
      const { id } = memberAt(model, facts.member).transaction;
      const text = `${name} ended as ${version ?? ""}, which ${id} replaced before it committed`;
      findings.add("dirty write", [id], text);
      continue;
    }
    const point = problem.newNode();
    for (const { member, isCertain } of item.writers) {
      if (isCertain) problem.edges.add(problem.commitPoint(member), point, edgeKinds.final, key);
    }
    const isAbsent = version === null;
    problem.addRead({ point, member: undefined, item: key, isAbsent }, (each) =>
      isAbsent ? each.isDeletion : each.member === facts?.member,
    );
    const isWritten = item.writers.some(({ isCertain }) => isCertain);
    if (isAbsent && isWritten && !item.writers.some(({ isDeletion }) => isDeletion)) {
      const problemText = `${keyAt(model, key)} ended as nothing, and nobody deleted it`;
      findings.add("lost write", [], problemText);
      problem.reads.pop();
    }
  }
}

function addChain(problem: Problem, members: readonly number[], key: number): void {
  members.forEach((member, i) => {
    const before = members[i - 1];
    if (before === undefined || before === member) return;
    problem.edges.add(problem.commitPoint(before), problem.readPoint(member), edgeKinds.ww, key);
  });
}
