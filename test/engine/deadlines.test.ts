/** A deadline holds whatever does not answer, and says what the call was at. */
import { expect, test } from "vitest";
import {
  CommitUnknownError,
  ConflictError,
  StoreError,
  UnavailableError,
} from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ClientPorts } from "../../core/ports.ts";
import { createClientEngine } from "../../engine/client-engine.ts";
import { ConnectedClient } from "../../sdk/client.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud, testTable } from "../../testing/index.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const never = (): Promise<never> => new Promise(() => undefined);
const deadlineMs = 1_000;

function makeCloud(): Promise<TestCloud> {
  return createTestCloud({ tables: [testTable("items", { partitionKey: "id" })] });
}

/** What the call failed with, and after how long. */
async function failureOf(cloud: TestCloud, call: () => Promise<unknown>) {
  return cloud.run(async () => {
    const beganMs = cloud.clock.monotonicMs();
    const error: unknown = await call().catch((cause: unknown) => cause);
    return { error, tookMs: cloud.clock.monotonicMs() - beganMs };
  });
}

test.each(["readWatermark", "tables", "shards", "log", "items", "connect"])(
  "holds where %s never answers",
  async (silent) => {
    const cloud = await makeCloud();
    const process = cloud.world.startProcess("app", { exact: true });
    const ports = cloud.deployment.clientPortsOf(process);
    const deaf: ClientPorts = {
      ...ports,
      control: { ...ports.control, ...(silent in ports.control ? { [silent]: never } : {}) },
      log: silent === "log" ? { ...ports.log, readAfter: never } : ports.log,
      items: silent === "items" ? { ...ports.items, get: never } : ports.items,
    };
    const client = new ConnectedClient({
      connect: () =>
        silent === "connect"
          ? never()
          : Promise.resolve({ engine: createClientEngine(deaf), close: () => Promise.resolve() }),
      clock: process.clock,
      marshall: {},
      numbers: "bigint-when-unsafe",
    });
    for (const call of [
      () => client.transact({ deadlineMs }, (tx) => tx.get(items, "a")),
      () => client.transact({ deadlineMs, idempotencyKey: "k" }, (tx) => tx.get(items, "a")),
      () => client.snapshot({ deadlineMs }, (snapshot) => snapshot.get(items, "a")),
      () => client.transact({ deadlineMs }, (tx) => tx.get(defineTable("unknown"), "a")),
    ]) {
      const { error, tookMs } = await failureOf(cloud, call);
      // A table that nobody knows is looked for before the deadline.
      if (!(error instanceof UnavailableError)) continue;
      expect(tookMs).toBe(deadlineMs);
      expect(error.deadline).toMatchObject({ deadlineMs });
    }
  },
);

test("a native write waits so long for what is in its way, and no longer", async () => {
  const cloud = await makeCloud();
  const process = cloud.world.startProcess("app", { exact: true });
  const ports = cloud.deployment.clientPortsOf(process);
  const deaf = { ...ports, mixed: { ...ports.mixed, read: never } };
  const { native } = createClientEngine(deaf);
  const at = { table: "items", key: { id: { S: "a" } } };
  const { error, tookMs } = await failureOf(cloud, () => native.clearFence(at));
  expect(error).toBeInstanceOf(UnavailableError);
  expect(tookMs).toBe(limits.nativeClearMsMax);
});

test("counts what connecting took", async () => {
  const cloud = await makeCloud();
  const process = cloud.world.startProcess("app", { exact: true });
  const engine = createClientEngine(cloud.deployment.clientPortsOf(process));
  const client = new ConnectedClient({
    connect: async () => {
      await cloud.clock.sleep(900);
      return { engine, close: () => Promise.resolve() };
    },
    clock: process.clock,
    marshall: {},
    numbers: "bigint-when-unsafe",
  });
  const { error, tookMs } = await failureOf(cloud, () => client.transact({ deadlineMs }, never));
  expect(error).toMatchObject({ deadline: { phase: "body", attempts: 1 } });
  expect(tookMs).toBe(deadlineMs);
});

test("says in which attempt it passed, and gives the last conflict as its cause", async () => {
  const cloud = await makeCloud();
  const client = cloud.createClient();
  cloud.conflictOn(items, "a", { times: 1_000 });
  const { error } = await failureOf(cloud, () =>
    client.transact({ deadlineMs, attemptsMax: 1_000 }, async (tx) => {
      await tx.get(items, "a");
      tx.put(items, { id: "b", n: 1 });
    }),
  );
  const { deadline, cause, message } = error as UnavailableError;
  expect(cause).toBeInstanceOf(ConflictError);
  expect(deadline?.attempts).toBeGreaterThan(1);
  expect(message).toContain(`attempt ${deadline?.attempts ?? 0}`);
});

test("of a commit whose outcome is open is the cause of that error", async () => {
  const cloud = await makeCloud();
  const client = cloud.createClient("app", { commit: "stream" });
  cloud.pauseOracle();
  const { error, tookMs } = await failureOf(cloud, () =>
    client.transact({ deadlineMs }, async (tx) => {
      await tx.get(items, "a");
      tx.put(items, { id: "b", n: 1 });
    }),
  );
  expect(tookMs).toBe(deadlineMs);
  expect(error).toBeInstanceOf(CommitUnknownError);
  expect((error as CommitUnknownError).cause).toMatchObject({
    deadline: { phase: "committing", attempts: 1 },
  });
});

test.each([
  ["throttled", UnavailableError, "the deadline of 1000 ms has passed (committing, attempt 1): "],
  ["unknown", CommitUnknownError, "was seen in time ("],
] as const)(
  "says why no record was taken, where every put ends %s",
  async (kind, expected, how) => {
    const cloud = await makeCloud();
    const process = cloud.world.startProcess("app", { exact: true });
    const ports = cloud.deployment.clientPortsOf(process);
    const cause = new StoreError("throttled", "PutRecords: the disk is full");
    const put = (_shard: unknown, records: readonly unknown[]) =>
      Promise.resolve(records.map(() => ({ kind, cause })));
    const engine = createClientEngine(
      { ...ports, stream: { ...ports.stream, put } },
      { commit: "stream" },
    );
    const client = new ConnectedClient({
      connect: () => Promise.resolve({ engine, close: () => Promise.resolve() }),
      clock: process.clock,
      marshall: {},
      numbers: "bigint-when-unsafe",
    });
    const { error } = await failureOf(cloud, () =>
      client.transact({ deadlineMs }, async (tx) => {
        tx.put(items, { id: "b", n: 1 });
        return Promise.resolve();
      }),
    );
    expect(error).toBeInstanceOf(expected);
    expect((error as Error).message).toContain(`${how}${cause.message}`);
  },
);

test.each(["auto", "express"] as const)(
  "says what became of its block, where no put is answered (%s)",
  async (commit) => {
    const cloud = await makeCloud();
    const process = cloud.world.startProcess("app", { exact: true });
    const ports = cloud.deployment.clientPortsOf(process);
    const append = (): Promise<never> =>
      Promise.reject(new StoreError("unavailable", "PutItem on the log: the disk is full"));
    const engine = createClientEngine({ ...ports, log: { ...ports.log, append } }, { commit });
    const { error } = await failureOf(cloud, () =>
      engine.transact({ deadlineMs }, (tx) => {
        tx.put("items", { id: { S: "b" }, n: { N: "1" } });
        return Promise.resolve();
      }),
    );
    expect(error).toBeInstanceOf(CommitUnknownError);
    expect((error as Error).message).toContain("in time (PutItem on the log: the disk is full)");
  },
);
