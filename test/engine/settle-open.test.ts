/** Who meets what is prepared waits for its vote for a while, and then votes against. */
import { describe, expect, test } from "vitest";
import { CommitUnknownError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { OpenTransactions } from "../../core/open-transactions.ts";
import type { Clock } from "../../core/ports.ts";
import type { LogPosition, Timestamp, Verdict } from "../../core/types.ts";
import { settleOpen } from "../../engine/committing/settle-open.ts";
import type { TailFollower } from "../../engine/log/tail-follower.ts";
import { id, startTimestamp } from "../core/oracle-harness.ts";

const decided: Verdict = {
  ...{ kind: "aborted", id: id(1), timestamp: (startTimestamp + 1) as Timestamp },
  reason: { kind: "probed" },
};

/** A log in which one is open, with a clock that only a test moves on. */
function world({
  refreshes = () => false,
  refusal,
}: { readonly refreshes?: () => boolean; readonly refusal?: Error } = {}) {
  const open = new OpenTransactions();
  const payload = { kind: "inline", bytes: new Uint8Array(1) } as const;
  const prepared: Verdict = {
    ...{ kind: "prepared", id: id(1), timestamp: startTimestamp, checks: [], writes: [], payload },
  };
  open.fold(prepared, 1 as LogPosition);
  const seen = {
    asleepMs: [] as number[],
    aborts: 0,
    signal: undefined as AbortSignal | undefined,
  };
  let wake: () => void = () => undefined;
  let vote: (verdict: Verdict) => void = () => undefined;
  const decide = (): void => {
    open.fold(decided, 2 as LogPosition);
  };
  const clock = {
    sleep: (ms: number, signal?: AbortSignal) => {
      seen.asleepMs.push(ms);
      seen.signal = signal;
      return new Promise<void>((resolve) => {
        wake = resolve;
      });
    },
  } as Clock;
  const follower = {
    tail: { open },
    awaitVerdict: () =>
      new Promise<Verdict>((resolve) => {
        vote = resolve;
      }),
    refresh: () => {
      if (refreshes()) decide();
      return Promise.resolve();
    },
  } as unknown as TailFollower;
  const settle = (met = 1, signal = new AbortController().signal) =>
    settleOpen(
      { clock, follower },
      {
        ...{ id: id(1), met, signal },
        abort: () => {
          seen.aborts += 1;
          if (refusal !== undefined) return Promise.reject(refusal);
          decide();
          return Promise.resolve();
        },
      },
    );
  return { settle, seen, open, decide, wake: () => wake(), vote: () => vote(decided) };
}

describe("what is open in somebody's way", () => {
  // The simulator, status-updates seed 1: a caller asked for the other's outcome, as its own.
  test("leaves who waits for it in vain with nothing committed, and says so", async () => {
    const { settle, wake } = world({ refusal: new CommitUnknownError("in time", id(1)) });
    const settled = settle();
    wake();
    await expect(settled).rejects.toMatchObject({ code: "unavailable", outcome: "aborted" });
  });

  test("is waited for, and not voted against when its vote comes", async () => {
    const { settle, seen, decide, vote } = world();
    const settled = settle();
    decide();
    vote();
    await settled;
    expect(seen.aborts).toBe(0);
    // Nothing of it goes on.
    expect(seen.signal?.aborted).toBe(true);
  });

  test("is voted against when patience is over", async () => {
    const { settle, seen, open, wake } = world();
    const settled = settle();
    wake();
    await settled;
    expect(seen.aborts).toBe(1);
    expect(open.size).toBe(0);
  });

  test("is not voted against where the log has its vote, and the tail had not", async () => {
    const { settle, seen, wake } = world({ refreshes: () => true });
    const settled = settle();
    wake();
    await settled;
    expect(seen.aborts).toBe(0);
  });

  test("that is decided already costs nothing", async () => {
    const { settle, seen, decide } = world();
    decide();
    await settle();
    expect(seen).toMatchObject({ asleepMs: [], aborts: 0 });
  });

  test.each([
    [1, limits.openPatienceMsMin],
    [2, 2 * limits.openPatienceMsMin],
    [40, limits.openPatienceMsMax],
  ])("has the more patience the more the caller has met: %d", async (met, patienceMs) => {
    const { settle, seen, wake } = world();
    const settled = settle(met);
    wake();
    await settled;
    expect(seen.asleepMs).toEqual([patienceMs]);
  });
});
