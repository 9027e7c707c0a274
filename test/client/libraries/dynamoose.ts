/** dynamoose: one model with an index, in an instance of its own. */
import dynamoose from "dynamoose";
import type { Library, Loose, Step } from "./library.ts";

const schema = new dynamoose.Schema(
  {
    pk: { type: String, hashKey: true },
    sk: { type: String, rangeKey: true },
    gsi1pk: { type: String, index: { name: "gsi1", rangeKey: "gsi1sk", type: "global" } },
    gsi1sk: String,
    lives: Number,
    colors: { type: Set, schema: [String] },
    toys: { type: Array, schema: [String] },
    home: { type: Object, schema: { city: String } },
  },
  { saveUnknown: false },
);

export const dynamooseLibrary: Library = {
  name: "dynamoose",
  program: ({ wire }, name) => {
    dynamoose.aws.ddb.set(wire);
    const model = dynamoose.model(`Cat-${name}`, schema);
    // Its types have callbacks in mind.
    const loose = model as unknown as Loose;
    new dynamoose.Table(name, [model], { create: false, update: false, waitForActive: false });
    const key = { pk: "cats", sk: "a" };
    const other = { pk: "cats", sk: "b" };
    const absent = { pk: "cats", sk: "none" };
    const together = (parts: unknown[]): Promise<unknown> =>
      dynamoose.transaction(parts as never) as Promise<unknown>;
    const one: readonly Step[] = [
      {
        operation: "create",
        run: () =>
          loose.create({ ...key, lives: 9, colors: new Set(["red"]), gsi1pk: "ann", gsi1sk: "1" }),
      },
      { operation: "create, over an item", run: () => loose.create(key) },
      {
        operation: "save",
        run: async () => {
          const made: unknown = new model({ ...other, toys: ["ball"], gsi1pk: "ann", gsi1sk: "2" });
          return (made as { save(): Promise<unknown> }).save();
        },
      },
      { operation: "get", run: () => model.get(key) },
      { operation: "get, of none", run: () => model.get(absent) },
      {
        operation: "get, attributes",
        run: () => model.get(key, { attributes: ["lives"] }),
      },
      { operation: "update", run: () => loose.update(key, { lives: 8 }) },
      { operation: "update, $ADD", run: () => loose.update(key, { $ADD: { lives: 1 } }) },
      {
        operation: "update, $SET of an object",
        run: () => loose.update(key, { $SET: { home: { city: "Ulm" } } }),
      },
      {
        operation: "update, $REMOVE",
        run: () => loose.update(key, { $REMOVE: ["home"] }),
      },
      {
        operation: "update, $DELETE of a set",
        run: () => loose.update(key, { $DELETE: { colors: new Set(["red"]) } }),
      },
      {
        operation: "update, condition that fails",
        run: () =>
          loose.update(
            key,
            { lives: 1 },
            { condition: new dynamoose.Condition().where("lives").gt(100) },
          ),
      },
    ];
    const many: readonly Step[] = [
      {
        operation: "batchPut",
        run: () => model.batchPut(["c", "d"].map((sk) => ({ pk: "cats", sk }))),
      },
      { operation: "batchGet", unordered: true, run: () => model.batchGet([key, absent, other]) },
      { operation: "query", run: () => model.query("pk").eq("cats").exec() },
      {
        operation: "query, sort key",
        run: () => model.query("pk").eq("cats").where("sk").beginsWith("b").exec(),
      },
      {
        operation: "query, filter",
        run: () => model.query("pk").eq("cats").filter("lives").ge(1).exec(),
      },
      {
        operation: "query, limit and sort",
        run: () => model.query("pk").eq("cats").limit(2).sort("descending").exec(),
      },
      { operation: "query, all", run: () => model.query("pk").eq("cats").limit(1).all().exec() },
      { operation: "query, count", run: () => model.query("pk").eq("cats").count().exec() },
      {
        operation: "query, of an index",
        run: () => model.query("gsi1pk").eq("ann").using("gsi1").exec(),
      },
      { operation: "scan", unordered: true, run: () => model.scan().exec() },
      { operation: "scan, parallel", unordered: true, run: () => model.scan().parallel(2).exec() },
    ];
    const transactions: readonly Step[] = [
      {
        operation: "transaction",
        transaction: true,
        run: () =>
          together([
            model.transaction.create({ pk: "cats", sk: "e" }),
            model.transaction.update(key, { lives: 5 }),
            model.transaction.delete({ pk: "cats", sk: "c" }),
            model.transaction.condition(other, new dynamoose.Condition().where("pk").exists()),
          ]),
      },
      {
        operation: "transaction, canceled",
        transaction: true,
        run: () =>
          together([
            model.transaction.create(key),
            model.transaction.create({ pk: "cats", sk: "f" }),
          ]),
      },
      {
        operation: "transaction, get",
        transaction: true,
        run: () => together([model.transaction.get(key), model.transaction.get(other)]),
      },
    ];
    const gone: readonly Step[] = [
      { operation: "delete", run: () => model.delete(key) },
      { operation: "delete, of none", run: () => model.delete(absent) },
      { operation: "batchDelete", run: () => model.batchDelete([other, { pk: "cats", sk: "d" }]) },
    ];
    // Each program works with clients of its own, and dynamoose has one at a time.
    const withClient = ({ run, ...step }: Step): Step => ({
      ...step,
      run: () => {
        dynamoose.aws.ddb.set(wire);
        return run();
      },
    });
    return [...one, ...many, ...transactions, ...gone].map(withClient);
  },
};
