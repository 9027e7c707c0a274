/**
 * What somebody can break who may keep house (policy `housekeeping` by itself: those who have it
 * have `express` and `read-write`, too), and what not.
 */
import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
import { createEngine } from "../../../engine/engine.ts";
import { runReplay } from "../../functions/replay-runs.ts";
import { storedN } from "../fragile.ts";
import { key, number, putAll, readOne } from "../support.ts";
import { newestBlock } from "./hostile-appender.ts";
import { columns } from "./probes.ts";
import { inItsOwnWorld, type Breakage } from "./trial.ts";
import type { World } from "./world.ts";

const role = "policy housekeeping";

async function expectLacks(world: World, what: RegExp): Promise<void> {
  for (const column of columns) {
    expect((await world.may(role, column)).filter((right) => what.test(right))).toEqual([]);
  }
}

export const keeperTrials: Breakage = {
  can: {
    "commits that are not installed, by moving the watermark past them": inItsOwnWorld(
      async (world) => {
        const { stores, plain } = world;
        const { id } = await world.commitAndDie("lost");
        const { position, throughTimestamp, cursor } = await newestBlock(stores);
        const { control } = (await world.as(role)).ports;
        const beyond = { position, timestamp: throughTimestamp, cursor };
        expect(await control.advanceWatermark(stores.shard, beyond)).toBe(true);
        await runReplay(stores, {});
        expect(await storedN(stores, plain, key("lost"))).toBe(0);
        const newcomer = createEngine(stores.openPorts());
        expect(await newcomer.outcome(id)).toMatchObject({ kind: "committed" });
        await newcomer.close();
      },
    ),
    "items of every registered table, by deleting them": inItsOwnWorld(async (world) => {
      const { stores, honest, plain } = world;
      await putAll(honest, plain, [{ ...key("row"), n: number(1) }]);
      await runReplay(stores, {});
      const { dynamodb } = await world.as(role);
      await dynamodb.send(
        new DeleteItemCommand({ TableName: world.table, Key: { pk: { S: "row" } } }),
      );
      const newcomer = createEngine(stores.openPorts());
      expect(await readOne(newcomer, plain, key("row"))).toBeUndefined();
      await newcomer.close();
    }),
    "queued tombstones, dead letters and others' turns at keeping house": inItsOwnWorld(
      async (world) => {
        const rights = await world.may(role, "control");
        expect(rights).toContain("queues tombstones");
        expect(rights).toContain("takes tombstones off the queue");
        expect(rights).toContain("saves dead letters");
        expect(rights).toContain("takes turns");
      },
    ),
  },
  not: {
    "the log's blocks and superseded versions": inItsOwnWorld(async (world) => {
      expect(await world.may(role, "log")).toEqual([]);
      expect(await world.may(role, "versions")).toEqual([]);
    }),
    "what an item says, or the result of a key: it deletes, and writes none": inItsOwnWorld(
      async (world) => {
        expect(await world.may(role, "your tables")).toEqual(["deletes"]);
        expect(await world.may(role, "control")).not.toContain("saves results of keys");
      },
    ),
    "shards and the registry, so no table that is not registered": inItsOwnWorld((world) =>
      expectLacks(world, /registers|deletes shards|others/),
    ),
    "the secret of REST's tokens": inItsOwnWorld((world) => expectLacks(world, /secret/)),
  },
};
