/** ElectroDB: one entity with an index, and a service with its transactions. */
import { Entity, Service } from "electrodb";
import type { Clients, Library, Step } from "./library.ts";

function entityOf({ document: client }: Clients, table: string) {
  return new Entity(
    {
      model: { entity: "task", version: "1", service: "work" },
      attributes: {
        team: { type: "string", required: true },
        task: { type: "string", required: true },
        owner: { type: "string" },
        status: { type: ["open", "closed"] as const, default: "open" },
        points: { type: "number" },
        tags: { type: "set", items: "string" },
        notes: { type: "list", items: { type: "string" } },
        place: { type: "map", properties: { city: { type: "string" } } },
      },
      indexes: {
        tasks: {
          pk: { field: "pk", composite: ["team"] },
          sk: { field: "sk", composite: ["task"] },
        },
        owned: {
          index: "gsi1",
          pk: { field: "gsi1pk", composite: ["owner"] },
          sk: { field: "gsi1sk", composite: ["status"] },
          condition: ({ owner }: { readonly owner?: string }) => owner !== undefined,
        },
      },
    },
    { client, table },
  );
}

export const electroDb: Library = {
  name: "ElectroDB",
  program: (clients, table) => {
    const entity = entityOf(clients, table);
    const service = new Service({ task: entity }, { client: clients.document, table });
    const key = { team: "green", task: "a" };
    const other = { team: "green", task: "b" };
    const absent = { team: "green", task: "none" };
    const one: readonly Step[] = [
      {
        operation: "create",
        run: () => entity.create({ ...key, points: 3, tags: ["x", "y"], owner: "ann" }).go(),
      },
      { operation: "create, over an item", run: () => entity.create(key).go() },
      { operation: "put", run: () => entity.put({ ...other, owner: "ann", notes: ["n"] }).go() },
      { operation: "get", run: () => entity.get(key).go() },
      { operation: "get, of none", run: () => entity.get(absent).go() },
      { operation: "get, attributes", run: () => entity.get(key).go({ attributes: ["points"] }) },
      {
        operation: "patch, add",
        run: () => entity.patch(key).add({ points: 2 }).go({ response: "all_new" }),
      },
      { operation: "patch, of none", run: () => entity.patch(absent).set({ points: 1 }).go() },
      {
        operation: "update, set",
        run: () =>
          entity
            .update(key)
            .set({ place: { city: "Ulm" } })
            .go({ response: "all_old" }),
      },
      {
        operation: "update, append",
        run: () =>
          entity
            .update(other)
            .append({ notes: ["m"] })
            .go({ response: "updated_new" }),
      },
      {
        operation: "update, delete of a set",
        run: () =>
          entity
            .update(key)
            .delete({ tags: ["x"] })
            .go({ response: "all_new" }),
      },
      {
        operation: "update, remove",
        run: () => entity.update(key).remove(["place"]).go({ response: "updated_old" }),
      },
      {
        operation: "update, where that fails",
        run: () =>
          entity
            .update(key)
            .set({ points: 9 })
            .where(({ points }, { gt }) => gt(points, 100))
            .go(),
      },
      {
        operation: "upsert",
        run: () =>
          entity.upsert({ team: "green", task: "c", points: 1 }).go({ response: "all_new" }),
      },
    ];
    const many: readonly Step[] = [
      {
        operation: "put, of many",
        run: () => entity.put(["a", "b"].map((task) => ({ team: "red", task }))).go(),
      },
      {
        operation: "get, of many",
        run: () => entity.get([key, { team: "red", task: "a" }]).go({ preserveBatchOrder: true }),
      },
      { operation: "query", run: () => entity.query.tasks({ team: "green" }).go() },
      {
        operation: "query, attributes",
        run: () => entity.query.tasks({ team: "green" }).go({ attributes: ["points"] }),
      },
      {
        operation: "query, limit and order",
        run: () => entity.query.tasks({ team: "green" }).go({ limit: 2, order: "desc" }),
      },
      {
        operation: "query, all pages",
        run: () => entity.query.tasks({ team: "green" }).go({ pages: "all", limit: 1 }),
      },
      {
        operation: "query, begins",
        run: () => entity.query.tasks({ team: "green" }).begins({ task: "b" }).go(),
      },
      {
        operation: "query, where",
        run: () =>
          entity.query
            .tasks({ team: "green" })
            .where(({ points }, { exists }) => exists(points))
            .go(),
      },
      {
        operation: "query, of an index",
        unordered: true,
        run: () => entity.query.owned({ owner: "ann" }).go(),
      },
      { operation: "match", unordered: true, run: () => entity.match({ owner: "ann" }).go() },
      { operation: "scan", unordered: true, run: () => entity.scan.go() },
    ];
    const transactions: readonly Step[] = [
      {
        operation: "transaction.write",
        transaction: true,
        run: () =>
          service.transaction
            .write(({ task }) => [
              task.create({ team: "blue", task: "a" }).commit(),
              task.update(other).set({ status: "closed" }).commit({ response: "all_old" }),
              task
                .check(key)
                .where(({ points }, { exists }) => exists(points))
                .commit(),
            ])
            .go(),
      },
      {
        operation: "transaction.write, canceled",
        transaction: true,
        run: () =>
          service.transaction
            .write(({ task }) => [
              task.create(key).commit({ response: "all_old" }),
              task.put({ team: "blue", task: "b" }).commit(),
            ])
            .go(),
      },
      {
        operation: "transaction.get",
        transaction: true,
        run: () =>
          service.transaction
            .get(({ task }) => [task.get(key).commit(), task.get(absent).commit()])
            .go(),
      },
    ];
    const gone: readonly Step[] = [
      { operation: "delete", run: () => entity.delete(key).go({ response: "all_old" }) },
      { operation: "remove", run: () => entity.remove(other).go() },
      { operation: "remove, of none", run: () => entity.remove(other).go() },
      {
        operation: "delete, of many",
        run: () => entity.delete(["a", "b"].map((task) => ({ team: "red", task }))).go(),
      },
    ];
    return [...one, ...many, ...transactions, ...gone];
  },
};
