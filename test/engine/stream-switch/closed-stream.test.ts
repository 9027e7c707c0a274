/**
 * What was on its way when the stream was closed (docs/protocol.md §3, Closing the stream): nobody
 * decides it any more, its sender knows that, and no copy of it is decided by the stream that comes
 * later.
 */
import { describe, expect, test } from "vitest";
import { InvalidRequestError, StoreError } from "../../../core/errors.ts";
import type { ClientPorts } from "../../../core/ports.ts";
import type { TransactionId } from "../../../core/types.ts";
import { createClientEngine } from "../../../engine/client-engine.ts";
import type { ClientEngine } from "../../../engine/types.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { keyOf, numberIn } from "../express/counting-engine.ts";

const rows = testTable("rows", { partitionKey: "id" });
const minute = 60_000;

type App = {
  readonly engine: ClientEngine;
  readonly sent: TransactionId[];
  readonly ways: string[];
  readonly process: ReturnType<TestCloud["world"]["startProcess"]>;
};

/** A process that goes by the stream as long as there is one. */
function appOn(
  cloud: TestCloud,
  name: string,
  change: (ports: ClientPorts) => Partial<ClientPorts> = () => ({}),
): App {
  const process = cloud.world.startProcess(name, { exact: true });
  const ports = cloud.deployment.clientPortsOf(process);
  const sent: TransactionId[] = [];
  const ways: string[] = [];
  const engine = createClientEngine(
    { ...ports, ...change(ports) },
    {
      commit: "stream",
      onEvent: (event) => {
        if (event.kind !== "sent") return;
        sent.push(event.transactionId);
        ways.push(event.via);
      },
    },
  );
  return { engine, sent, ways, process };
}

/** Without the policy `express`. */
const denied = ({ log }: ClientPorts): Partial<ClientPorts> => ({
  log: { ...log, append: () => Promise.reject(new StoreError("rejected", "AccessDenied")) },
});

const increment = (engine: ClientEngine, text = "") =>
  engine.transact({ deadlineMs: 30_000 }, async (tx) => {
    const n = numberIn(await tx.get("rows", keyOf("a"))) + 1;
    tx.put("rows", { ...keyOf("a"), n: { N: n.toString() }, text: { S: text } });
  });

async function stored(cloud: TestCloud): Promise<number> {
  await cloud.settled();
  const [row] = cloud.rows(rowsTable) as readonly { n: number }[];
  return row?.n ?? 0;
}
const rowsTable = rows as never;

/** Runs the body with one commit in a stream whose oracle has stopped answering. */
async function withPending(
  app: (cloud: TestCloud) => App,
  body: (cloud: TestCloud, app: App, pending: Promise<unknown>) => Promise<void>,
  text = "",
): Promise<void> {
  const cloud = await createTestCloud({ tables: [rows] });
  await cloud.run(
    async () => {
      const running = app(cloud);
      await increment(running.engine);
      cloud.pauseOracle();
      const pending = increment(running.engine, text);
      pending.catch(() => undefined);
      await cloud.clock.sleep(300);
      expect(running.ways).toEqual(["stream", "stream"]);
      await body(cloud, running, pending);
    },
    { limitMs: 5 * 60 * minute },
  );
}

describe("a request that is in the stream when it is closed", () => {
  test("is committed by a block of its client's, which hears of nothing", async () => {
    await withPending(
      (cloud) => appOn(cloud, "app"),
      async (cloud, { ways, sent }, pending) => {
        const began = cloud.clock.monotonicMs();
        const closing = cloud.deployment.switchStream(false);
        await pending;
        expect(cloud.clock.monotonicMs() - began).toBeLessThan(2_000);
        expect(ways).toEqual(["stream", "stream", "express"]);
        expect(new Set(sent).size).toBe(2);
        await closing;
        expect(await stored(cloud)).toBe(2);
      },
    );
  });

  test("spills what no block has room for", async () => {
    await withPending(
      (cloud) => appOn(cloud, "app"),
      async (cloud, { ways }, pending) => {
        await cloud.deployment.switchStream(false);
        await pending;
        expect(ways).toEqual(["stream", "stream", "express"]);
        expect(await stored(cloud)).toBe(2);
      },
      "x".repeat(395_000),
    );
  });

  test("has failed for good where the client may not append, and the error says how", async () => {
    await withPending(
      (cloud) => appOn(cloud, "app", denied),
      async (cloud, { sent }, pending) => {
        await cloud.deployment.switchStream(false);
        const error = await pending.catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(InvalidRequestError);
        expect(String(error)).toContain("policy express");
        const asked = appOn(cloud, "asks").engine;
        expect(await asked.outcome(sent[1] as TransactionId)).toMatchObject({ kind: "aborted" });
        expect(await stored(cloud)).toBe(1);
      },
    );
  });

  test("of a client that died is aborted by whoever asks, and stays so", async () => {
    await withPending(
      (cloud) => appOn(cloud, "app"),
      async (cloud, { sent, process }) => {
        process.crash();
        await cloud.deployment.switchStream(false);
        const { engine } = appOn(cloud, "asks");
        const id = sent[1] as TransactionId;
        expect(await engine.outcome(id)).toMatchObject({ kind: "aborted" });
        await cloud.deployment.switchStream(true);
        await cloud.clock.sleep(minute);
        expect(await engine.outcome(id)).toMatchObject({ kind: "aborted" });
        expect(await stored(cloud)).toBe(1);
      },
    );
  });

  test("is decided by no stream that comes later, however late its copy is", async () => {
    await withPending(
      (cloud) => appOn(cloud, "app"),
      async (cloud, { process }) => {
        process.crash();
        await cloud.deployment.switchStream(false);
        // At once: a calm log, on which no oracle has forgotten anything by then.
        await cloud.deployment.switchStream(true);
        for (const { data } of cloud.deployment.goneRecords) {
          cloud.world.kinesis.execute("PutRecord", {
            ...{ StreamName: cloud.deployment.stream, PartitionKey: "x", Data: data },
          });
        }
        cloud.world.streamWritten();
        await cloud.clock.sleep(minute);
        expect(cloud.deployment.metrics.get("Stale")).toBeGreaterThan(0);
        expect(await stored(cloud)).toBe(1);
        await increment(appOn(cloud, "next").engine);
        expect(await stored(cloud)).toBe(2);
      },
    );
  });
});

test("a client that froze before its put finds no stream, and commits by a block", async () => {
  const cloud = await createTestCloud({ tables: [rows] });
  await cloud.run(
    async () => {
      let freezes = false;
      const { engine, process, ways } = appOn(cloud, "frozen", ({ stream }) => ({
        stream: {
          ...stream,
          put: (...args) => {
            if (freezes) process.freeze(60 * minute, "stand");
            return process.clock.sleep(1).then(() => stream.put(...args));
          },
        },
      }));
      await increment(engine);
      freezes = true;
      const late = engine.transact({ deadlineMs: 30_000 }, async (tx) => {
        tx.put("rows", { ...keyOf("a"), n: { N: "7" } });
        await Promise.resolve();
      });
      late.catch(() => undefined);
      await cloud.clock.sleep(minute);
      await cloud.deployment.switchStream(false);
      await late;
      expect(ways.at(-1)).toBe("express");
      expect(await stored(cloud)).toBe(7);
    },
    { limitMs: 10 * 60 * minute },
  );
});

test("a stream that goes while it is in use takes with it what is committed", async () => {
  const cloud = await createTestCloud({ tables: [rows] });
  await cloud.run(
    async () => {
      const app = appOn(cloud, "app", ({ items }) => ({
        items: { ...items, install: () => new Promise(() => undefined) },
      }));
      cloud.pauseReplay();
      const committed = increment(app.engine);
      committed.catch(() => undefined);
      await cloud.clock.sleep(5_000);
      app.process.crash();
      await cloud.deployment.switchStream(false, { undrained: true });
      cloud.resumeReplay();
      await cloud.clock.sleep(10 * minute);
      const [id = "" as TransactionId] = app.sent;
      const asked = await appOn(cloud, "asks").engine.outcome(id);
      expect(asked).toMatchObject({ kind: "committed" });
      expect(cloud.rows(rowsTable)).toEqual([]);
    },
    { limitMs: 5 * 60 * minute },
  );
});
