/**
 * Who may write the items of a table: transactions alone, or native operations beside them; and how
 * a table that is in use comes from the one to the other (docs/adr/0014-native-operations.md,
 * Moving a table).
 *
 * A process goes by the copy of the registry that it has. So each state of a move is one in which
 * whoever knows it and whoever still knows the one before do each other no harm; and a state ends
 * only when nobody is left who knows the one before, and nothing of him is on its way.
 *
 *     transactional ──▶ closed ──▶ guarded ──▶ sweeping ──▶ mixed      to mixed
 *     transactional ◀── tidying ◀── closed ◀── guarded ◀─── mixed      to transactional
 *
 * | state    | who writes                      | reads by   | a delete leaves |
 * | -------- | ------------------------------- | ---------- | --------------- |
 * | closed   | nobody                          | the log    |                 |
 * | guarded  | transactions, prepared          | the item   | a tombstone     |
 * | sweeping | transactions, prepared          | the item   | nothing         |
 * | mixed    | those, local commits and native | the item   | nothing         |
 * | tidying  | transactions                    | the log    | a tombstone     |
 */
import { assert, assertNever } from "./assert.ts";
import { InvalidRequestError } from "./errors.ts";
import * as limits from "./limits.ts";
import type { MoveStage, TableAccess, TableDescription, TableMove, WantedTable } from "./types.ts";

export const tableAccesses = ["transactional", "mixed"] as const satisfies readonly TableAccess[];

export const moveStages = [
  "closed",
  "guarded",
  "sweeping",
  "tidying",
] as const satisfies readonly MoveStage[];

const accessDefault: TableAccess = "transactional";

/** What of a description says who may write. */
export type AccessState = { readonly access: TableAccess; readonly move?: TableMove };

/** Nobody commits to it for now. */
export function isClosed({ move }: AccessState): boolean {
  return move?.stage === "closed";
}

/** Mixed, and still a delete leaves a tombstone: an install by version may be on its way. */
export function isGuarded({ move }: AccessState): boolean {
  return move?.stage === "guarded";
}

/** Whether single items may be written without the log, as native writers do. */
export function takesLocalCommits({ access, move }: AccessState): boolean {
  return access === "mixed" && move === undefined;
}

/**
 * What stands in the registry after a registration. One that does not say it keeps what is
 * registered.
 * @param before what is registered; undefined: nothing.
 * @throws InvalidRequestError for history on a mixed table, and for a change.
 */
export function accessAfter(
  before: TableDescription | undefined,
  wanted: WantedTable,
): AccessState {
  const { name } = wanted;
  const access = wanted.access ?? before?.access ?? accessDefault;
  if (before !== undefined && access !== before.access) {
    const state =
      before.move === undefined
        ? `is registered as ${before.access}`
        : `is being moved to ${before.move.to}`;
    throw new InvalidRequestError(
      "access",
      `table "${name}" ${state}, which a registration does not change; ` +
        `\`npx tidemark move ${name} --access ${access}\` moves it`,
    );
  }
  const move = before?.move;
  if (wanted.history === true && (access === "mixed" || move !== undefined)) {
    throw new InvalidRequestError(
      "history",
      `table "${name}" cannot have history and be mixed, or on the way there or back: native ` +
        "writes put nothing aside, so that there is no past to read",
    );
  }
  return { access, ...(move === undefined ? {} : { move }) };
}

/** What has to be done before a state may end, in this order. */
export type MoveWork =
  /** Until nobody goes by an older copy of the registry, or nothing older is on its way. */
  | { readonly kind: "wait"; readonly forMs: number }
  /** A commit of its own in the log, and the watermark beyond it. */
  | { readonly kind: "settle" }
  | { readonly kind: "sweep"; readonly removes: Sweep };

/**
 * What a sweep takes away (core/swept-item.ts): tombstones of transactional deletes; the marks of
 * items that native writers have made of a placeholder, which transactions would take for deleted;
 * fences that came late, and the placeholders that they made.
 */
export type Sweep = "tombstones" | "marks" | "fences";

export type MoveStep =
  | { readonly kind: "arrived" }
  /** First the work, then the registry says `next`. */
  | {
      readonly kind: "go";
      readonly work: readonly MoveWork[];
      readonly next: AccessState;
    };

const whoCommits: MoveWork = { kind: "wait", forMs: limits.accessCommitsMs };
const whoReads: MoveWork = { kind: "wait", forMs: limits.accessReadsMs };
const guard: MoveWork = { kind: "wait", forMs: limits.accessGuardMs };
const settle: MoveWork = { kind: "settle" };

/**
 * What comes next for a table on its way. Every state has a way to either end, so a move that was
 * broken off goes on, or back.
 */
export function moveStep(state: AccessState, to: TableAccess): MoveStep {
  const { access, move } = state;
  assert(move === undefined || access === accessDuring(move.stage), "a stage has its access");
  if (move === undefined) {
    if (access === to) return { kind: "arrived" };
    return go([], to === "mixed" ? stateOf("closed", to) : stateOf("guarded", to));
  }
  return to === "mixed" ? towardsMixed(move) : towardsTransactional(move);
}

function towardsMixed(move: TableMove): MoveStep {
  const isOnWay = move.to === "mixed";
  const { stage } = move;
  switch (stage) {
    case "closed":
      // On the way back nobody has committed transactionally: then it is as if none ever had.
      return go(isOnWay ? [whoCommits, settle] : [], stateOf("guarded", "mixed"));
    case "guarded":
      // Late installs are past, and whoever reads by the log alone.
      return go(isOnWay ? [guard] : [], stateOf(isOnWay ? "sweeping" : "guarded", "mixed"));
    case "sweeping":
      // Whoever leaves tombstones is gone, and his commits are installed.
      return go([whoCommits, settle, { kind: "sweep", removes: "tombstones" }], {
        access: "mixed",
      });
    case "tidying":
      return go([], stateOf("closed", "mixed"));
    default:
      return assertNever(stage);
  }
}

function towardsTransactional(move: TableMove): MoveStep {
  const isOnWay = move.to === "transactional";
  const { stage } = move;
  switch (stage) {
    case "closed":
      // On the way there nobody has been mixed yet.
      if (!isOnWay) return go([], { access: "transactional" });
      return go([whoReads, settle], stateOf("tidying", "transactional"));
    case "guarded":
      // Late native calls and local commits are past.
      if (!isOnWay) return go([], stateOf("guarded", "transactional"));
      return go([guard, { kind: "sweep", removes: "marks" }], stateOf("closed", "transactional"));
    case "sweeping":
      return go([], stateOf("guarded", "transactional"));
    case "tidying":
      // Fences that come late harm nobody, and are not left lying about.
      return go([guard, { kind: "sweep", removes: "fences" }], { access: "transactional" });
    default:
      return assertNever(stage);
  }
}

/** The access that a table has in a stage: closed, it is read by the log, in either direction. */
export function accessDuring(stage: MoveStage): TableAccess {
  return stage === "guarded" || stage === "sweeping" ? "mixed" : "transactional";
}

function stateOf(stage: MoveStage, to: TableAccess): AccessState {
  return { access: accessDuring(stage), move: { to, stage } };
}

function go(work: readonly MoveWork[], next: AccessState): MoveStep {
  return { kind: "go", work, next };
}
