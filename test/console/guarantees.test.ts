/** Looks at what must hold, and what keeps one from ending. Real ones are in the faults' tests. */
import { expect, test } from "vitest";
import { systemClock } from "../../aws/system.ts";
import { Guarantees } from "../../console/traffic/guarantees.ts";
import type { Client } from "../../sdk/index.ts";

/** A client of which only snapshots are asked. */
function lookingAt(snapshot: (signal: AbortSignal) => Promise<unknown>): Guarantees {
  const db = {
    snapshot: ({ signal }: { readonly signal: AbortSignal }) => snapshot(signal),
  } as unknown as Client;
  const accountIds = ["a", "b"];
  return new Guarantees({ db, clock: systemClock, accountIds, totalCents: 20 });
}

async function firstLook(guarantees: Guarantees) {
  for (;;) {
    const [first] = guarantees.state();
    if (first?.last !== undefined) return first;
    await systemClock.sleep(5);
  }
}

const rows = (...cents: readonly number[]) => cents.map((balanceCents) => ({ balanceCents }));

test.each([
  [rows(5, 15), 0, /^last look took/],
  [rows(5, 16), 1, /add up to 21 in place of 20/],
  [rows(25, -5), 1, /overdrawn/],
  [[undefined, ...rows(15)], 1, /add up to 15/],
])("balances of %j are %i violations", async (found, violations, last) => {
  const guarantees = lookingAt(() => Promise.resolve(found));
  expect(await firstLook(guarantees)).toMatchObject({
    ...{ checks: 1, violations },
    last: expect.stringMatching(last) as string,
  });
  await guarantees.stop();
});

test("a look that fails, whatever of, counts as none and is told", async () => {
  const guarantees = lookingAt(() => Promise.reject(new TypeError("no such thing")));
  expect(await firstLook(guarantees)).toMatchObject({
    ...{ checks: 0, violations: 0, last: "could not look: no such thing" },
  });
  await guarantees.stop();
});

test("stopping in the midst of a look ends it, and is no fault", async () => {
  const guarantees = lookingAt(
    (signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          reject(signal.reason as Error);
        });
      }),
  );
  await guarantees.stop();
  expect(guarantees.state()[0]).toMatchObject({ checks: 0, violations: 0 });
});
