/** That a client's own blocks go by a copy of the registry as young as an oracle's. */
import { expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import type { ClientPorts } from "../../../core/ports.ts";
import { createClientEngine } from "../../../engine/client-engine.ts";
import type { ClientEngine, EngineEvent } from "../../../engine/types.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";

type Registry = Awaited<ReturnType<ClientPorts["control"]["registry"]>>;
type Asked = { times: number; waitMs: number; change: (registry: Registry) => Registry };

async function start() {
  const cloud = await createTestCloud({ tables: [testTable("rows", { partitionKey: "id" })] });
  const process = cloud.world.startProcess("app", { exact: true });
  const ports: ClientPorts = cloud.deployment.clientPortsOf(process);
  const asked: Asked = { times: 0, waitMs: 0, change: (registry) => registry };
  const events: EngineEvent[] = [];
  const registry: ClientPorts["control"]["registry"] = async (options) => {
    asked.times += 1;
    await cloud.clock.sleep(asked.waitMs);
    return asked.change(await ports.control.registry(options));
  };
  const engine = createClientEngine(
    { ...ports, control: { ...ports.control, registry } },
    { commit: "express", onEvent: (event) => events.push(event) },
  );
  const ways = (): unknown[] =>
    events.flatMap((event) => (event.kind === "certified" ? [event.via] : []));
  return { cloud, engine, asked, ways };
}

async function put(
  cloud: TestCloud,
  engine: ClientEngine,
  { bodyMs = 0 }: { readonly bodyMs?: number } = {},
): Promise<{ readonly attempts: number; readonly certifyMs: number }> {
  const { receipt } = await engine.transact({ deadlineMs: 60_000 }, async (tx) => {
    tx.put("rows", { id: { S: "a" } });
    await cloud.clock.sleep(bodyMs);
  });
  return { attempts: receipt.attempts, certifyMs: receipt.phases.certifyMs };
}

const longMs = limits.expressRegistryMsMax + 1_000;

test("who commits all the time reads it in the background, every few seconds", async () => {
  const { cloud, engine, asked, ways } = await start();
  const certifyMs = await cloud.run(async () => {
    await put(cloud, engine);
    asked.times = 0;
    asked.waitMs = 200;
    const each: number[] = [];
    for (let i = 0; i < 60; i += 1) {
      await cloud.clock.sleep(1_000);
      each.push((await put(cloud, engine)).certifyMs);
    }
    return each;
  });
  expect(asked.times).toBeGreaterThanOrEqual(6);
  expect(asked.times).toBeLessThanOrEqual(12);
  expect(Math.max(...certifyMs)).toBeLessThan(asked.waitMs);
  expect(new Set(ways())).toEqual(new Set(["express"]));
});

test("a table that has changed while a long body ran makes it run again", async () => {
  const { cloud, engine, asked, ways } = await start();
  const { attempts } = await cloud.run(async () => {
    await put(cloud, engine);
    asked.change = (registry) => ({
      ...registry,
      tables: registry.tables.map((table) => ({ ...table, history: true })),
    });
    return put(cloud, engine, { bodyMs: longMs });
  });
  expect(attempts).toBe(2);
  expect(ways()).toContain("express");
});

test("one that has not changed does not, however long the body ran", async () => {
  const { cloud, engine, ways } = await start();
  const { attempts } = await cloud.run(() => put(cloud, engine, { bodyMs: longMs }));
  expect(attempts).toBe(1);
  expect(ways()).toEqual(["express"]);
});

test("where it cannot be read, commits go by the stream, whose oracle knows", async () => {
  const { cloud, engine, asked, ways } = await start();
  await cloud.run(async () => {
    await put(cloud, engine);
    asked.waitMs = Infinity;
    await put(cloud, engine, { bodyMs: longMs });
    asked.waitMs = 0;
  });
  expect(ways()).toEqual(["express", "stream"]);
});
