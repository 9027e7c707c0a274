/** Who may append blocks says of shards what no operator, or no log, knows of. */
import { expect, test } from "vitest";
import {
  decidingBlockBehind,
  placeOnce,
  watermarkOf,
  type LogEnd,
} from "../../aws/provisioning-block.ts";
import { defineTable } from "../../sdk/index.ts";
import { decodeLogBlockHeader } from "../../schemas/log-block.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";
import type { Handover, LogPosition, ShardNumber, Timestamp } from "../../core/types.ts";

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

async function forgedIn(shard: number, handover: Handover, operator: "joins" | "knows nothing") {
  const cloud = await createTestCloud({
    ...{ shards: 2, commit: "express" },
    tables: [testTable("rows", { partitionKey: "id" })],
  });
  const { deployment, world } = cloud;
  return cloud.run(async () => {
    const forger = deployment.portsOf(world.startProcess("forger"), { calm: true });
    const ids = [...deployment.logs.keys()];
    if (operator === "joins") await forger.control.prepareJoin(1 as ShardNumber);
    await cloud.createClient("writer").transact((tx) => {
      for (let n = 0; n < 8; n += 1) tx.put(rows, { id: `row-${n}`, n });
      return Promise.resolve();
    });
    await cloud.clock.sleep(10_000);
    const id = ids[shard] ?? deployment.shard;
    const watermark = await watermarkOf(forger, id);
    const follow = (end: LogEnd) => ({ ...decidingBlockBehind(end, forger.random), handover });
    await placeOnce(forger, { shard: id, watermark }, { isIt: () => false, follow });
    await cloud.clock.sleep(120_000);
    const handovers = await Promise.all(
      ids.map(async (each) => {
        const { blocks } = await forger.log.readAfter(each, 0 as LogPosition);
        return blocks.flatMap(
          ({ bytes, position }) => decodeLogBlockHeader(bytes, position).handover?.kind ?? [],
        );
      }),
    );
    const map = await forger.control.shardMap();
    return { handovers, live: map?.entries.length };
  });
}

test("an end that no operator has begun brings no other log into it", async () => {
  const { handovers, live } = await forgedIn(1, { kind: "ended" }, "knows nothing");
  expect({ handovers, live }).toEqual({ handovers: [[], ["ended"]], live: 2 });
});

test("a takeover of a log that has not ended is not entered in the map", async () => {
  const range = { from: 2 ** 31, to: 2 ** 32 };
  const end = { endedAt: 1 as LogPosition, endedThrough: 1 as Timestamp };
  const takes = { kind: "takes", shard: 1 as ShardNumber, ...end, ...range } as const;
  const { handovers, live } = await forgedIn(0, takes, "joins");
  expect({ handovers, live }).toEqual({ handovers: [["takes"], []], live: 2 });
});
