/** Who may append blocks says that a shard is closing, of which no operator knows. */
import { expect, test } from "vitest";
import { decidingBlockBehind, placeOnce, watermarkOf } from "../../aws/provisioning-block.ts";
import { defineTable } from "../../sdk/index.ts";
import { decodeLogBlockHeader } from "../../schemas/log-block.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";
import type { LogPosition } from "../../core/types.ts";

const rows = defineTable<{ readonly n: number }, { readonly id: string }>("rows", { key: "id" });

test.each([1, 2])("replay ends no log that nobody joins, shards: %i", async (shards) => {
  const cloud = await createTestCloud({
    ...{ shards, commit: "stream" },
    tables: [testTable("rows", { partitionKey: "id" })],
  });
  const { deployment, world } = cloud;
  const ids = Array.from({ length: 8 }, (_, n) => `row-${n}`);
  const kinds = await cloud.run(async () => {
    const putAll = async (n: number): Promise<void> => {
      const client = cloud.createClient(`client ${n}`);
      for (const id of ids) {
        await client.transact({ deadlineMs: 5_000 }, (tx) => {
          tx.put(rows, { id, n });
          return Promise.resolve();
        });
      }
    };
    await putAll(1);
    const forger = deployment.portsOf(world.startProcess("forger"), { calm: true });
    const shard = [...deployment.logs.keys()].at(-1) ?? deployment.shard;
    const watermark = await watermarkOf(forger, shard);
    await placeOnce(
      forger,
      { shard, watermark },
      {
        isIt: () => false,
        follow: (end) => ({
          ...decidingBlockBehind(end, forger.random),
          handover: { kind: "closing" },
        }),
      },
    );
    await cloud.clock.sleep(120_000);
    const { blocks } = await forger.log.readAfter(shard, 0 as LogPosition);
    return blocks.flatMap(
      ({ bytes, position }) => decodeLogBlockHeader(bytes, position).handover?.kind ?? [],
    );
  });
  expect(kinds).toEqual(["closing"]);
});
