/**
 * ElectroDB and dynamodb-toolbox run their typical operations through the plugin, unchanged: the
 * same program, on a mixed table through it and on another table without it, finds the same.
 */
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { Entity as ToolboxEntity } from "dynamodb-toolbox/entity";
import { DeleteItemCommand as ToolboxDelete } from "dynamodb-toolbox/entity/actions/delete";
import { GetItemCommand as ToolboxGet } from "dynamodb-toolbox/entity/actions/get";
import { PutItemCommand as ToolboxPut } from "dynamodb-toolbox/entity/actions/put";
import { $add, UpdateItemCommand as ToolboxUpdate } from "dynamodb-toolbox/entity/actions/update";
import { item, number, string } from "dynamodb-toolbox/schema";
import { Table as ToolboxTable } from "dynamodb-toolbox/table";
import { QueryCommand as ToolboxQuery } from "dynamodb-toolbox/table/actions/query";
import { ScanCommand as ToolboxScan } from "dynamodb-toolbox/table/actions/scan";
import { Entity } from "electrodb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startNativeWorld, type Attributes, type NativeWorld } from "../harness/native-world.ts";

let world: NativeWorld;
let plainDocument: DynamoDBDocumentClient;

beforeAll(async () => {
  world = await startNativeWorld();
  plainDocument = DynamoDBDocumentClient.from(world.plain);
});
beforeEach(() => {
  world.proxy.reset();
  world.cleared.length = 0;
});
afterAll(() => world.stop());

const calls = [
  ...["GetItem", "BatchGetItem", "Query", "Scan", "PutItem", "UpdateItem", "DeleteItem"],
  "BatchWriteItem",
];
const seen = (): number => calls.reduce((sum, name) => sum + world.proxy.seen(name), 0);

/** What a program has found, its errors by name and message; its times and tables differ. */
async function found(steps: readonly (() => Promise<unknown>)[]): Promise<readonly string[]> {
  const results: string[] = [];
  for (const step of steps) {
    let result: unknown;
    try {
      result = await step();
    } catch (error) {
      const { name, message } = error as Error;
      result = { name, message };
    }
    const text = JSON.stringify(result, (_, value: unknown) =>
      value instanceof Set ? [...(value as Set<unknown>)] : value,
    );
    results.push(
      text
        .replaceAll(/"(?:created|modified|_ct|_md)":"[^"]*"/gu, '""')
        .replaceAll(/(?:native|other)-[0-9a-f]+/gu, "")
        .replaceAll(/"(?:requestId|\$metadata)":(?:"[^"]*"|\{[^}]*\})/gu, '""'),
    );
  }
  return results;
}

async function sameFound(
  program: (client: DynamoDBDocumentClient, table: string) => readonly (() => Promise<unknown>)[],
): Promise<void> {
  const steps = program(world.document, world.table);
  const through = await found(steps);
  // A store that does not show what refuses a condition is tried twice.
  const refused = through.filter((each) => each.includes("onditional request failed")).length;
  expect(seen()).toBe(steps.length + (world.isWhole ? 0 : refused));
  expect(through).toEqual(await found(program(plainDocument, world.otherTable)));
  expect(through.join()).not.toMatch(/"_[vnfx]"/u);
}

describe("ElectroDB", () => {
  const tasks = (client: DynamoDBDocumentClient, table: string) =>
    new Entity(
      {
        model: { entity: "task", version: "1", service: "work" },
        attributes: {
          team: { type: "string", required: true },
          task: { type: "string", required: true },
          status: { type: ["open", "closed"] as const, default: "open" },
          points: { type: "number" },
          tags: { type: "set", items: "string" },
        },
        indexes: {
          tasks: {
            pk: { field: "pk", composite: ["team"] },
            sk: { field: "sk", composite: ["task"] },
          },
        },
      },
      { client, table },
    );

  test("finds the same, in as many calls", () =>
    sameFound((client, table) => {
      const entity = tasks(client, table);
      const key = { team: "green", task: "a" };
      return [
        () => entity.create({ ...key, points: 3, tags: ["x", "y"] }).go(),
        () => entity.create(key).go(),
        () => entity.put({ team: "green", task: "b" }).go(),
        () => entity.get(key).go(),
        () => entity.get({ team: "green", task: "none" }).go(),
        () => entity.patch(key).add({ points: 2 }).go({ response: "all_new" }),
        () => entity.patch({ team: "green", task: "none" }).set({ points: 1 }).go(),
        () => entity.update(key).set({ status: "closed" }).go({ response: "all_old" }),
        () => entity.upsert({ team: "green", task: "c", points: 1 }).go({ response: "all_new" }),
        () =>
          entity
            .update(key)
            .set({ points: 9 })
            .where(({ points }, { gt }) => gt(points, 100))
            .go(),
        () =>
          entity
            .put([
              { team: "red", task: "a" },
              { team: "red", task: "b" },
            ])
            .go(),
        () => entity.get([key, { team: "red", task: "a" }]).go({ preserveBatchOrder: true }),
        () => entity.query.tasks({ team: "green" }).go(),
        () => entity.query.tasks({ team: "green" }).go({ attributes: ["points"] }),
        () => entity.query.tasks({ team: "green" }).go({ limit: 2 }),
        () =>
          entity.query
            .tasks({ team: "green" })
            .where(({ points }, { exists }) => exists(points))
            .go(),
        () => entity.scan.go(),
        () => entity.delete(key).go({ response: "all_old" }),
        () => entity.remove({ team: "green", task: "b" }).go(),
        () => entity.remove({ team: "green", task: "b" }).go(),
        () =>
          entity
            .delete([
              { team: "red", task: "a" },
              { team: "red", task: "b" },
            ])
            .go(),
      ];
    }));

  test("creates over the placeholder of a transaction that aborts", async () => {
    const entity = tasks(world.document, world.table);
    const task = { team: "blue", task: "a" };
    const { Key } = entity.get(task).params<{ Key: { pk: string; sk: string } }>();
    const key: Attributes = { pk: { S: Key.pk }, sk: { S: Key.sk } };
    await world.fence(key, "aborts");
    expect((await entity.get(task).go()).data).toBeNull();
    expect((await entity.query.tasks({ team: "blue" }).go()).data).toEqual([]);
    await entity.create(task).go();
    expect(world.cleared).toHaveLength(1);
    expect((await entity.get(task).go()).data).toEqual({ ...task, status: "open" });
    await entity.remove(task).go();
  });
});

describe("dynamodb-toolbox", () => {
  const parts = (client: DynamoDBDocumentClient, name: string) => {
    const table = new ToolboxTable({
      ...{ name, documentClient: client },
      partitionKey: { name: "pk", type: "string" },
      sortKey: { name: "sk", type: "string" },
    });
    const entity = new ToolboxEntity({
      ...{ name: "Pokemon", table },
      schema: item({
        id: string().key().savedAs("pk"),
        kind: string().key().savedAs("sk"),
        level: number().optional(),
        name: string().optional(),
      }),
    });
    return { table, entity };
  };

  test("finds the same, in as many calls", () =>
    sameFound((client, name) => {
      const { table, entity } = parts(client, name);
      const key = { id: "pikachu", kind: "mouse" };
      return [
        () =>
          entity
            .build(ToolboxPut)
            .item({ ...key, level: 1 })
            .options({ condition: { attr: "id", exists: false } })
            .send(),
        () =>
          entity
            .build(ToolboxPut)
            .item({ ...key, level: 2 })
            .options({ condition: { attr: "id", exists: false } })
            .send(),
        () =>
          entity
            .build(ToolboxPut)
            .item({ ...key, kind: "other" })
            .send(),
        () => entity.build(ToolboxGet).key(key).send(),
        () =>
          entity
            .build(ToolboxGet)
            .key(key)
            .options({ attributes: ["level"] })
            .send(),
        () =>
          entity
            .build(ToolboxGet)
            .key({ ...key, kind: "none" })
            .send(),
        () =>
          entity
            .build(ToolboxUpdate)
            .item({ ...key, level: $add(3) })
            .options({ returnValues: "ALL_NEW" })
            .send(),
        () =>
          entity
            .build(ToolboxUpdate)
            .item({ ...key, name: "Pika" })
            .options({ condition: { attr: "level", gt: 100 }, returnValues: "UPDATED_OLD" })
            .send(),
        () => table.build(ToolboxQuery).query({ partition: "pikachu" }).entities(entity).send(),
        () =>
          table
            .build(ToolboxQuery)
            .query({ partition: "pikachu" })
            .options({ limit: 1, reverse: true })
            .send(),
        () => table.build(ToolboxScan).options({ select: "COUNT" }).send(),
        () => entity.build(ToolboxDelete).key(key).options({ returnValues: "ALL_OLD" }).send(),
        () =>
          entity
            .build(ToolboxDelete)
            .key({ ...key, kind: "other" })
            .send(),
      ];
    }));
});
