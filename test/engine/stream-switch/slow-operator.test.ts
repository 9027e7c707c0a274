/**
 * A block that closes the stream stands, whatever the operator's clock says (I1): a log lets go of
 * blocks by their own dates.
 */
import { expect, test } from "vitest";
import { provisionDeployment } from "../../../aws/provision.ts";
import type { Client } from "../../../sdk/index.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { counters, countersTable } from "../increments.ts";
import { minuteMs } from "./stream-operator.ts";

const dayMs = 24 * 60 * minuteMs;

test("nine days slow: its position is not given out again", async () => {
  const cloud = await createTestCloud({ tables: [countersTable] });
  const { world, options } = cloud.deployment;
  const process = world.startProcess("operator", {
    clockError: { offsetMs: -9 * dayMs, drift: 0 },
  });
  const { clock, random } = process;
  const raise = (client: Client): Promise<unknown> =>
    client.transact(async (tx) => {
      const row = await tx.get(counters, "a");
      tx.put(counters, { id: "a", n: (row?.n ?? 0) + 1 });
    });
  await cloud.run(
    async () => {
      const sees = cloud.createClient("sees");
      await raise(sees);
      const closing = provisionDeployment({
        handles: world.handles(process, { calm: true }),
        ...{ clock, random, deployment: options.deployment },
        ...{ stream: "closing" as const, drainMs: 10 * minuteMs },
      });
      for (let looks = 0; looks < 20; looks += 1) {
        await sees.snapshot((snapshot) => snapshot.get(counters, "a"));
        await cloud.clock.sleep(5);
      }
      await closing;
      // Who begins now does not know of the block, if it is gone; the other one does.
      await raise(cloud.createClient("late"));
      await raise(sees);
      await raise(cloud.createClient("later"));
      await cloud.settled();
    },
    { limitMs: 120 * minuteMs },
  );
  expect(cloud.rows(counters)).toEqual([expect.objectContaining({ n: 4 })]);
});
