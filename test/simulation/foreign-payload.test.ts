/**
 * Payloads in blocks that no client of ours has made: whoever reads the rows that they claim to
 * write installs nothing that replay would not, sees nothing that no table takes, and the shard
 * goes on.
 */
import { isDeepStrictEqual } from "node:util";
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import type { AttributeValue, Item, PayloadTable } from "../../core/types.ts";
import { encodePayload } from "../../schemas/payload.ts";
import * as tags from "../../schemas/value-tags.ts";
import { defineTable, UnavailableError } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";
import {
  append,
  createAudit,
  forbidden,
  itemsTable,
  number,
  putOf,
  text,
} from "./foreign-blocks.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });
const victim: readonly [PayloadTable, Item] = [itemsTable, { id: text("victim"), n: number(666) }];
const sweptMs = 90_000;

/** A put of the victim with another attribute, and then some of its bytes are exchanged. */
function damaged(
  attributes: Readonly<Record<string, AttributeValue>>,
  from: readonly number[] | string,
  to: readonly number[] | string,
): Uint8Array {
  const bytes = Buffer.from(putOf([itemsTable, { ...victim[1], ...attributes }]));
  const wanted = Buffer.from(from as string);
  const at = bytes.indexOf(wanted);
  if (at < 0) throw new Error("the scene: bytes to exchange");
  const rest = bytes.subarray(at + wanted.length);
  return new Uint8Array(Buffer.concat([bytes.subarray(0, at), Buffer.from(to as string), rest]));
}

const x = 0x78;
const y = 0x79;
const id = [tags.shortText + "victim".length, ...Buffer.from("victim")];
const damages: Readonly<Record<string, () => Uint8Array>> = {
  "an empty set": () => damaged({ q: { SS: ["x"] } }, [1, 1, x], [0]),
  "a set with a member twice": () => damaged({ q: { SS: ["x", "y"] } }, [1, x, 1, y], [1, x, 1, x]),
  "a number that is none": () => damaged({ q: { N: "1.5" } }, "1.5", "abc"),
  "a number that no table takes": () =>
    damaged({ q: { N: "123456.25" } }, "123456.25", "00001e200"),
  "a reserved attribute": () => damaged({ "!x": { BOOL: true } }, "!x", "_x"),
  "a key that is a map": () => damaged({}, id, [tags.map, 0]),
  "a key that is null": () => damaged({}, id, [tags.none]),
  "more writes than its verdict": () =>
    encodePayload({
      tables: [itemsTable],
      writes: ["victim", "other"].map((name) => {
        const key = { id: text(name) };
        return { table: 0, key, item: { ...key, n: number(666) } };
      }),
    }),
  "no payload at all": () => Uint8Array.of(7, 7, 7),
};

/** The victim's number as a client of its own sees it; undefined while replay has to come first. */
async function seen(cloud: TestCloud, commit: "auto" | "stream"): Promise<number | undefined> {
  const client = cloud.createClient(`reader by ${commit}`, { commit });
  try {
    const { result } = await client.transact((tx) => tx.get(items, { id: "victim" }));
    return result?.n;
  } catch (error) {
    expect(error).toBeInstanceOf(UnavailableError);
    return undefined;
  }
}

type Foreign = Parameters<typeof append>[1];

async function put(cloud: TestCloud, n: number): Promise<void> {
  await cloud.createClient("app").transact((tx) => {
    tx.put(items, { id: "victim", n });
    return Promise.resolve();
  });
}

/** The row stands at 1, and then the log has a block that says it writes that row. */
async function beside(
  cloud: TestCloud,
  payload: Uint8Array,
  { writes = 1, stored }: { readonly writes?: number } & Pick<Foreign, "stored"> = {},
): Promise<void> {
  const { metrics } = cloud.deployment;
  await append(cloud, { payload, as: Array.from({ length: writes }, () => victim), stored });
  // The schedule's sweep has not come yet: readers are on their own.
  const early = await Promise.all([seen(cloud, "auto"), seen(cloud, "stream")]);
  for (const n of early) expect([undefined, 1]).toContain(n);
  await cloud.world.time.sleep(sweptMs);
  expect(await seen(cloud, "auto")).toBe(1);
  expect(await seen(cloud, "stream")).toBe(1);
  expect(metrics.get("DeadLetters")).toBeGreaterThan(0);
  await put(cloud, 2);
  await cloud.settled();
  expect(cloud.rows(items)).toEqual([{ id: "victim", n: 2 }]);
}

async function cloudWithVictim(): Promise<TestCloud> {
  const cloud = await createTestCloud({ tables: [testTable("items", { partitionKey: "id" })] });
  await cloud.run(async () => {
    await createAudit(cloud);
    await put(cloud, 1);
    await cloud.settled();
  });
  return cloud;
}

/** Whether an item stands there that has all that the liar has put. */
async function isPut(cloud: TestCloud, [{ name }, item]: typeof victim): Promise<boolean> {
  const { Items = [] } = await cloud.dynamodb.send(new ScanCommand({ TableName: name }));
  return Items.some((stored) =>
    Object.entries(item).every(([attribute, value]) => isDeepStrictEqual(stored[attribute], value)),
  );
}

test.each(Object.keys(forbidden))("no reader writes for a liar: %s", async (what) => {
  const cloud = await cloudWithVictim();
  await cloud.run(async () => {
    const made = forbidden[what]?.(cloud.deployment.shard);
    if (made === undefined) throw new Error("nothing to write");
    await beside(cloud, putOf(made));
    expect(await isPut(cloud, made)).toBe(false);
  });
});

test.each(Object.keys(damages))("a payload with %s is nobody's to read", async (what) => {
  const cloud = await cloudWithVictim();
  await cloud.run(async () => {
    await beside(cloud, damages[what]?.() ?? new Uint8Array());
  });
});

test("a payload with fewer writes than its verdict is nobody's to read", async () => {
  const cloud = await cloudWithVictim();
  await cloud.run(async () => {
    await beside(cloud, putOf(victim), { writes: 2 });
  });
});

const spills: Readonly<Record<string, Required<Pick<Foreign, "stored">> & { writes?: number }>> = {
  "has fewer writes than its verdict": { stored: (chunks) => chunks, writes: 2 },
  "was overwritten": { stored: (chunks) => chunks.map((chunk) => chunk.map((byte) => byte ^ 1)) },
  "is of another length": { stored: (chunks) => chunks.map((chunk) => chunk.subarray(1)) },
  "is not there": { stored: () => [] },
};

test.each(Object.keys(spills))("a spilled payload that %s is nobody's to read", async (what) => {
  const cloud = await cloudWithVictim();
  await cloud.run(async () => {
    await beside(cloud, putOf(victim), spills[what]);
  });
});
