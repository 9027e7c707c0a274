/**
 * An invocation whose deadline has come (functions/shared/before-deadline.ts) makes no more calls:
 * every one carries its signal, and every wait ends with it.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { ItemStore, StreamRecord } from "../../core/ports.ts";
import type { SequenceNumber } from "../../core/types.ts";
import { reap } from "../../functions/reaper/service.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { notingCalls } from "../harness/noting-ports.ts";
import { startWithoutReplay, type WithoutReplay } from "../harness/without-replay.ts";
import { failureOf, key, number } from "../integration/support.ts";
import { certify, certifyingEngine, runReplay } from "./replay-runs.ts";

const over = new Error("the invocation is over");
let tables: WithoutReplay;

beforeAll(async () => {
  tables = await startWithoutReplay();
});
afterAll(() => tables.deployment.stop());

async function certifyEachKind(): Promise<void> {
  const { deployment, plain, kept } = tables;
  const client = certifyingEngine(deployment.stores);
  const writes = [{ ...key("a"), n: number(1) }];
  await certify(client, { of: plain, writes, deletes: [key("b")] });
  await certify(client, { of: kept, writes });
}

test("every call of replay, and every call of the reaper behind it", async () => {
  const { stores } = tables.deployment;
  const { signal } = new AbortController();
  await certifyEachKind();
  const replay = notingCalls(stores.openPorts(), signal);
  await runReplay(stores, { ports: replay.ports, signal });
  expect([...replay.made]).toEqual(
    expect.arrayContaining([
      "control.keyHasher",
      "log.readAfter",
      "stream.read",
      "items.versions",
      "items.get",
      "versions.save",
      "items.install",
      "control.queueTombstones",
      "control.advanceWatermark",
    ]),
  );
  // Kept for the process's next invocation, which may wait for the same answer.
  expect([...replay.withoutSignal]).toEqual(["control.registry"]);

  const reaper = notingCalls(stores.openPorts(), signal);
  const { nowMs } = reaper.ports.clock;
  for (const laterMs of [0, limits.tombstoneGraceMs]) {
    await reap({
      ports: { ...reaper.ports, clock: { ...reaper.ports.clock, nowMs: () => nowMs() + laterMs } },
      observability: silentObservability,
      budget: { remainingMs: () => 60_000, signal },
    });
  }
  expect([...reaper.made]).toEqual(
    expect.arrayContaining(["items.removeTombstone", "control.dropTombstones"]),
  );
  expect([...reaper.withoutSignal]).toEqual([]);
});

test("replay that hangs in a call", async () => {
  const { stores } = tables.deployment;
  const deadline = new AbortController();
  await certifyEachKind();
  const noted = notingCalls(stores.openPorts(), deadline.signal);
  const versions: ItemStore["versions"] = (_keys, { signal }) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener("abort", () => {
        reject(over);
      });
      deadline.abort(over);
    });
  const items = { ...noted.ports.items, versions };
  const { signal } = deadline;
  expect(await failureOf(runReplay(stores, { ports: { ...noted.ports, items }, signal }))).toBe(
    over,
  );
  expect([...noted.made]).not.toContain("items.install");
});

test("replay that waits for an oracle", async () => {
  const { stores } = tables.deployment;
  const deadline = new AbortController();
  const last = "9".repeat(56) as SequenceNumber;
  const record: StreamRecord = { sequenceNumber: last, arrivalMs: 0, data: new Uint8Array() };
  const waits = runReplay(stores, {
    records: [record],
    patienceMs: 3_600_000,
    remainingMs: () => 3_600_000,
    signal: deadline.signal,
  });
  deadline.abort(over);
  expect(await failureOf(waits)).toBe(over);
});
