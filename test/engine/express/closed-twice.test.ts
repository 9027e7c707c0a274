/**
 * A stream that is closed, opened, and closed again before replay has come to the opening: the
 * watermark still has the cursor of the first closing (aws/stream-switch.ts).
 */
import { expect, test } from "vitest";
import type { StreamWish } from "../../../aws/first-shards.ts";
import { provisionDeployment } from "../../../aws/provision.ts";
import type { ClientPorts } from "../../../core/ports.ts";
import type { TransactionId } from "../../../core/types.ts";
import { createClientEngine } from "../../../engine/client-engine.ts";
import type { BodyTransaction, ClientEngine } from "../../../engine/types.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { counters, countersTable } from "../increments.ts";
import { keyOf, numberIn } from "./counting-engine.ts";

const minuteMs = 60_000;
const limit = { limitMs: 300 * minuteMs };

/** Runs `provision` with a wish for the stream. */
function operatorOf(cloud: TestCloud): (stream: StreamWish) => Promise<unknown> {
  const { world, options } = cloud.deployment;
  const process = world.startProcess("operator", { exact: true });
  const { clock, random } = process;
  const handles = world.handles(process, { calm: true });
  const { deployment } = options;
  return (stream) =>
    provisionDeployment({ handles, clock, random, deployment, stream, drainMs: 60 * minuteMs });
}

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

test("a stream that is closed, opened and closed again is drained before it goes", async () => {
  const cloud = await createTestCloud({ tables: [countersTable] });
  await cloud.run(async () => {
    const provision = operatorOf(cloud);
    await commit(startApp(cloud, "first").engine);
    await provision("closing");
    await provision(true);
    const dying = startDying(cloud);
    await commit(dying.engine);
    dying.process.crash();
    await cloud.deployment.switchStream(false);
    await cloud.clock.sleep(10 * minuteMs);
    const [id = "" as TransactionId] = dying.sent;
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
    const provision = operatorOf(cloud);
    await commit(startApp(cloud, "first").engine);
    await provision("closing");
    await provision(true);
    const dying = startDying(cloud);
    await commit(dying.engine);
    dying.process.crash();
    // A batch wakes replay at once; the schedule comes once a minute.
    await cloud.clock.sleep(8_000);
    expect(cloud.rows(counters)).toEqual([{ id: "a", n: 2 }]);
  }, limit);
});
