/**
 * Moves a table that is in use from one access to the other (core/table-access.ts): does what each
 * state waits for, and enters the next one. All that is known of a move stands in the registry; so
 * one that was broken off, wherever, goes on, or back, when it is begun again. It then waits anew:
 * of how long another process has waited nobody can tell.
 */
import { assert } from "../core/assert.ts";
import { InvalidRequestError, StoreError, UnavailableError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { Clock, ControlStore, Random } from "../core/ports.ts";
import {
  isClosed,
  moveStep,
  type AccessState,
  type MoveWork,
  type Sweep,
} from "../core/table-access.ts";
import type { ShardId, TableAccess, TableDescription, Timestamp } from "../core/types.ts";
import { backOff, persistently } from "./bounded.ts";
import type { HeldState, HeldTable, RegistryStore } from "./control-registry.ts";
import type { Swept } from "./sweep-table.ts";

export type MoveParts = {
  readonly control: Pick<RegistryStore, "changeAccess"> & Pick<ControlStore, "readWatermark">;
  readonly clock: Clock;
  readonly random: Random;
  /** The shards as they are now. */
  readonly shards: (signal: AbortSignal | undefined) => Promise<readonly MovedIn[]>;
  /**
   * Commits something of the mover's own under a key that never comes again, by which replay is
   * woken, and says when.
   */
  readonly commit: (idempotencyKey: string, signal: AbortSignal | undefined) => Promise<Timestamp>;
  /** One pass. */
  readonly sweep: (
    table: TableDescription,
    removes: Sweep,
    signal: AbortSignal | undefined,
  ) => Promise<Swept>;
};

/** One shard in which a move has to settle. */
export type MovedIn = {
  readonly shard: ShardId;
  /** A key that nobody uses again, whose entry lies in the shard. */
  readonly newKey: () => string;
};

export type MoveProgress =
  | { readonly kind: "entered"; readonly state: AccessState }
  | { readonly kind: "waiting"; readonly leftMs: number }
  | { readonly kind: "settled" }
  | ({ readonly kind: "swept" } & Swept);

export type MoveTask = {
  readonly table: string;
  readonly to: TableAccess;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: MoveProgress) => void) | undefined;
};

/**
 * @throws InvalidRequestError for a table that is not registered or has history; and when another
 * process has taken the move over. UnavailableError when what was committed is not installed in
 * time. StoreError. The signal's reason.
 */
export async function moveTable(parts: MoveParts, task: MoveTask): Promise<TableDescription> {
  const mover = nameOf(parts.random.bytes(16));
  let table = await claimed(parts, task, mover);
  const report = (state: AccessState): void => task.onProgress?.({ kind: "entered", state });
  for (;;) {
    report(table);
    const step = moveStep(table, task.to);
    if (step.kind === "arrived") return table;
    try {
      for (const work of step.work) await done(parts, { ...task, work, described: table });
    } catch (error) {
      const opened = await openedAgain(parts, task, { mover, from: table });
      if (opened !== undefined) report(opened);
      throw error;
    }
    table = await entered(parts, task, { mover, from: table, next: step.next });
  }
}

/**
 * Whoever gives up leaves no table closed, on which nobody commits. Undefined where it was not, or
 * stays so: begun again, the move goes on.
 */
async function openedAgain(
  parts: MoveParts,
  { table, to }: MoveTask,
  { mover, from }: { readonly mover: string; readonly from: TableDescription },
): Promise<TableDescription | undefined> {
  if (!isClosed(from)) return undefined;
  const back = to === "mixed" ? "transactional" : "mixed";
  const step = moveStep(from, back);
  assert(step.kind === "go" && step.work.length === 0, "a closed table turns round at once");
  const next = { mover, from, next: step.next };
  return entered(parts, { table, to: back }, next).catch(() => undefined);
}

function nameOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** From here on whoever else moves it finds that it is no longer his. */
function claimed(parts: MoveParts, task: MoveTask, mover: string): Promise<TableDescription> {
  const { table, to } = task;
  return changed(parts, task, (before) => {
    if (moveStep(before, to).kind === "arrived") return before;
    if (to === "mixed" && before.history) {
      throw new InvalidRequestError(
        "history",
        `table "${table}" keeps history, which a mixed table cannot: native writes put nothing ` +
          `aside. Switch it off first: \`npx tidemark register ${table} --no-history\``,
      );
    }
    if (to === "mixed" && before.baseSince !== undefined) {
      throw new InvalidRequestError(
        "base",
        `table "${table}" takes BASE transactions, whose locks native writes do not look at: it ` +
          "stays transactional",
      );
    }
    return { ...stateOf(before), mover };
  });
}

function entered(
  parts: MoveParts,
  task: MoveTask,
  step: { readonly mover: string; readonly from: AccessState; readonly next: AccessState },
): Promise<TableDescription> {
  const { from, next } = step;
  const isOver = next.move === undefined;
  return changed(parts, task, (before) => {
    // An answer that was lost.
    const isThere = isSame(before, next);
    if (isThere && (isOver || before.mover === step.mover)) return before;
    if (before.mover === step.mover && isSame(before, from)) {
      return { ...next, mover: isOver ? undefined : step.mover };
    }
    throw new InvalidRequestError(
      "table",
      `another process moves table "${task.table}" by now; this one has stopped`,
    );
  });
}

function changed(
  parts: MoveParts,
  { table, signal }: MoveTask,
  next: (before: HeldTable) => HeldState,
): Promise<TableDescription> {
  const options = signal === undefined ? {} : { signal };
  return persistently(parts, signal, () => parts.control.changeAccess(table, next, options));
}

function stateOf({ access, move }: AccessState): AccessState {
  return { access, ...(move === undefined ? {} : { move }) };
}

function isSame(a: AccessState, b: AccessState): boolean {
  return a.access === b.access && a.move?.stage === b.move?.stage && a.move?.to === b.move?.to;
}

type Duty = MoveTask & { readonly work: MoveWork; readonly described: TableDescription };

async function done(parts: MoveParts, { work, ...duty }: Duty): Promise<void> {
  switch (work.kind) {
    case "wait":
      return wait(parts, duty, work.forMs);
    case "settle":
      return settle(parts, duty);
    case "sweep":
      return sweep(parts, duty, work.removes);
  }
}

/** By the monotonic clock alone: one that is set forward would cut the wait short. */
async function wait(
  { clock }: MoveParts,
  { signal, onProgress }: Pick<MoveTask, "signal" | "onProgress">,
  forMs: number,
): Promise<void> {
  const beganMs = clock.monotonicMs();
  for (;;) {
    const leftMs = forMs - (clock.monotonicMs() - beganMs);
    if (leftMs <= 0) return;
    onProgress?.({ kind: "waiting", leftMs });
    await clock.sleep(Math.min(leftMs, limits.accessProgressMs), signal);
  }
}

/**
 * In each log a commit stands after all that were certified by an older state of the registry, and
 * the watermark has passed it: they are installed, and nothing that was prepared by it is open. A
 * log that was split off meanwhile may hold some of that, too.
 */
async function settle(
  parts: MoveParts,
  duty: Pick<MoveTask, "table" | "signal" | "onProgress">,
): Promise<void> {
  const { signal, onProgress } = duty;
  const settled = new Set<ShardId>();
  for (;;) {
    const all = await persistently(parts, signal, () => parts.shards(signal));
    const left = all.filter(({ shard }) => !settled.has(shard));
    if (left.length === 0) break;
    await Promise.all(left.map((each) => settleIn(parts, duty, each)));
    for (const { shard } of left) settled.add(shard);
  }
  onProgress?.({ kind: "settled" });
}

async function settleIn(
  parts: MoveParts,
  { table, signal }: Pick<MoveTask, "table" | "signal">,
  { shard, newKey }: MovedIn,
): Promise<void> {
  const { clock } = parts;
  const beganMs = clock.monotonicMs();
  const isLate = (): boolean => clock.monotonicMs() - beganMs > limits.accessSettleMsMax;
  const at = await committed(parts, { newKey, isLate, signal });
  let wokenMs = clock.monotonicMs();
  for (;;) {
    const watermark = await persistently(parts, signal, () =>
      parts.control.readWatermark(shard, signal === undefined ? {} : { signal }),
    );
    if (watermark !== undefined && watermark.timestamp >= at) return;
    if (isLate()) {
      throw new UnavailableError(
        `what was committed to table "${table}" is not installed: replay does not get there. The ` +
          "move has stopped, and goes on, or back, when it is begun again",
      );
    }
    await clock.sleep(limits.accessLookMs, signal);
    if (clock.monotonicMs() - wokenMs < limits.accessWakeMs) continue;
    // Replay is woken by records; without one it comes by its schedule.
    await committed(parts, { newKey, isLate, signal });
    wokenMs = clock.monotonicMs();
  }
}

/** A commit of which it is not known whether it stands is followed by another one. */
async function committed(
  { commit, clock, random }: MoveParts,
  {
    newKey,
    isLate,
    signal,
  }: {
    readonly newKey: MovedIn["newKey"];
    readonly isLate: () => boolean;
    readonly signal: AbortSignal | undefined;
  },
): Promise<Timestamp> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await commit(newKey(), signal);
    } catch (error) {
      const isFinal = error instanceof InvalidRequestError;
      const isRejected = error instanceof StoreError && error.fault === "rejected";
      if (isFinal || isRejected || signal?.aborted === true || isLate()) throw error;
      await backOff(tries, { clock, random }, signal);
    }
  }
}

async function sweep(
  { sweep: pass, clock }: MoveParts,
  { described, signal, onProgress }: Pick<Duty, "described" | "signal" | "onProgress">,
  removes: Sweep,
): Promise<void> {
  for (let passes = 1; ; passes += 1) {
    const found = await pass(described, removes, signal);
    onProgress?.({ kind: "swept", ...found });
    if (found.waiting === 0) return;
    if (passes === limits.accessSweepsMax) {
      throw new UnavailableError(
        `items of table "${described.name}" are fenced or written whenever the sweep comes to ` +
          "them. The move has stopped, and goes on when it is begun again",
      );
    }
    await clock.sleep(limits.accessSweepPauseMs, signal);
  }
}
