/**
 * What the largest transactions come to on every way: by the stream, by a block of the process's
 * own, and in a deployment of tables alone (docs/adr/0013-express-commit.md).
 */
import { describe, expect, test } from "vitest";
import { StoreError } from "../../../core/errors.ts";
import * as limits from "../../../core/limits.ts";
import type { ClientPorts } from "../../../core/ports.ts";
import { createClientEngine } from "../../../engine/client-engine.ts";
import type {
  BodyTransaction,
  ClientEngine,
  CommitWay,
  EngineEvent,
} from "../../../engine/types.ts";
import { defineTable } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { keyOf } from "./counting-engine.ts";

const rows = defineTable<{ readonly text: string }, { readonly id: string }>("rows", { key: "id" });

type Deployment = "stream" | "express" | "tables only";
const deployments: readonly Deployment[] = ["stream", "express", "tables only"];

type Client = {
  readonly cloud: TestCloud;
  readonly engine: ClientEngine;
  /** By which ways its requests went. */
  readonly ways: () => ReadonlySet<CommitWay>;
  /** What calls to the log come to from now on. */
  readonly refuse: (calls: Partial<Record<"readAfter" | "append", () => Promise<never>>>) => void;
};

async function start(deployment: Deployment): Promise<Client> {
  const cloud = await createTestCloud({
    tables: [testTable("rows", { partitionKey: "id" })],
    tablesOnly: deployment === "tables only",
  });
  const process = cloud.world.startProcess("app", { exact: true });
  const ports: ClientPorts = cloud.deployment.clientPortsOf(process);
  const events: EngineEvent[] = [];
  let refused: Parameters<Client["refuse"]>[0] = {};
  const engine = createClientEngine(
    {
      ...ports,
      log: {
        ...ports.log,
        readAfter: (...args) => (refused.readAfter ?? ports.log.readAfter)(...args),
        append: (...args) => {
          if (ports.log.append === undefined) throw new Error("this cloud has no append");
          return (refused.append ?? ports.log.append)(...args);
        },
      },
    },
    {
      commit: deployment === "express" ? "express" : "stream",
      onEvent: (event) => events.push(event),
    },
  );
  return {
    cloud,
    engine,
    ways: () => new Set(events.flatMap((event) => (event.kind === "sent" ? [event.via] : []))),
    refuse: (calls) => {
      refused = calls;
    },
  };
}

function putTexts(tx: BodyTransaction, count: number, textBytes: number): void {
  for (let i = 0; i < count; i += 1) {
    tx.put("rows", { ...keyOf(i.toString()), text: { S: "x".repeat(textBytes) } });
  }
}

const deadlineMs = 3_000;

async function putOne(engine: ClientEngine): Promise<void> {
  await engine.transact({ deadlineMs }, (tx) => {
    putTexts(tx, 1, 1);
    return Promise.resolve();
  });
}

const never = (): Promise<never> => new Promise(() => undefined);
const refusing = (fault: StoreError["fault"]) => (): Promise<never> =>
  Promise.reject(new StoreError(fault, "not today"));

async function failureOf({ clock }: TestCloud, call: Promise<unknown>) {
  const beganMs = clock.monotonicMs();
  const error: unknown = await call.catch((cause: unknown) => cause);
  return { error, tookMs: clock.monotonicMs() - beganMs };
}

/** What an error says, and its causes. */
function wordsOf(error: unknown): string {
  return error instanceof Error ? `${error.message}; ${wordsOf(error.cause)}` : "";
}

describe.each(deployments)("%s", (deployment) => {
  test.each([
    { what: "more than a block holds", count: 2, textBytes: 230_000, express: "stream" },
    { what: "more than a record holds", count: 3, textBytes: 390_000, express: "express" },
    { what: "as many bytes as it may", count: 42, textBytes: 399_000, express: "express" },
    { what: "as many keys as it may", count: limits.transactionKeysMax, textBytes: 1 },
  ] as const)("takes a transaction of $what", async ({ count, textBytes, ...of }) => {
    const { cloud, engine, ways } = await start(deployment);
    await cloud.run(() =>
      engine.transact({}, (tx) => {
        putTexts(tx, count, textBytes);
        return Promise.resolve();
      }),
    );
    expect(cloud.rows(rows)).toHaveLength(count);
    const own = deployment === "express" && "express" in of ? of.express : "express";
    expect(ways()).toEqual(new Set([deployment === "stream" ? "stream" : own]));
  });

  test.each([
    { name: "itemBytesMax", max: limits.itemBytesMax, count: 1, textBytes: limits.itemBytesMax },
    { name: "payloadBytesMax", max: limits.payloadBytesMax, count: 43, textBytes: 399_000 },
    {
      name: "transactionKeysMax",
      max: limits.transactionKeysMax,
      count: limits.transactionKeysMax + 1,
      textBytes: 1,
    },
  ])("refuses what is above $name, and says so", async ({ name, max, count, textBytes }) => {
    const { cloud, engine, ways } = await start(deployment);
    const refused = cloud.run(() =>
      engine.transact({}, (tx) => {
        putTexts(tx, count, textBytes);
        return Promise.resolve();
      }),
    );
    await expect(refused).rejects.toMatchObject({
      code: "transaction-too-large",
      outcome: "aborted",
      retryable: false,
      limit: { name, max },
    });
    await expect(refused).rejects.toThrow(/split the work|store large parts/u);
    expect(ways()).toEqual(new Set());
    expect(cloud.rows(rows)).toEqual([]);
  });

  test.each([
    ["throttled", { code: "unavailable", retryable: true }],
    ["unavailable", { code: "unavailable", retryable: true }],
    ["rejected", { code: "invalid-request", retryable: false, field: "request" }],
    ["silent", { code: "unavailable", retryable: true, deadline: { deadlineMs } }],
  ] as const)("ends in time where every read of the log is %s", async (fault, expected) => {
    const { cloud, engine, refuse, ways } = await start(deployment);
    await cloud.run(() => putOne(engine));
    const before = ways();
    refuse({ readAfter: fault === "silent" ? never : refusing(fault) });
    const { error, tookMs } = await cloud.run(async () => {
      // So that the tail is older than a block's may be.
      await cloud.clock.sleep(limits.expressTailAgeMsMax);
      return failureOf(cloud, putOne(engine));
    });
    expect(error).toMatchObject({ ...expected, outcome: "aborted" });
    expect(tookMs).toBeLessThan(deadlineMs + 10);
    expect(ways()).toEqual(before);
  });
});

test.each(["throttled", "rejected"] as const)(
  "where the log's puts are %s, commits go by the stream",
  async (fault) => {
    const { cloud, engine, refuse, ways } = await start("express");
    refuse({ append: refusing(fault) });
    await cloud.run(() => putOne(engine));
    expect(ways()).toEqual(new Set(["express", "stream"]));
  },
);

test.each([
  ["throttled", { code: "unavailable", retryable: true }, /can append no block now: not today/u],
  ["rejected", { code: "invalid-request", field: "commit" }, /add the policy express/u],
] as const)(
  "where the log's puts are %s, and there is no stream, the caller is told in time",
  async (fault, expected, remedy) => {
    const { cloud, engine, refuse } = await start("tables only");
    refuse({ append: refusing(fault) });
    const { error, tookMs } = await cloud.run(() => failureOf(cloud, putOne(engine)));
    expect(error).toMatchObject({ ...expected, outcome: "aborted" });
    expect(wordsOf(error)).toMatch(remedy);
    expect(tookMs).toBeLessThan(deadlineMs + 10);
  },
);
