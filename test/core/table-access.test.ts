/** How a table comes from one access to the other: every state, every way, what each waits for. */
import { describe, expect, test } from "vitest";
import {
  accessDuring,
  isClosed,
  isGuarded,
  moveStages,
  moveStep,
  tableAccesses,
  takesLocalCommits,
  type AccessState,
  type MoveWork,
} from "../../core/table-access.ts";
import type { TableAccess } from "../../core/types.ts";

const plain: AccessState = { access: "transactional" };
const mixed: AccessState = { access: "mixed" };

const nameOf = ({ access, move }: AccessState): string =>
  move === undefined ? access : `${move.stage} to ${move.to}`;

/** The states from here to the end, and what was done in each. */
function way(from: AccessState, to: TableAccess): { states: AccessState[]; work: MoveWork[][] } {
  const states = [from];
  const work: MoveWork[][] = [];
  for (let state = from; ;) {
    const step = moveStep(state, to);
    if (step.kind === "arrived") return { states, work };
    expect(states.length).toBeLessThan(8);
    work.push([...step.work]);
    state = step.next;
    states.push(state);
  }
}

const everyState: readonly AccessState[] = [
  ...new Map(
    [plain, mixed]
      .flatMap((from) => tableAccesses.flatMap((to) => way(from, to).states))
      .map((state) => [nameOf(state), state] as const),
  ).values(),
];

test("to mixed: closed, guarded, swept of tombstones", () => {
  const { states, work } = way(plain, "mixed");
  expect(states.map(nameOf)).toEqual([
    "transactional",
    "closed to mixed",
    "guarded to mixed",
    "sweeping to mixed",
    "mixed",
  ]);
  expect(work.map((each) => each.map(({ kind }) => kind))).toEqual([
    [],
    ["wait", "settle"],
    ["wait"],
    ["wait", "settle", "sweep"],
  ]);
});

test("to transactional: guarded, swept of marks, closed, tidied", () => {
  const { states, work } = way(mixed, "transactional");
  expect(states.map(nameOf)).toEqual([
    "mixed",
    "guarded to transactional",
    "closed to transactional",
    "tidying to transactional",
    "transactional",
  ]);
  expect(work.map((each) => each.map(({ kind }) => kind))).toEqual([
    [],
    ["wait", "sweep"],
    ["wait", "settle"],
    ["wait", "sweep"],
  ]);
});

describe.each(everyState)("$access $move", (state) => {
  test.each(tableAccesses)("has a way to %s, which passes no state twice", (to) => {
    const { states } = way(state, to);
    expect(nameOf(states.at(-1) ?? state)).toBe(to);
    expect(new Set(states.map(nameOf)).size).toBe(states.length);
  });

  test("is never next to one that whoever knows it cannot bear", () => {
    for (const to of tableAccesses) {
      const step = moveStep(state, to);
      if (step.kind === "arrived") continue;
      const { next, work } = step;
      // Who commits transactionally, and who commits by prepare and vote or without the log, never
      // meet: in between lies a closed one, which ends when all that was committed is installed.
      const isPlain = (each: AccessState) => each.access === "transactional" && !isClosed(each);
      const isMixed = (each: AccessState) => each.access === "mixed";
      expect(isPlain(state) && isMixed(next)).toBe(false);
      expect(isMixed(state) && isPlain(next)).toBe(false);
      if (isClosed(state) && state.move?.to === to) {
        expect(work.map(({ kind }) => kind)).toEqual(["wait", "settle"]);
      }
      // Nor do local commits and native writes, and who reads by the log alone.
      if (takesLocalCommits(next)) expect(isGuarded(state) || isClosed(state)).toBe(false);
      if (takesLocalCommits(state)) expect(isGuarded(next)).toBe(true);
    }
  });
});

test("a stage is read as its access says: by the log where nobody commits", () => {
  expect(moveStages.map((stage) => [stage, accessDuring(stage)])).toEqual([
    ["closed", "transactional"],
    ["guarded", "mixed"],
    ["sweeping", "mixed"],
    ["tidying", "transactional"],
  ]);
});

test("a move that is turned round before anybody was mixed is over at once", () => {
  const closed: AccessState = { access: "transactional", move: { to: "mixed", stage: "closed" } };
  expect(moveStep(closed, "transactional")).toEqual({ kind: "go", work: [], next: plain });
});

test("one that is turned round later waits as one that begins there", () => {
  const guarded: AccessState = { access: "mixed", move: { to: "mixed", stage: "guarded" } };
  const back = way(guarded, "transactional");
  expect(back.work).toEqual([[], ...way(mixed, "transactional").work.slice(1)]);
});
