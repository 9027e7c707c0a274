/**
 * What somebody can break who may keep house (policy `housekeeping` by itself: those who have it
 * have `express` and `read-write`, too), and what not.
 */
import { DeleteItemCommand, QueryCommand } from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
import { createAwsClients } from "../../../aws/clients.ts";
import { createEngine } from "../../../engine/engine.ts";
import { runReplay } from "../../functions/replay-runs.ts";
import { sealedAt } from "../../simulation/producer.ts";
import { storedN } from "../fragile.ts";
import { deleteAll, key, number, putAll, readOne } from "../support.ts";
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
    "queued tombstones, by taking them off the queue": inItsOwnWorld(async (world) => {
      const { stores, honest, plain } = world;
      await putAll(honest, plain, [key("row")]);
      await deleteAll(honest, plain, [key("row")]);
      await runReplay(stores, {});
      const { control } = (await world.as(role)).ports;
      const queued = await stores.ports.control.queuedTombstones(stores.shard);
      expect(queued).not.toEqual([]);
      for (const batch of queued) await control.dropTombstones(batch);
      expect(await stores.ports.control.queuedTombstones(stores.shard)).toEqual([]);
    }),
    "dead letters, by writing over them": inItsOwnWorld(async (world) => {
      const { stores } = world;
      const { controlTable } = stores.ports.names;
      const { ports } = await world.as(role);
      const timestamp = await world.newest();
      const { id } = sealedAt(timestamp);
      const letter = { ...{ shard: stores.shard, timestamp, id }, table: world.table };
      const kept = { ...letter, key: key("row"), item: key("row"), reason: "refused" };
      await stores.ports.control.saveDeadLetter(kept);
      await ports.control.saveDeadLetter({ ...kept, item: undefined, reason: "nothing" });
      const aws = createAwsClients(stores.clientOptions);
      const { client } = await aws.dynamodb();
      const { Items } = await client.send(
        new QueryCommand({
          TableName: controlTable,
          KeyConditionExpression: "pk = :pk",
          ExpressionAttributeValues: { ":pk": { S: `dead-letters#${stores.shard}` } },
        }),
      );
      await aws.close();
      expect(Items).toMatchObject([{ reason: { S: "nothing" }, kind: { S: "delete" } }]);
    }),
    "others' turns at keeping house, by taking one after the other": inItsOwnWorld(
      async (world) => {
        const { control } = (await world.as(role)).ports;
        for (let turn = 1; turn <= 3; turn += 1) {
          const after = turn === 1 ? undefined : turn - 1;
          expect(await control.putHouseTurn({ turn, isOver: false }, after)).toBe(true);
        }
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
