/** No audit sees money on its way between the steps of a transfer, whoever crashes. */
import { describe, expect, test } from "vitest";
import { createTestCloud } from "../../../testing/index.ts";
import { auditedTransfers } from "./audited.ts";
import { tables } from "./transfers.ts";
import { baseWays } from "./ways.ts";

describe.each(baseWays)("transfers in steps, by %s", (_, way) => {
  test("are never seen half made, and are each made once, whoever crashes", async () => {
    const cloud = await createTestCloud({ ...way, tables, seed: 1 });
    await auditedTransfers(cloud, { seed: 1, auditsMin: way.shards === 3 ? 1 : 6 });
  });
});

describe.each([
  ["blocks of their own", { commit: "express" }],
  ["the stream", { commit: "stream" }],
] as const)("transfers in steps, by %s, beside a split and a join", (_, way) => {
  test("are never seen half made, and are each made once, whoever crashes", async () => {
    const cloud = await createTestCloud({ ...way, tables, seed: 2, maySplit: true });
    const done: string[] = [];
    await auditedTransfers(cloud, {
      seed: 2,
      auditsMin: 1,
      meanwhile: async () => {
        await cloud.clock.sleep(300);
        done.push(`split off ${(await cloud.splitShard(0)).toString()}`);
        await cloud.clock.sleep(900);
        done.push(`joined to ${(await cloud.joinShards(1)).toString()}`);
      },
    });
    expect(done).toEqual(["split off 1", "joined to 0"]);
  });
});
