/**
 * Hermitage's interleavings through the SDK on an embedded stack: separate clients, real protocols,
 * real oracle and replay (docs/hermitage.md; docs/protocol.md §3 to §6; I4, I5, I8).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTables } from "../../../aws/create-tables.ts";
import { registerTables } from "../../../aws/register-tables.ts";
import type { TableDescription } from "../../../core/types.ts";
import { type EmbeddedStack, startEmbeddedStack } from "../../../localstack/embedded-stack.ts";
import { type Client, createClient } from "../../../sdk/index.ts";
import { localIdentity } from "../../harness/local-servers.ts";
import { interleavings } from "./interleavings.ts";
import { givesAt, inRange, play } from "./script.ts";
import { testTable } from "./session.ts";
import { type Cast, scenes, setStage, slowClock, tableKey } from "./stage.ts";

let stack: EmbeddedStack;
let cast: Cast;
const refusals = { process: 0, tail: 0, oracle: 0, native: 0 };

const kept = testTable("hermitage-kept");
const plain = testTable("hermitage-plain");
const tables: readonly TableDescription[] = [kept, plain].map((table) => ({
  ...tableKey,
  name: table.name,
  history: table === kept,
  access: "transactional",
}));

beforeAll(async () => {
  stack = await startEmbeddedStack({ sampleTables: false });
  const aws = { ...localIdentity, region: stack.region, endpoint: stack.endpoints };
  await createTables(aws, tables);
  await registerTables({ ...aws, deployment: stack.deployment }, tables);
  // One process would know of its own commits at once; four must hear of them through the log.
  const open = (): Client =>
    createClient({ endpoint: stack.endpoint, clock: slowClock, commit: "stream" });
  cast = { T1: open(), T2: open(), T3: open(), audience: open() };
});

afterAll(async () => {
  await Promise.all(Object.values(cast).map((client) => client.close()));
  await stack.stop();
});

describe.each(scenes)("$level (history $history), by $range, judged by the $judge", (scene) => {
  const { level, range, judge, history } = scene;
  test.each(interleavings)("$anomaly: $title", async ({ steps }) => {
    const stage = await setStage(cast, history ? kept : plain, scene);
    const { gave, refusedBy } = await play(steps, stage);
    expect(gave).toEqual(steps.map((step) => inRange(givesAt(step, level), range)));
    for (const by of refusedBy) {
      // A read that met something newer has brought the tail up to date even where nothing else
      // did.
      if (judge === "tail") expect(by).toBe("tail");
      refusals[by] += 1;
    }
  });
});

test("both judges, the process's own tail and the oracle, have refused commits", () => {
  // Processes that have met conflicts look at the log before they send: fewer reach the oracle.
  expect(refusals.oracle).toBeGreaterThan(10);
  expect(refusals.tail).toBeGreaterThan(10);
});
