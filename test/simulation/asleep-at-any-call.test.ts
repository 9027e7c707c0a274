/**
 * The net for one kind of mistake: an age is judged, something is awaited, and then what was judged
 * is relied on. A machine sleeps at every call of a port in turn, before it is made and behind it,
 * for longer than any age may be. What comes out is right, or a typed error.
 */
import { expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import { TransactionError } from "../../core/errors.ts";
import type { Ports } from "../../core/ports.ts";
import { createEngine } from "../../engine/engine.ts";
import { defineTable } from "../../sdk/index.ts";
import type { SimulatedProcess } from "../../testing/kernel/simulated-process.ts";
import { createTestCloud, type TestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const minuteMs = 60_000;
const sleepMs = 50 * minuteMs;
const key = (id: string) => ({ id: { S: id } });

type Sleep = { readonly call: number; readonly when: "before" | "behind" };

/** The ports of a machine that sleeps at one call, counted from when it is told. */
class Sleeper {
  readonly process: SimulatedProcess;
  readonly ports: Ports;
  calls = 0;
  #sleep: Sleep | undefined;

  constructor(cloud: TestCloud, name: string) {
    this.process = cloud.world.startProcess(name, { exact: true });
    const ports = cloud.deployment.portsOf(this.process, { calm: true });
    const { stream, log, items: store, versions, control } = ports;
    this.ports = {
      ...ports,
      stream: this.#watched(stream),
      log: this.#watched(log),
      items: this.#watched(store),
      versions: this.#watched(versions),
      control: this.#watched(control),
    };
  }

  sleepAt(sleep: Sleep | undefined): void {
    this.calls = 0;
    this.#sleep = sleep;
  }

  #watched<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get: (target, name): unknown => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        return (...args: unknown[]): unknown => {
          this.calls += 1;
          const call = (): unknown => Reflect.apply(method, target, args);
          if (this.calls !== this.#sleep?.call) return call();
          if (this.#sleep.when === "behind") {
            const answer = call();
            this.process.freeze(sleepMs, "stand");
            return answer;
          }
          this.process.freeze(sleepMs, "stand");
          return this.process.clock.sleep(0).then(call);
        };
      },
    });
  }
}

/** What `run` gives where its machine sleeps nowhere, and at each call in turn, all at once. */
async function everywhere<T>(
  cloud: TestCloud,
  run: {
    readonly prepare: (sleeper: Sleeper) => Promise<() => Promise<T>>;
    /** When all are ready. */
    readonly meanwhile: () => Promise<void>;
  },
): Promise<readonly { readonly sleep: Sleep; readonly seen: T | string }[]> {
  const awake = new Sleeper(cloud, "awake");
  const first = await run.prepare(awake);
  awake.sleepAt(undefined);
  await first();
  expect(awake.calls).toBeGreaterThan(0);
  const sleeps = Array.from({ length: awake.calls }, (_, i) => i + 1).flatMap(
    (call): readonly Sleep[] => [
      { call, when: "before" },
      { call, when: "behind" },
    ],
  );
  const ready = await Promise.all(
    sleeps.map(async (sleep) => {
      const sleeper = new Sleeper(cloud, `asleep ${sleep.when} call ${sleep.call}`);
      return { sleep, sleeper, go: await run.prepare(sleeper) };
    }),
  );
  const ended = ready.map(async ({ sleep, sleeper, go }) => {
    sleeper.sleepAt(sleep);
    const seen = await go().catch((error: unknown) => {
      if (error instanceof TransactionError) return error.name;
      throw error;
    });
    return { sleep, seen };
  });
  await run.meanwhile();
  await cloud.clock.sleep(sleepMs + minuteMs);
  expect(cloud.deployment.metrics.get("TombstonesRemoved")).toBeGreaterThan(0);
  return Promise.all(ended);
}

async function putRows(cloud: TestCloud, ids: readonly string[]): Promise<number> {
  const { receipt } = await cloud.createClient("writer").transact((tx) => {
    for (const id of ids) tx.put(items, { id, n: 1 });
    return Promise.resolve();
  });
  return receipt.commitTimestamp ?? 0;
}

const deleteRow = (cloud: TestCloud) =>
  cloud.createClient("deleter").transact((tx) => {
    tx.put(items, { id: "b", n: 2 });
    tx.delete(items, "a");
    return Promise.resolve();
  });

test("a snapshot of the past, when what is kept was shortened just now", async () => {
  const cloud = await createTestCloud({
    tables: [testTable(items, { partitionKey: "id", history: true })],
  });
  await cloud.run(async () => {
    const asOf = await putRows(cloud, ["a", "b"]);
    await deleteRow(cloud);
    const operator = cloud.world.startProcess("operator", { exact: true });
    const { control } = cloud.deployment.portsOf(operator, { calm: true });
    const ended = await everywhere(cloud, {
      prepare: async ({ ports }) => {
        const engine = createEngine(ports, {});
        await engine.snapshot({}, (s) => s.get("items", key("a")));
        return async () => {
          const { result } = await engine.snapshot({ asOf: asOf as never }, (s) =>
            s.get("items", key("a")),
          );
          return result?.["n"] ?? "absent";
        };
      },
      meanwhile: () => control.retainHistory(limits.historyRetentionMsMin),
    });
    for (const { sleep, seen } of ended) {
      const right = typeof seen === "object" || seen === "SnapshotTooOldError";
      const typed = seen === "UnavailableError" || right;
      expect({ sleep, seen, typed }).toEqual({ sleep, seen, typed: true });
    }
  });
});

test("a transaction that is resumed, when what it has not read was deleted", async () => {
  const cloud = await createTestCloud({ tables: [testTable(items, { partitionKey: "id" })] });
  await cloud.run(async () => {
    await putRows(cloud, ["a", "b"]);
    const ended = await everywhere(cloud, {
      prepare: async ({ ports }) => {
        const engine = createEngine(ports, {});
        const first = await engine.begin({ isolation: "snapshot" });
        await first.get("items", key("b"));
        const state = first.state();
        first.close();
        return async () => {
          const resumed = await engine.resume(state, {});
          try {
            const a = await resumed.get("items", key("a"));
            return { isMoved: resumed.readTimestamp !== state.parts[0]?.readTimestamp, a };
          } finally {
            resumed.close();
          }
        };
      },
      meanwhile: async () => {
        await deleteRow(cloud);
      },
    });
    for (const { sleep, seen } of ended) {
      if (typeof seen === "string") continue;
      // Beside the old "b" there was an "a".
      expect({ sleep, ...seen }).toMatchObject({ sleep, a: { n: { N: "1" } } });
    }
  });
});

test("a change of the registry, when it is put long after it was asked for", async () => {
  const cloud = await createTestCloud({
    tables: [testTable(items, { partitionKey: "id", history: true })],
    historyRetentionMs: limits.historyRetentionMsMin,
  });
  await cloud.run(async () => {
    const asOf = await putRows(cloud, ["a", "b"]);
    await deleteRow(cloud);
    await cloud.clock.sleep(minuteMs);
    const hours = new Map<Sleeper, number>();
    const ended = await everywhere(cloud, {
      prepare: (sleeper) => {
        // Each one wants another length.
        hours.set(sleeper, hours.size === 0 ? limits.historyRetentionMsMin : 3600_000);
        const retentionMs = (hours.get(sleeper) ?? 0) + hours.size;
        return Promise.resolve(async () => {
          await sleeper.ports.control.retainHistory(retentionMs);
          return "changed";
        });
      },
      meanwhile: () => Promise.resolve(),
    });
    expect(ended.every(({ seen }) => seen === "changed")).toBe(true);
    const looked = await cloud
      .createClient("reader")
      .snapshot({ asOf, attemptsMax: 1 }, (s) => s.get(items, "a"))
      .then((row) => row?.n ?? "absent")
      .catch((error: unknown) => (error as Error).name);
    expect(["SnapshotTooOldError", 1]).toContain(looked);
  });
});
