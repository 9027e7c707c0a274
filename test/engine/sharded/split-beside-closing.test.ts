/** An operator takes the stream away while another one splits a shard. */
import { expect, test } from "vitest";
import { leaveStream } from "../../../aws/stream-wish.ts";
import { streamUse } from "../../../aws/stream-switch.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { bankTables, openAccounts } from "./bank.ts";

test("a stream that nobody needs any more is closed in every log, also one split off", async () => {
  const cloud = await createTestCloud({ commit: "stream", tables: bankTables, maySplit: true });
  await cloud.run(async () => {
    await openAccounts(cloud.createClient("set-up"));
    const ports = cloud.deployment.portsOf(cloud.world.startProcess("operator 2"), { calm: true });
    let isSplit = false;
    const control = {
      ...ports.control,
      shards: async () => {
        const shards = await ports.control.shards();
        if (!isSplit) await cloud.splitShard(0);
        isSplit = true;
        return shards;
      },
    };
    await leaveStream({ ...ports, control }, 10 * 60_000);
    const uses = await Promise.all(
      (await ports.control.shards()).map((shard) => streamUse(ports, shard)),
    );
    expect(uses).toEqual(["unused", "unused"]);
  });
});
