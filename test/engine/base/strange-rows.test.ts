/** Items of the records table that nothing of Tidemark has written, and stores that refuse one. */
import { PutItemCommand, type AttributeValue } from "@aws-sdk/client-dynamodb";
import { beforeEach, describe, expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import { openKey } from "../../../engine/base/open-list.ts";
import { CorruptDataError, defineBase, type BaseTrouble } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { clientWith, refusedCall } from "./own-ports.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
}, 30_000);

const caughtUp = { takeOverMs: 100, pollMs: 50, until: "caught-up" } as const;
const put = defineBase("put", async (base, id: string) => {
  await base.step("put", async (tx) => tx.put(accounts, { id, amount: 1 }));
  return id;
});

function plant(pk: string, sk: string, item: Record<string, AttributeValue>): Promise<unknown> {
  const Item = { pk: { S: pk }, sk: { S: sk }, ...item };
  return cloud.dynamodb.send(new PutItemCommand({ TableName: "tidemark-test-base", Item }));
}

const entry = { name: { S: "put" }, version: { N: "1" } };
const head: Record<string, AttributeValue> = {
  ...{ ...entry, input: { M: {} }, steps: { N: "1" }, phase: { S: "running" } },
  ...{ startedMs: { N: "1" }, lastMs: { N: "1" }, failures: { N: "0" } },
  dependsOn: { L: [] },
};

async function plantHead(item: Record<string, AttributeValue>): Promise<void> {
  await plant("open#0", "put/odd", entry);
  await plant("base#put/odd", "-", item);
}

describe("a strange item keeps a runner from none of the others:", () => {
  test.each([
    ["in the list", () => plant("open#0", "put/odd", { version: { N: "1" } })],
    [
      "in the list, without a proper version",
      () => plant("open#0", "put/odd", { ...entry, _v: { S: "x" } }),
    ],
    [
      "as a head without a proper version",
      async () => {
        await plant("open#0", "put/odd", entry);
        await plant("base#put/odd", "-", { ...entry, _v: { N: "-1" } });
      },
    ],
    ["released, without a moment", () => plant("open#0", "put/odd", { releasedMs: { S: "x" } })],
    [
      "as a head",
      async () => {
        await plant("open#0", "put/odd", entry);
        await plant("base#put/odd", "-", { name: { S: "put" } });
      },
    ],
    ["in a phase of a later release", () => plantHead({ ...head, phase: { S: "paused" } })],
    ["begun when no clock can say", () => plantHead({ ...head, startedMs: { N: "1E+125" } })],
    [
      "last heard of in the year 10000",
      () => plantHead({ ...head, lastMs: { N: "253402300800000" } }),
    ],
    ["with less than no steps", () => plantHead({ ...head, steps: { N: "-1" } })],
    ["with half a failure", () => plantHead({ ...head, failures: { N: "0.5" } })],
    [
      "asked for at no moment",
      () => plant("open#0", "put/odd", { ...entry, requestedMs: { N: "-1" } }),
    ],
    [
      "as a state",
      async () => {
        await plantHead({ ...head, phase: { S: "ended" } });
        await plant("state#put/odd", "-", { phase: { N: "1" } });
      },
    ],
  ])("%s", async (_, strange) => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      await strange();
      for (const id of ["a", "b"]) await client.requestBase(put, id, { id });
      const listed = await client.openBases();
      expect(listed.map(({ name, id, phase }) => [name, id, phase])).toEqual([
        ["put", "odd", "damaged"],
        ["put", "a", "requested"],
        ["put", "b", "requested"],
      ]);
      expect(listed[0]?.failure).toContain("put/odd");
      const told: BaseTrouble[] = [];
      const onTrouble = (trouble: BaseTrouble): number => told.push(trouble);
      await client.baseRunner({ handlers: [put], ...caughtUp, onTrouble });
      for (const id of ["a", "b"]) expect(await client.baseOf(put, id).result()).toBe(id);
      expect(told).toMatchObject([{ kind: "handler-failed", name: "put", id: "odd" }]);
      const [{ cause } = { cause: undefined }] = told;
      expect(cause).toBeInstanceOf(CorruptDataError);
      expect((cause as Error).message).toContain("put/odd");
    });
  });
});

/** Where the list has what was asked for under these ids. */
function partitionOf(id: string): string {
  return JSON.stringify(openKey(`put/${id}`)["pk"]);
}

const ids = Array.from({ length: 40 }, (_, n) => n.toString());
const first = JSON.stringify({ S: "open#0" });

test("items without a proper version hide nothing of what stands around them", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    for (const id of ids) await client.requestBase(put, id, { id });
    const beside = ids.filter((id) => partitionOf(id) === first);
    expect(beside.length).toBeGreaterThan(1);
    const odd = ["put/", ...beside.map((id) => `put/${id} odd`), "put/~"];
    for (const base of odd) await plant("open#0", base, { ...entry, _v: { S: "x" } });
    const listed = await client.openBases();
    const damaged = listed.filter(({ phase }) => phase === "damaged");
    expect(damaged.map(({ id }) => `put/${id}`).sort()).toEqual(odd.sort());
    expect(listed).toHaveLength(ids.length + odd.length);
    const told: BaseTrouble[] = [];
    const onTrouble = (trouble: BaseTrouble): number => told.push(trouble);
    await client.baseRunner({ handlers: [put], ...caughtUp, onTrouble });
    expect(told).toHaveLength(odd.length);
    for (const id of ids) expect(await client.baseOf(put, id).result()).toBe(id);
  });
});

test("too many of them hide their partition, and no other one", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    for (const id of ids) await client.requestBase(put, id, { id });
    for (let n = 0; n <= limits.baseUnreadableMax; n += 1) {
      await plant("open#0", `odd/${n.toString()}`, { ...entry, _v: { N: "0.5" } });
    }
    const others = ids.filter((id) => partitionOf(id) !== first);
    const listed = await client.openBases();
    expect(listed[0]).toMatchObject({ id: "open#0", phase: "damaged" });
    expect(
      listed
        .slice(1)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(others.sort());
  });
});

test("a key without a slash is told of as it is", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    await plant("open#0", "odd", {});
    expect(await client.openBases()).toMatchObject([{ name: "", id: "odd", phase: "damaged" }]);
    expect(await client.openBases()).toHaveLength(1);
  });
});

test("what a store refuses of one is told once the others had their turn", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    await client.requestBase(put, "a", { id: "refused" });
    await cloud.clock.sleep(60_000);
    await client.requestBase(put, "b", { id: "next" });
    const { client: runner } = clientWith(cloud, ({ items, ...ports }) => ({
      ...ports,
      items: {
        ...items,
        query: (request, ...rest) => {
          const { S: partition = "" } = request.partitionKey as { readonly S?: string };
          if (partition === "base#put/refused") return refusedCall();
          return items.query(request, ...rest);
        },
      },
    }));
    const run = runner.baseRunner({ handlers: [put], ...caughtUp });
    await expect(run).rejects.toThrow("AccessDeniedException");
    expect(await client.baseOf(put, "next").result()).toBe("b");
  });
});
