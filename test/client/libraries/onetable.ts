/** OneTable: one model with an index and a unique attribute. */
import { Table } from "dynamodb-onetable";
import type { Library, Loose, Step } from "./library.ts";

const schema = {
  format: "onetable:1.1.0",
  version: "0.0.1",
  indexes: {
    primary: { hash: "pk", sort: "sk" },
    gsi1: { hash: "gsi1pk", sort: "gsi1sk", project: "all" },
  },
  models: {
    User: {
      pk: { type: String, value: "user#${id}" },
      sk: { type: String, value: "user#" },
      gsi1pk: { type: String, value: "city#${city}" },
      gsi1sk: { type: String, value: "user#${id}" },
      id: { type: String, required: true },
      city: { type: String, default: "Ulm" },
      email: { type: String },
      age: { type: Number },
      tags: { type: Set },
      place: { type: Object, schema: { street: { type: String } } },
    },
    Login: {
      pk: { type: String, value: "login#" },
      sk: { type: String, value: "login#${email}" },
      email: { type: String, unique: true, required: true },
    },
  },
  params: { isoDates: true, timestamps: false },
} as const;

export const oneTable: Library = {
  name: "OneTable",
  program: ({ wire }, name) => {
    const table = new Table({
      name,
      client: wire,
      schema: schema as never,
      logger: false,
      partial: true,
    });
    const user = table.getModel("User") as unknown as Loose;
    const login = table.getModel("Login") as unknown as Loose;
    const key = { id: "ann" };
    const one: readonly Step[] = [
      {
        operation: "create",
        run: () => user.create({ ...key, age: 40, tags: new Set(["a"]), email: "a@x.org" }),
      },
      { operation: "create, over an item", run: () => user.create(key) },
      {
        operation: "create, exists: null",
        run: () => user.create({ id: "bob" }, { exists: null }),
      },
      { operation: "get", run: () => user.get(key) },
      { operation: "get, of none", run: () => user.get({ id: "none" }) },
      { operation: "get, fields", run: () => user.get(key, { fields: ["age"] }) },
      { operation: "update", run: () => user.update({ ...key, age: 41 }) },
      { operation: "update, add", run: () => user.update(key, { add: { age: 1 } }) },
      {
        operation: "update, set",
        run: () => user.update(key, { set: { place: { street: "High" } } }),
      },
      {
        operation: "update, set of a path",
        run: () => user.update(key, { set: { "place.street": "Low" } }),
      },
      { operation: "update, remove", run: () => user.update({ ...key, email: null }) },
      { operation: "update, of none", run: () => user.update({ id: "none", age: 1 }) },
      {
        operation: "update, where that fails",
        run: () => user.update({ ...key, age: 50 }, { where: "${age} > {100}" }),
      },
      { operation: "upsert", run: () => user.upsert({ id: "eve", age: 3 }) },
    ];
    const many: readonly Step[] = [
      { operation: "find", run: () => user.find(key) },
      { operation: "find, where", run: () => user.find(key, { where: "${age} > {1}" }) },
      { operation: "find, of an index", run: () => user.find({ city: "Ulm" }, { index: "gsi1" }) },
      {
        operation: "find, limit and reverse",
        run: () => user.find({ city: "Ulm" }, { index: "gsi1", limit: 2, reverse: true }),
      },
      {
        operation: "find, count",
        run: () => user.find({ city: "Ulm" }, { index: "gsi1", count: true }),
      },
      { operation: "scan", unordered: true, run: () => user.scan({}) },
      {
        operation: "batch, create and remove",
        run: async () => {
          const batch = {};
          await user.create({ id: "kim" }, { batch, exists: null });
          await user.remove({ id: "bob" }, { batch, exists: null });
          return table.batchWrite(batch);
        },
      },
      {
        operation: "batch, get",
        unordered: true,
        run: async () => {
          const batch = {};
          await user.get(key, { batch });
          await user.get({ id: "kim" }, { batch });
          return table.batchGet(batch, { parse: true, hidden: false });
        },
      },
    ];
    const transactions: readonly Step[] = [
      {
        operation: "transact, write",
        transaction: true,
        run: async () => {
          const transaction = {};
          await user.create({ id: "lea" }, { transaction });
          await user.update({ ...key, age: 60 }, { transaction });
          return table.transact("write", transaction);
        },
      },
      {
        operation: "transact, canceled",
        transaction: true,
        run: async () => {
          const transaction = {};
          await user.create(key, { transaction });
          await user.create({ id: "max" }, { transaction });
          return table.transact("write", transaction);
        },
      },
      {
        operation: "transact, get",
        transaction: true,
        run: async () => {
          const transaction = {};
          await user.get(key, { transaction });
          await user.get({ id: "lea" }, { transaction });
          return table.transact("get", transaction, { parse: true, hidden: false });
        },
      },
      {
        operation: "create, unique",
        transaction: true,
        run: () => login.create({ email: "a@x.org" }),
      },
      {
        operation: "create, not unique",
        transaction: true,
        run: () => login.create({ email: "a@x.org" }),
      },
      {
        operation: "remove, unique",
        transaction: true,
        run: () => login.remove({ email: "a@x.org" }),
      },
    ];
    const gone: readonly Step[] = [
      { operation: "remove", run: () => user.remove(key) },
      { operation: "remove, of none", run: () => user.remove({ id: "none" }) },
    ];
    return [...one, ...many, ...transactions, ...gone];
  },
};
