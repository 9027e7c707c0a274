/** Express commit of one process, on the test cloud (docs/adr/0013-express-commit.md). */
import { AsyncLocalStorage } from "node:async_hooks";
import { expect, test } from "vitest";
import { defineTable } from "../../../sdk/index.ts";
import { createClientEngine } from "../../../engine/client-engine.ts";
import type { EngineEvent } from "../../../engine/types.ts";
import { StoreError } from "../../../core/errors.ts";
import type { ClientPorts } from "../../../core/ports.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";

const counters = defineTable<{ readonly n: number }, { readonly id: string }>("counters", {
  key: "id",
});
const tables = [testTable("counters", { partitionKey: "id" })];

test("a lone read-modify-write is one put in the log, and nothing in the stream", async () => {
  const cloud = await createTestCloud({ tables });
  cloud.seed(counters, [{ id: "a", n: 0 }]);
  const events: EngineEvent[] = [];
  const { client } = cloud.startProcess("app", {
    commit: "express",
    onEvent: (event) => events.push(event),
  });
  const { receipt } = await cloud.run(() =>
    client.transact(async (tx) => {
      const n = (await tx.get(counters, "a"))?.n ?? 0;
      tx.put(counters, { id: "a", n: n + 1 });
    }),
  );
  expect(events.filter(({ kind }) => kind === "sent" || kind === "certified")).toEqual([
    expect.objectContaining({ kind: "sent", resend: false, via: "express" }),
    expect.objectContaining({ kind: "certified", via: "express" }),
  ]);
  expect(receipt.installed).toBe(true);
  expect(cloud.rows(counters)).toEqual([{ id: "a", n: 1 }]);
});

test.each([-600_000, 600_000])(
  "it is dated by the store's clock, not by that of its process, which is off by %d ms",
  async (clockOffsetMs) => {
    const cloud = await createTestCloud({ tables });
    const { client } = cloud.startProcess("app", { commit: "express", clockOffsetMs });
    const moments = await cloud.run(async () => {
      await cloud.world.time.sleep(5_000);
      const { receipt } = await client.transact((tx) => {
        tx.put(counters, { id: "a", n: 1 });
        return Promise.resolve();
      });
      return { nowMs: cloud.world.time.nowMs, atMs: (receipt.commitTimestamp ?? 0) / 1_000 };
    });
    expect(moments.atMs).toBeLessThanOrEqual(moments.nowMs);
    expect(moments.atMs).toBeGreaterThan(moments.nowMs - 2_000);
  },
);

/** An engine that commits express, on ports of a process whose calls may be changed. */
function engineOn(cloud: TestCloud, change: (ports: ClientPorts) => ClientPorts) {
  const process = cloud.world.startProcess("app", { exact: true });
  const events: EngineEvent[] = [];
  const engine = createClientEngine(change(cloud.deployment.clientPortsOf(process)), {
    commit: "express",
    onEvent: (event) => events.push(event),
  });
  const sent = (): unknown[] =>
    events.flatMap((event) => (event.kind === "sent" ? [[event.via, event.resend]] : []));
  return { engine, events, sent };
}

test("what no block takes goes by the stream, also when it is sent again", async () => {
  const cloud = await createTestCloud({ tables });
  let puts = 0;
  const { engine, sent } = engineOn(cloud, (ports) => ({
    ...ports,
    stream: {
      ...ports.stream,
      put: (shard, records, options) => {
        puts += 1;
        if (puts > 1) return ports.stream.put(shard, records, options);
        const cause = new Error("the request was lost");
        return Promise.resolve(records.map(() => ({ kind: "unknown", cause }) as const));
      },
    },
  }));
  await cloud.run(() =>
    engine.transact({}, (tx) => {
      tx.put("counters", { id: { S: "a" }, n: { N: "1" }, text: { S: "x".repeat(400_000) } });
      return Promise.resolve();
    }),
  );
  expect(sent()).toEqual([
    ["stream", false],
    ["stream", true],
  ]);
  expect(cloud.rows(counters)).toHaveLength(1);
});

test("a client without the right commits by the stream, and says so once", async () => {
  const cloud = await createTestCloud({ tables });
  const { engine, events, sent } = engineOn(cloud, (ports) => ({
    ...ports,
    log: {
      ...ports.log,
      append: () => Promise.reject(new StoreError("rejected", "AccessDeniedException")),
    },
  }));
  await cloud.run(async () => {
    for (const n of [1, 2]) {
      await engine.transact({}, (tx) => {
        tx.put("counters", { id: { S: "a" }, n: { N: n.toString() } });
        return Promise.resolve();
      });
    }
  });
  expect(sent().map(String)).toEqual(["express,false", "stream,false", "stream,false"]);
  expect(events.filter(({ kind }) => kind === "express-denied")).toHaveLength(1);
  expect(cloud.rows(counters)).toEqual([{ id: "a", n: 2 }]);
});

test.each(["express", "stream"] as const)(
  "requests that travel together are told each in its own asynchronous context, %s",
  async (commit) => {
    const cloud = await createTestCloud({ tables });
    const caller = new AsyncLocalStorage<string>();
    const told: (string | undefined)[] = [];
    const { client } = cloud.startProcess("app", {
      ...{ commit, chaining: false },
      onEvent: ({ kind }) => {
        if (kind === "sent" || kind === "certified") told.push(caller.getStore());
      },
    });
    const ids = ["a", "b", "c", "d"];
    await cloud.run(() =>
      Promise.all(
        ids.map((id) =>
          caller.run(id, () =>
            client.transact((tx) => {
              tx.put(counters, { id, n: 1 });
              return Promise.resolve();
            }),
          ),
        ),
      ),
    );
    expect(told.toSorted()).toEqual([...ids, ...ids].toSorted());
  },
);
