/**
 * Rows that programs put, change and delete natively, while transactions query and scan them and
 * add rows of their own up to a limit. No shelf ever has more rows than that, since programs put
 * only over what is there, and the count that a transaction leaves is that of what it saw.
 */
import { defineTable } from "../../../sdk/index.ts";
import type { TestTable } from "../../../testing/deployment-options.ts";
import { gridOf } from "../grid.ts";
import { numbered, upTo } from "../key-spaces.ts";
import { mixedTable } from "../../mixed-tables.ts";
import { testTable } from "../../../testing/test-tables.ts";
import {
  WorkloadFinding,
  type Client,
  type NativeContext,
  type NativePart,
  type Snapshot,
  type StepContext,
  type Workload,
  type WorkloadFactory,
  type WorkloadSettings,
} from "../workload.ts";

type RowKey = { readonly shelf: string; readonly place: string };

const rows = defineTable<{ readonly by: string }, RowKey, "shelf">("native-rows", {
  key: ["shelf", "place"],
});
const counts = defineTable<{ readonly count: number }, { readonly shelf: string }>("row-counts", {
  key: "shelf",
});
const shelves = numbered("shelf", 2);
const places = upTo(6).map((place) => `place-${place.toString()}`);
const rowsMax = 4;

export const nativeRows: WorkloadFactory = (settings) => new NativeRows(settings);

class NativeRows implements Workload {
  readonly tables: Workload["tables"];
  readonly universe: NonNullable<Workload["universe"]>;
  readonly native: NativePart = {
    kinds: ["aware", "blind"],
    step: (context) => this.#change(context),
  };
  readonly #table: TestTable;

  constructor({ history }: WorkloadSettings) {
    const grid = gridOf(rows, { partitions: shelves, places, history: false });
    this.#table = mixedTable(grid.table);
    this.universe = grid.universe;
    this.tables = [this.#table, testTable("row-counts", { partitionKey: "shelf", history })];
  }

  async setUp(client: Client): Promise<void> {
    await client.transact(async (tx) => {
      for (const shelf of shelves) {
        tx.put(rows, { shelf, place: places[0] ?? "", by: "first" });
        tx.put(counts, { shelf, count: 1 });
      }
      return Promise.resolve();
    });
  }

  async step({ client, random, unique, pause }: StepContext): Promise<void> {
    const shelf = random.pick(shelves);
    const way = random.pick(["query", "query", "scan"] as const);
    const lingersMs = random.chance(0.3) ? random.between(1, 100) : 0;
    if (random.chance(0.2)) {
      await client.transact((tx) => rowsOf(tx, shelf, way));
      return;
    }
    const place = random.pick(places);
    // Of snapshot isolation the limit is no promise: two may add a row each.
    await client.transact({ isolation: "serializable" }, async (tx) => {
      const found = await rowsOf(tx, shelf, way);
      if (lingersMs > 0) await pause(lingersMs);
      const isThere = found.some((row) => row.place === place);
      if (!isThere && found.length >= rowsMax) {
        tx.rollback();
        return;
      }
      tx.put(rows, { shelf, place, by: unique });
      tx.put(counts, { shelf, count: found.length + (isThere ? 0 : 1) });
    });
  }

  async judge(client: Client): Promise<readonly string[]> {
    const complaints: string[] = [];
    for (const shelf of shelves) {
      await client
        .snapshot((snapshot) => rowsOf(snapshot, shelf, "query"))
        .catch((error: unknown) => complaints.push(String(error)));
      const row = await client.snapshot((snapshot) => snapshot.get(counts, shelf));
      const count = row?.count ?? 0;
      if (count < 1 || count > rowsMax) complaints.push(`${shelf} counts ${count.toString()}`);
    }
    return complaints;
  }

  async #change({ items, random, unique }: NativeContext): Promise<void> {
    const key = { shelf: { S: random.pick(shelves) }, place: { S: random.pick(places) } };
    if (random.chance(0.2)) {
      await items.get(this.#table, key, { consistent: random.chance(0.7) });
    } else if (items.kind === "blind" || random.chance(0.3)) {
      await items.write(this.#table, { kind: "delete", key });
    } else {
      await items.write(this.#table, {
        ...{ kind: "put", item: { ...key, by: { S: unique } } },
        condition: { kind: "present" },
      });
    }
  }
}

async function rowsOf(
  reader: Pick<Snapshot, "query" | "scan">,
  shelf: string,
  way: "query" | "scan",
): Promise<readonly RowKey[]> {
  const found =
    way === "query"
      ? await reader.query(rows, { where: { shelf } }).all()
      : (await reader.scan(rows).all()).filter((row) => row.shelf === shelf);
  if (found.length <= rowsMax) return found;
  throw new WorkloadFinding(`${shelf} has ${found.length.toString()} rows`);
}
