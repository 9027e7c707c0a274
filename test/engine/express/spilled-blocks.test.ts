/** Payloads too large for a block: spilled first, and the block refers to them (ADR 13). */
import { expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import type { ClientPorts } from "../../../core/ports.ts";
import { createClientEngine } from "../../../engine/client-engine.ts";
import type { ClientEngine, EngineEvent } from "../../../engine/types.ts";
import { defineTable } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";

const rows = defineTable<{ readonly text: string }, { readonly id: string }>("rows", { key: "id" });

/** An engine whose registry says that there is no stream, if so. */
function start(cloud: TestCloud, { streamless }: { readonly streamless: boolean }) {
  const process = cloud.world.startProcess("app", { exact: true });
  const ports: ClientPorts = cloud.deployment.clientPortsOf(process);
  const events: EngineEvent[] = [];
  const spills: number[] = [];
  const registry: ClientPorts["control"]["registry"] = async (options) => {
    return { ...(await ports.control.registry(options)), streamless };
  };
  const engine = createClientEngine(
    {
      ...ports,
      control: { ...ports.control, registry },
      log: {
        ...ports.log,
        spill: (id, chunks, options) => {
          spills.push(chunks.length);
          return ports.log.spill(id, chunks, options);
        },
      },
    },
    { commit: "express", onEvent: (event) => events.push(event) },
  );
  const ways = (): unknown[] =>
    events.flatMap((event) =>
      event.kind === "sent" || event.kind === "certified" ? [event.via] : [],
    );
  return { engine, spills, ways };
}

async function putTexts(engine: ClientEngine, count: number, textBytes: number): Promise<void> {
  await engine.transact({}, (tx) => {
    for (let i = 0; i < count; i += 1) {
      tx.put("rows", { id: { S: i.toString() }, text: { S: "x".repeat(textBytes) } });
    }
    return Promise.resolve();
  });
}

function textsIn(cloud: TestCloud): readonly number[] {
  return cloud.rows(rows).map(({ text }) => text.length);
}

test.each([
  ["fits a record, and no block", 2, 230_000],
  ["is as large as they may be", 42, 399_000],
])(
  "without a stream a payload that %s is spilled, and its block refers to it",
  async (_, ...of) => {
    const cloud = await createTestCloud({ tables: [testTable("rows", { partitionKey: "id" })] });
    const { engine, spills, ways } = start(cloud, { streamless: true });
    await cloud.run(() => putTexts(engine, ...of));
    expect(ways()).toEqual(["express", "express"]);
    expect(spills).toHaveLength(1);
    expect(textsIn(cloud)).toEqual(Array.from({ length: of[0] }, () => of[1]));
  },
);

test("whoever crashes before it has installed one leaves it to others, who find it", async () => {
  const cloud = await createTestCloud({ tables: [testTable("rows", { partitionKey: "id" })] });
  cloud.pauseReplay();
  const { client, ...app } = cloud.startProcess("app", {
    commit: "express",
    onEvent: ({ kind }) => {
      if (kind === "certified") app.crash();
    },
  });
  const died = new Promise<void>((ended) => {
    app.onCrash(ended);
  });
  await cloud.run(async () => {
    void client.transact((tx) => {
      for (const id of ["0", "1"]) tx.put(rows, { id, text: "x".repeat(300_000) });
      return Promise.resolve();
    });
    await died;
    const found = await cloud
      .createClient("reader")
      .transact((tx) => tx.batchGet(rows, ["0", "1"]));
    expect(found.result.map((row) => row?.text.length)).toEqual([300_000, 300_000]);
  });
});

test("beside a stream, what has to be spilled anyway needs no oracle either", async () => {
  const cloud = await createTestCloud({ tables: [testTable("rows", { partitionKey: "id" })] });
  const { engine, spills, ways } = start(cloud, { streamless: false });
  await cloud.run(() => putTexts(engine, 2, limits.inlineRequestBytesMax / 2));
  expect(ways()).toEqual(["express", "express"]);
  expect(spills).toHaveLength(1);
});
