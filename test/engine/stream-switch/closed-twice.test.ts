/**
 * A stream that is closed, opened, and closed again before replay has come to the opening: the
 * watermark still has the cursor of the first closing (aws/stream-switch.ts).
 */
import { expect, test } from "vitest";
import { assert } from "../../../core/assert.ts";
import type { ClientPorts } from "../../../core/ports.ts";
import type { TransactionId } from "../../../core/types.ts";
import { createClientEngine } from "../../../engine/client-engine.ts";
import type { BodyTransaction, ClientEngine } from "../../../engine/types.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { counters, countersTable } from "../increments.ts";
import { keyOf, numberIn } from "../express/counting-engine.ts";
import { minuteMs, operatorOf } from "./stream-operator.ts";

const limit = { limitMs: 300 * minuteMs };

function startApp(cloud: TestCloud, name: string, change: Partial<ClientPorts> = {}) {
  const process = cloud.world.startProcess(name, { exact: true });
  const sent: TransactionId[] = [];
  const engine = createClientEngine(
    { ...cloud.deployment.clientPortsOf(process), ...change },
    {
      commit: "stream",
      onEvent: (event) => {
        if (event.kind === "sent") sent.push(event.transactionId);
      },
    },
  );
  return { engine, sent, process };
}

/** A process that dies before it installs what it commits. */
function startDying(cloud: TestCloud) {
  const process = cloud.world.startProcess("ports", { exact: true });
  const { items } = cloud.deployment.clientPortsOf(process);
  return startApp(cloud, "dying", {
    items: { ...items, install: () => new Promise(() => undefined) },
  });
}

const increment = async (tx: BodyTransaction): Promise<void> => {
  const n = numberIn(await tx.get("counters", keyOf("a"))) + 1;
  tx.put("counters", { ...keyOf("a"), n: { N: n.toString() } });
};

async function commit(engine: ClientEngine): Promise<void> {
  await engine.transact({ ack: "certified" }, increment);
}

/** A commit by a stream that was closed and opened again; nobody but replay can install it. */
async function commitBehindReopening(cloud: TestCloud): Promise<TransactionId> {
  const provision = operatorOf(cloud);
  await commit(startApp(cloud, "first").engine);
  await provision("closing");
  await provision(true);
  const dying = startDying(cloud);
  await commit(dying.engine);
  dying.process.crash();
  const [id] = dying.sent;
  assert(id !== undefined, "the scene: a commit that was sent");
  return id;
}

test("a stream that is closed, opened and closed again is drained before it goes", async () => {
  const cloud = await createTestCloud({ tables: [countersTable] });
  await cloud.run(async () => {
    const id = await commitBehindReopening(cloud);
    await cloud.deployment.switchStream(false);
    await cloud.clock.sleep(10 * minuteMs);
    const { engine } = startApp(cloud, "asks");
    expect(await engine.outcome(id)).toMatchObject({ kind: "committed" });
    const { result } = await engine.transact({}, (tx) => tx.get("counters", keyOf("a")));
    expect(numberIn(result)).toBe(2);
    expect(cloud.rows(counters)).toEqual([{ id: "a", n: 2 }]);
  }, limit);
});

test("replay goes on with its batches once the stream is opened again", async () => {
  const cloud = await createTestCloud({ tables: [countersTable] });
  await cloud.run(async () => {
    await commitBehindReopening(cloud);
    // A batch wakes replay at once; the schedule comes once a minute.
    await cloud.clock.sleep(8_000);
    expect(cloud.rows(counters)).toEqual([{ id: "a", n: 2 }]);
  }, limit);
});
