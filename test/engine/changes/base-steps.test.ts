/** What BASE transactions do comes in the feed as one, when they are released. */
import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import {
  ChangesExpiredError,
  defineBase,
  defineTable,
  type ChangedRows,
  type Client,
} from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables, transferOf } from "../base/transfers.ts";
import { baseWays } from "../base/ways.ts";
import { expectInOrder, take } from "./feed.ts";

const notes = defineTable<{ readonly text: string }, { readonly id: string }>("notes", {
  key: "id",
});
const withNotes = [...tables, testTable("notes", { partitionKey: "id" })];

/** What has become of the accounts, each as `id` and amount before and after. */
function moved(change: ChangedRows | undefined): readonly string[] {
  const rows = change?.of(accounts) ?? [];
  return rows.map(({ key, before, after }) => {
    const [from, to] = [before, after].map((row) => row?.amount ?? "none");
    return `${key.id} ${from} ${to}`;
  });
}

/** Gives each step its turn. */
function steppedTransfers(cloud: TestCloud) {
  const turns = new Map<string, () => void>();
  const definition = defineBase("stepped", async (base, { at }: { at: readonly string[] }) => {
    for (const [step, id] of at.entries()) {
      await base.step(`step ${step}`, async (tx) => {
        const row = await tx.get(accounts, id);
        tx.put(accounts, { id, amount: (row?.amount ?? 0) + 1 });
      });
      if (step === at.length - 1) break;
      await new Promise<void>((resolve) => turns.set(base.id, resolve));
    }
    return {};
  });
  const goOn = async (id: string): Promise<void> => {
    while (!turns.has(id)) await cloud.clock.sleep(5);
    turns.get(id)?.();
    turns.delete(id);
  };
  return { definition, goOn };
}

async function note(client: Client, id: string): Promise<void> {
  await client.transact((tx) => {
    tx.put(notes, { id, text: "t" });
    return Promise.resolve();
  });
}

describe.each(baseWays)("the change feed beside BASE transactions, by %s", (_, way) => {
  test("gives what one has done once, whole, as of its release; others meanwhile", async () => {
    const cloud = await createTestCloud({ ...way, tables: withNotes });
    await cloud.run(async () => {
      const [client, reader] = [cloud.createClient(), cloud.createClient("reader")];
      await openAccounts(client);
      const { definition, goOn } = steppedTransfers(cloud);
      const taking = take(reader, 3, { from: "oldest", before: true });
      const { accepted } = await client.base(definition, { at: ["a", "b", "a"] }, { id: "1" });
      await note(client, "meanwhile");
      await goOn("1");
      await goOn("1");
      await accepted.result();
      const [, second, third] = await taking;
      expect(second?.rows.map(({ table }) => table)).toEqual(["notes"]);
      expect(second?.bases).toEqual([]);
      expect(moved(third).toSorted()).toEqual(["a 100 102", "b 100 101"]);
      expect(third?.bases).toEqual(["stepped/1"]);
    });
  });

  test("looks up steps that were made before it began", async () => {
    const cloud = await createTestCloud({ ...way, tables: withNotes });
    await cloud.run(async () => {
      const [client, reader] = [cloud.createClient(), cloud.createClient("reader")];
      await openAccounts(client);
      const { definition, goOn } = steppedTransfers(cloud);
      const { accepted } = await client.base(definition, { at: ["a", "b", "c"] }, { id: "1" });
      await note(client, "first");
      await goOn("1");
      await note(client, "second");
      // Behind two steps and behind all three.
      const iterator = reader.changes({ from: "now", tables: [accounts, notes] });
      const early = iterator[Symbol.asyncIterator]();
      const next = early.next();
      await cloud.clock.sleep(2_000);
      await goOn("1");
      await accepted.result();
      const found = await next;
      expect(moved(found.done === true ? undefined : found.value).toSorted()).toEqual([
        ...["a none 101", "b none 101", "c none 101"],
      ]);
      const all = await take(reader, 4, { from: "oldest", tables: [accounts, notes] });
      const positions = all.slice(0, 3).map(({ position }) => position);
      for (const from of positions) {
        const rest = await take(cloud.createClient(`from ${from}`), 1, {
          ...{ from, tables: [accounts] },
        });
        expect(rest[0]?.bases).toEqual(["stepped/1"]);
        expect(moved(rest[0]).toSorted()).toEqual(moved(all[3]).toSorted());
      }
      expect(moved(all[3])).toHaveLength(3);
    });
  });

  test("gives those that have seen each other's steps as one, the last writer's rows", async () => {
    const cloud = await createTestCloud({ ...way, tables: withNotes });
    await cloud.run(async () => {
      const client = cloud.createClient();
      await openAccounts(client);
      const { definition, goOn } = steppedTransfers(cloud);
      const one = await client.base(definition, { at: ["a", "b"] }, { id: "1" });
      const other = await client.base(definition, { at: ["b", "a"] }, { id: "2" });
      await goOn("1");
      await goOn("2");
      await Promise.all([one.accepted.result(), other.accepted.result()]);
      const given = await take(client, 2, { from: "oldest", tables: [accounts] });
      expect(moved(given[1]).toSorted()).toEqual(["a none 102", "b none 102"]);
      expect(given[1]?.bases.toSorted()).toEqual(["stepped/1", "stepped/2"]);
    });
  });

  test("whoever applies what it gives never has half of a transfer", async () => {
    const cloud = await createTestCloud({ ...way, tables });
    const given = await cloud.run(async () => {
      const client = cloud.createClient();
      await openAccounts(client);
      const transfer = transferOf(cloud, () => 40);
      const pairs = ["ab", "bc", "ca", "de", "ea", "ad"];
      const reading = take(cloud.createClient("reader"), 1, { from: "oldest" });
      const begun = pairs.map(async ([from = "", to = ""], at) => {
        await cloud.clock.sleep(at * 25);
        const mover = cloud.createClient(`mover ${at}`);
        const { accepted } = await mover.base(transfer, { from, to }, { id: at.toString() });
        await accepted.result();
      });
      await Promise.all(begun);
      await reading;
      const all: ChangedRows[] = [];
      for await (const change of client.changes({ from: "oldest" })) {
        all.push(change);
        if (new Set(all.flatMap(({ bases }) => bases)).size === pairs.length) break;
      }
      return all;
    });
    expectInOrder(given);
    const amounts = new Map<unknown, number>();
    for (const change of given) {
      for (const { key, after } of change.of(accounts)) amounts.set(key["id"], after?.amount ?? 0);
      expect([...amounts.values()].reduce((sum, each) => sum + each, 0)).toBe(500);
    }
  });
});

test.each(["step#000001", "-"])("gives no part of one whose record has lost %s", async (lost) => {
  const cloud = await createTestCloud({ commit: "express", tables: withNotes });
  await cloud.run(async () => {
    const client = cloud.createClient();
    await openAccounts(client);
    const { definition, goOn } = steppedTransfers(cloud);
    const { accepted } = await client.base(definition, { at: ["a", "b", "c"] }, { id: "1" });
    await note(client, "first");
    await goOn("1");
    await goOn("1");
    await accepted.result();
    await cloud.clock.sleep(600_000);
    const [, noted] = await take(client, 2, { from: "oldest" });
    // The store drops what has expired one by one, in any order.
    await cloud.dynamodb.send(
      new DeleteItemCommand({
        TableName: "tidemark-test-base",
        Key: { pk: { S: "base#stepped/1" }, sk: { S: lost } },
      }),
    );
    const late = take(cloud.createClient("late"), 1, { from: noted?.position ?? "oldest" });
    await expect(late).rejects.toBeInstanceOf(ChangesExpiredError);
  });
});
