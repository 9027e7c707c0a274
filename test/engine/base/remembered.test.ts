/**
 * Who meets no BASE transaction is not told so by the store each time: that nobody holds an item is
 * remembered for as long as the log says nothing else.
 */
import { beforeEach, describe, expect, test } from "vitest";
import type { ClientPorts } from "../../../core/ports.ts";
import { defineBase, defineTable, type Client } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { clientWith } from "./own-ports.ts";
import { baseWays } from "./ways.ts";

const seats = defineTable<{ readonly by: string }, { place: string; number: number }, "place">(
  "seats",
  { key: ["place", "number"] },
);
const doors = defineTable<{ readonly by: string }, { id: string }>("doors", { key: "id" });
const tables = [
  testTable("seats", {
    ...{ partitionKey: "place", sortKey: { name: "number", type: "N" } },
    ...{ history: true, base: true },
  }),
  testTable("doors", { partitionKey: "id", history: true, base: true }),
];

const take = defineBase(
  "take",
  async (base, { number, forMs }: { number: number; forMs: number }) => {
    await base.step("take", (tx) => {
      tx.put(seats, { place: "hall", number, by: base.id });
      tx.put(doors, { id: "main", by: base.id });
      return Promise.resolve(null);
    });
    await cloud.clock.sleep(forMs);
    await base.step("end", () => Promise.resolve(null));
    return null;
  },
);

let cloud: TestCloud;
let reader: Client;
/** What the reader asks its stores for: records of BASE transactions, and the past of rows. */
let asked: { records: number; past: number };

function counted(ports: ClientPorts): ClientPorts {
  const { items, versions } = ports;
  const note = (table: string): void => {
    if (table.endsWith("-base")) asked.records += 1;
  };
  return {
    ...ports,
    items: {
      ...items,
      get: (table, key, call) => {
        note(table.name);
        return items.get(table, key, call);
      },
      batchGet: (keys, call) => {
        for (const { table } of keys) note(table.name);
        return items.batchGet(keys, call);
      },
      query: (request, call) => {
        note(request.table.name);
        return items.query(request, call);
      },
      scan: (request, call) => items.scan(request, call),
    },
    versions: {
      ...versions,
      find: (...args) => {
        asked.past += 1;
        return versions.find(...args);
      },
    },
  };
}

async function seen(work: () => Promise<unknown>): Promise<typeof asked> {
  asked = { records: 0, past: 0 };
  await work();
  return asked;
}

const row = () => reader.snapshot((snapshot) => snapshot.get(doors, "main"));
const rows = () =>
  reader.snapshot((snapshot) => snapshot.query(seats, { where: { place: "hall" } }).all());
const some = () =>
  reader.snapshot((snapshot) =>
    snapshot.query(seats, { where: { place: "hall", number: { gte: 5 } } }).all(),
  );

describe.each(baseWays)("what is known of locks, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({ ...way, tables });
    reader = clientWith(cloud, counted).client;
    asked = { records: 0, past: 0 };
  });

  async function fill(): Promise<void> {
    await cloud.createClient("set-up").transact((tx) => {
      for (const number of [1, 2, 7]) tx.put(seats, { place: "hall", number, by: "" });
      tx.put(doors, { id: "main", by: "" });
      return Promise.resolve();
    });
    await cloud.clock.sleep(2_000);
  }

  test("that nobody holds it is asked once", async () => {
    await cloud.run(async () => {
      await fill();
      expect(await seen(row)).toEqual({ records: 1, past: 0 });
      expect(await seen(row)).toEqual({ records: 0, past: 0 });
      expect(await seen(rows)).toEqual({ records: 1, past: 0 });
      await cloud.clock.sleep(120_000);
      expect(await seen(rows)).toEqual({ records: 0, past: 0 });
      // A transaction that writes looks at who has read there as well.
      const write = () =>
        reader.transact(async (tx) => {
          await tx.get(doors, "main");
          tx.put(doors, { id: "main", by: "somebody" });
        });
      expect(await seen(write)).toMatchObject({ records: 1 });
      expect(await seen(write)).toMatchObject({ records: 0 });
    });
  });

  // Installed: the tail does not know of the step's commit any more.
  test.each([0, 120_000])("a step that takes it is noticed after %i ms", async (afterMs) => {
    await cloud.run(async () => {
      await fill();
      await row();
      await rows();
      const client = cloud.createClient("client");
      const { accepted } = await client.base(
        take,
        { number: 1, forMs: afterMs + 5_000 },
        { id: "b" },
      );
      await cloud.clock.sleep(afterMs);
      // It is read as it was before; what is known of its lock is not asked for twice.
      const held = await seen(async () => {
        expect(await row()).toMatchObject({ by: "" });
        expect((await rows()).map(({ by }) => by)).toEqual(["", "", ""]);
      });
      expect(held.records).toBeGreaterThan(0);
      await cloud.clock.sleep(2_000);
      await rows();
      expect(await seen(rows)).toMatchObject({ records: 0, past: 1 });
      // Nothing that is held could be among them.
      expect(await seen(some)).toMatchObject({ records: 0, past: 0 });
      await accepted.result();
      await cloud.clock.sleep(afterMs);
      expect(await row()).toMatchObject({ by: "b" });
      expect((await rows()).map(({ by }) => by)).toEqual(["b", "", ""]);
    });
  });
});
