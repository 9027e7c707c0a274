/**
 * Hermitage's interleavings where no transaction installs its own writes and no replay runs:
 * whoever reads must hear of a commit from the log and finish it (docs/protocol.md §4, §5; I4, I5,
 * I8). Each step gives what it gives elsewhere, or what it would from history, since an old version
 * that is still stored may be read on at an old timestamp; what no level allows must not occur all
 * the same.
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../aws/system.ts";
import type { Clock } from "../../../core/ports.ts";
import { type Client, createClient } from "../../../sdk/index.ts";
import { startLocalDeployment, type LocalDeployment } from "../../harness/local-deployment.ts";
import { interleavings, mustPrevent } from "./interleavings.ts";
import { gaveBy } from "./page.ts";
import { type Actor, givesAt, inRange, play } from "./script.ts";
import { type TestTable, testTable } from "./session.ts";
import { type Cast, type Scene, scenes, setStage, slowClock, tableKey } from "./stage.ts";

let deployment: LocalDeployment;
let kept: TestTable;
let plain: TestTable;
/** Whose tails judge append their commits themselves: their readers have the blocks' values. */
let casts: Readonly<Record<Scene["judge"], Cast>>;
/** Whose installs fail: of those that are committing. */
const committing = new Set<Actor>();
const opened: DynamoDBClient[] = [];
let withheld = 0;
const pauseMsMax = 1_000;

/**
 * Readers wait a moment for a commit's owner, or for replay, before they install themselves: here
 * nobody is worth waiting for, so that pauses are cut short and count whole. Deadlines stay.
 */
function impatientClock(): Clock {
  let skippedMs = 0;
  return {
    ...slowClock,
    monotonicMs: () => slowClock.monotonicMs() + skippedMs,
    async sleep(durationMs, signal) {
      const isPause = durationMs < pauseMsMax;
      await systemClock.sleep(isPause ? Math.min(durationMs, 2) : durationMs, signal);
      // All of it: what is slept passes a thousand times slower on this clock.
      if (isPause) skippedMs += durationMs;
    },
  };
}

beforeAll(async () => {
  deployment = await startLocalDeployment({ stopped: ["replay"] });
  const { stores } = deployment;
  const created = await Promise.all([
    stores.createTable("hermitage-kept", { ...tableKey, history: true }),
    stores.createTable("hermitage-plain", tableKey),
  ]);
  [kept, plain] = [testTable(created[0].name), testTable(created[1].name)];
  const four = (commit: "stream" | "express"): Cast => ({
    T1: openClient(commit, "T1"),
    T2: openClient(commit, "T2"),
    T3: openClient(commit, "T3"),
    audience: openClient(commit),
  });
  casts = { oracle: four("stream"), tail: four("express") };
});

afterAll(async () => {
  const clients = Object.values(casts).flatMap((cast) => Object.values(cast));
  await Promise.all(clients.map((client) => client.close()));
  for (const client of opened) client.destroy();
  await deployment.stop();
});

/** A client whose installs are refused while it commits; as a helper of others it installs. */
function openClient(commit: "stream" | "express", actor?: Actor): Client {
  const { region, credentials, endpoint } = deployment.stores.clientOptions;
  const dynamodb = new DynamoDBClient({ region, credentials, endpoint: endpoint.dynamodb });
  opened.push(dynamodb);
  dynamodb.middlewareStack.add(
    (next, context) => (request) => {
      const { input } = request;
      const installs =
        "commandName" in context &&
        context["commandName"] === "PutItemCommand" &&
        "TableName" in input &&
        input.TableName?.startsWith("hermitage-") === true;
      if (!installs || actor === undefined || !committing.has(actor)) return next(request);
      withheld += 1;
      const refusal = { name: "ValidationException", $fault: "client", $metadata: {} };
      return Promise.reject(Object.assign(new Error("withheld"), refusal));
    },
    { step: "initialize" },
  );
  return createClient({
    deployment: deployment.stores.deployment,
    region,
    credentials,
    endpoints: endpoint,
    dynamodb,
    clock: impatientClock(),
    commit,
  });
}

/** Every level by query and by scan, half of them on the table with history. */
const half = scenes.filter(({ history, judge }) => history === (judge === "oracle"));

describe.each(half)("$level (history $history), by $range, judged by the $judge", (scene) => {
  test.each(interleavings)("$anomaly: $title", async ({ anomaly, steps, occurs }) => {
    const stage = await setStage(casts[scene.judge], scene.history ? kept : plain, scene);
    const { gave } = await play(steps, {
      ...stage,
      async beforeCommit(by) {
        await stage.beforeCommit(by);
        committing.add(by);
      },
    }).finally(() => committing.clear());
    const { level, range } = scene;
    // OTV's transactions begin before what they read is committed, and may rightly not have heard
    // of it.
    for (const [i, step] of anomaly === "OTV" ? [] : steps.entries()) {
      // A read may go on at its old timestamp where nothing newer is stored yet: as from history.
      const allowed = [level, "snapshot"] as const;
      expect(allowed.map((each) => inRange(givesAt(step, each), range))).toContain(gave[i]);
    }
    const results = gaveBy(steps, gave);
    const occurred = occurs((step) => results.get(step));
    // What a level need not prevent, write skew, is what it is known by.
    expect({ occurred, gave }).toMatchObject({ occurred: !mustPrevent(anomaly, level) });
  });
});

test("installs were really withheld", () => {
  expect(withheld).toBeGreaterThan(half.length * interleavings.length);
});
