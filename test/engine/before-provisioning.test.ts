/** A client that was started before its deployment was provisioned. */
import { expect, test } from "vitest";
import type { ControlStore } from "../../core/ports.ts";
import { createClientEngine } from "../../engine/client-engine.ts";
import type { EngineEvent } from "../../engine/types.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";
import { keyOf } from "./express/counting-engine.ts";

test.each([
  ["tables alone", true, "express"],
  ["a stream, which it may pass by", false, "express"],
])("commits as soon as there is one of %s", async (_, tablesOnly, via) => {
  const tables = [testTable("rows", { partitionKey: "id" })];
  const cloud = await createTestCloud({ tables, tablesOnly });
  const ports = cloud.deployment.clientPortsOf(cloud.world.startProcess("early", { exact: true }));
  const { control } = ports;
  let provisioned = false;
  const registry: ControlStore["registry"] = async (options) => {
    const found = await control.registry(options);
    return provisioned ? found : { ...found, tables: [], streamless: false };
  };
  const shardMap: ControlStore["shardMap"] = async (options) =>
    provisioned ? control.shardMap(options) : undefined;
  const ways: unknown[] = [];
  const onEvent = (event: EngineEvent): void => {
    if (event.kind === "certified") ways.push(event.via);
  };
  // Its other functions come by the prototype.
  const early = Object.assign(Object.create(control) as typeof control, { registry, shardMap });
  const engine = createClientEngine({ ...ports, control: early }, { onEvent });
  const put = (): Promise<unknown> =>
    engine.transact({}, (tx) => {
      tx.put("rows", { ...keyOf("a"), n: { N: "1" } });
      return Promise.resolve();
    });
  await cloud.run(async () => {
    await expect(put()).rejects.toThrow(/lists no shard/u);
    provisioned = true;
    await put();
  });
  expect(ways).toEqual([via]);
});
