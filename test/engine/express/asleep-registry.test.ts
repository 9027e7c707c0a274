/**
 * A machine that sleeps between a body and its commit wakes with an old registry. By the stream an
 * oracle holds the request against its own; a block is held against the process's, which has to be
 * young again, and its tables as they were when they were written to.
 */
import { describe, expect, test } from "vitest";
import type { ControlStore } from "../../../core/ports.ts";
import type { Timestamp } from "../../../core/types.ts";
import { createClientEngine } from "../../../engine/client-engine.ts";
import type { ClientEngine } from "../../../engine/types.ts";
import { createTestCloud, testTable } from "../../../testing/index.ts";
import { keyOf, numberIn } from "./counting-engine.ts";

const plain = testTable("rows", { partitionKey: "id" });
const minute = 60_000;

async function put(engine: ClientEngine, n: number, during = async (): Promise<void> => {}) {
  return engine.transact({}, async (tx) => {
    tx.put("rows", { ...keyOf("a"), n: { N: n.toString() } });
    await during();
  });
}

/** An engine whose machine sleeps for 20 minutes as it looks at the log for its second commit. */
async function sleepyCloud(tablesOnly: boolean) {
  const cloud = await createTestCloud({ tables: [plain], tablesOnly });
  const process = cloud.world.startProcess("sleepy", { exact: true });
  const ports = cloud.deployment.clientPortsOf(process);
  let sleepsNext = false;
  const readAfter: typeof ports.log.readAfter = (...args) => {
    if (sleepsNext) process.freeze(20 * minute, "stand");
    sleepsNext = false;
    return ports.log.readAfter(...args);
  };
  const log = { ...ports.log, readAfter };
  const sleepy = createClientEngine({ ...ports, log }, { chaining: false });
  const admin = cloud.deployment.portsOf(cloud.world.startProcess("admin", { exact: true }), {
    calm: true,
  });
  /** Its second commit, and what an operator makes of the table meanwhile. */
  const commitAsleep = async (
    change: (table: Parameters<ControlStore["registerTable"]>[0]) => typeof table,
  ): Promise<{ readonly asleep: Promise<unknown> }> => {
    await put(sleepy, 1);
    let runs = 0;
    const asleep = put(sleepy, 2, async () => {
      runs += 1;
      await ports.clock.sleep(500);
      sleepsNext = runs === 1;
    });
    asleep.catch(() => undefined);
    await cloud.clock.sleep(minute);
    const { tables } = await admin.control.registry();
    for (const table of tables) {
      if (table.name === "rows") await admin.control.registerTable(change(table));
    }
    await cloud.clock.sleep(16 * minute);
    return { asleep };
  };
  return { cloud, commitAsleep };
}

describe.each([
  ["with a stream", false],
  ["of tables alone", true],
])("a deployment %s", (_, tablesOnly) => {
  test("commits nothing that an index refuses that was registered meanwhile", async () => {
    const { cloud, commitAsleep } = await sleepyCloud(tablesOnly);
    await cloud.run(
      async () => {
        const { asleep } = await commitAsleep((table) => ({
          ...table,
          indexKeys: [{ name: "n", type: "S", role: "partition" }],
          indexNames: ["byN"],
        }));
        await expect(asleep).rejects.toThrow();
      },
      { limitMs: 120 * minute },
    );
  });

  test("keeps what was replaced since history was switched on", async () => {
    const { cloud, commitAsleep } = await sleepyCloud(tablesOnly);
    const other = createClientEngine(
      cloud.deployment.clientPortsOf(cloud.world.startProcess("other", { exact: true })),
    );
    await cloud.run(
      async () => {
        const { asleep } = await commitAsleep((table) => ({ ...table, history: true }));
        const { receipt } = await put(other, 10);
        await asleep;
        await cloud.clock.sleep(2 * minute);
        const asOf = receipt.commitTimestamp as Timestamp;
        const past = await other.snapshot({ asOf }, (then) => then.get("rows", keyOf("a")));
        expect(numberIn(past.result)).toBe(10);
      },
      { limitMs: 120 * minute },
    );
  });
});
