/** The block that opens a stream, by whomever (docs/protocol.md §3, Closing the stream). */
import { expect, test } from "vitest";
import { leaveStream } from "../../../aws/stream-wish.ts";
import { openStream } from "../../../aws/stream-switch.ts";
import { decodeLogBlockHeader } from "../../../schemas/log-block.ts";
import { createTestCloud } from "../../../testing/index.ts";

test.each([-300_000, 300_000])(
  "is dated by the log alone, with a clock that is %i ms off",
  async (offsetMs) => {
    const cloud = await createTestCloud();
    const { deployment, world } = cloud;
    const { shard } = deployment;
    await cloud.run(async () => {
      const operator = world.startProcess("off", { clockError: { offsetMs, drift: 0 } });
      const ports = deployment.portsOf(operator);
      const newest = async () => {
        const [stored] = await ports.log.readBackward(shard, { blocksMax: 1 });
        if (stored === undefined) throw new Error("an empty log");
        return decodeLogBlockHeader(stored.bytes, stored.position).throughTimestamp;
      };
      await leaveStream(ports, 10 * 60_000);
      const closedAt = await newest();
      await cloud.clock.sleep(60_000);
      await openStream(ports, shard, "1");
      expect((await newest()) - closedAt).toBe(1);
    });
  },
);
