/** Items of mixed tables on the stand-in for DynamoDB that simulations run on. */
import { expect, test } from "vitest";
import { createAwsClientPorts } from "../../aws/client-ports.ts";
import { fenceBytesOf } from "../../core/item-identity.ts";
import type { TransactionId, Version } from "../../core/types.ts";
import { MixedItems } from "../../engine/mixed/mixed-items.ts";
import { createTestCloud } from "../../testing/index.ts";

test("a blind fence on any identity is one call, and no read; lists are compared", async () => {
  const cloud = await createTestCloud({
    tables: [{ name: "mixed", partitionKey: { name: "pk", type: "S" } }],
  });
  const { world } = cloud;
  await cloud.run(async () => {
    const process = world.startProcess("other", { exact: true });
    const { clock, random } = process;
    const handles = world.handles(process, { calm: true });
    const { mixed } = createAwsClientPorts({ handles, clock, random, deployment: "t" });
    const over = {
      fateOf: () => Promise.resolve({ kind: "over" as const }),
      settle: () => Promise.reject(new Error("nothing is settled")),
    };
    const items = new MixedItems({ mixed, clock, random }, over);
    const key = { pk: { S: "x" } };
    const at = { table: { name: "mixed", partitionKey: "pk" }, key };
    const id = "1".repeat(32) as TransactionId;
    const list = { L: [{ M: { a: { N: "1" } } }] };

    const consumption = { readUnits: 0, writeUnits: 0, calls: 0 };
    const blind = await items.commitLocally({ at, read: undefined, item: { ...key, list } });
    expect(blind).toEqual({ kind: "committed" });
    const fenced = await items.fence({ id, at, read: undefined }, { consumption });
    expect(fenced).toMatchObject({ kind: "fenced" });
    expect(consumption).toEqual({ readUnits: 0, writeUnits: 1, calls: 1 });
    if (fenced.kind !== "fenced") return;
    expect(await mixed.read(at)).toMatchObject({ list, _f: { B: fenceBytesOf(id) } });
    const item = { ...key, list: { L: [] } };
    const install = { ...at, id, item, version: 5 as Version, stamp: fenced.stamp };
    expect(await mixed.install(install)).toBe("installed");
    const read = await items.read(at);
    const next = { ...key, list, more: { S: "" } };
    expect(await items.commitLocally({ at, read, item: next })).toEqual({ kind: "committed" });
    expect((await items.read(at)).content).toEqual(next);
  });
});
