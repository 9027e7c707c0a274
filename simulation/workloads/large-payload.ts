/**
 * Groups of rows that are always rewritten as a whole: small ones, hundreds of keys at once, items
 * near DynamoDB's limit, and transactions too large for a stream record, whose payload goes to the
 * log table first. Every reader sees each group in one generation, and every row with the content
 * of that generation.
 */
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { numbered, pickHot, upTo } from "./key-spaces.ts";
import {
  WorkloadFinding,
  type Snapshot,
  type Transaction,
  type WorkloadFactory,
} from "./workload.ts";

type RowKey = { readonly group: string; readonly row: number };
type Row = { readonly generation: number; readonly by: string; readonly filler: string };
const pages = defineTable<Row, RowKey, "group">("pages", { key: ["group", "row"] });

const rowsFew = 4;
const rowsMany = 100;
/** Above 512 KB in all: spilled. */
const spilledBytesOfRow = 131 * 1024;
/** Near DynamoDB's 400 KB, and above the 380 KB at which the version store cuts an item in two. */
const hugeBytes = 392 * 1024;
const largeMax = 3;

type Group = { readonly name: string; readonly rows: readonly number[] };

export const largePayload: WorkloadFactory = ({ keys, history }) => {
  const small = numbered("few", Math.max(2, Math.ceil(keys / 2))).map((name) => ({
    name,
    rows: upTo(rowsFew),
  }));
  const wide = { name: "many", rows: upTo(rowsMany + keys * 5) };
  const groups: readonly Group[] = [...small, wide];
  const sizes = new Sizes();

  return {
    tables: [
      testTable("pages", { partitionKey: "group", sortKey: { name: "row", type: "N" }, history }),
    ],
    universe: groups.flatMap(({ name, rows }) =>
      rows.map((row) => ({
        table: "pages",
        key: { group: { S: name }, row: { N: row.toString() } },
      })),
    ),
    async setUp(client) {
      await client.transact(async (tx) => {
        for (const group of groups) rewrite(tx, group, { generation: 0, by: "setup" }, () => 1);
        return Promise.resolve();
      });
    },
    async step({ client, random, isolation, unique: by }) {
      const group = random.chance(0.08) ? wide : pickHot(random, small);
      if (random.chance(0.2)) {
        await client.snapshot((snapshot) => checkedGeneration(snapshot, group));
        return;
      }
      const bytes = group === wide ? () => 10 : sizes.draw(random);
      // All rows, so that of two blind writers the last one's stand, each and every one.
      const blindly = random.chance(0.2);
      await client.transact({ isolation }, async (tx) => {
        const generation = blindly ? 0 : (await checkedGeneration(tx, group)) + 1;
        rewrite(tx, group, { generation, by }, bytes);
      });
    },
    async judge(client) {
      const complaints = await client.snapshot((snapshot) =>
        Promise.all(groups.map(async (group) => complaintOf(group, await rowsOf(snapshot, group)))),
      );
      return complaints.filter((each) => each !== undefined);
    },
  };
};

/**
 * Bytes of each row: nearly always few. A few large ones per run are enough, and cost the simulator
 * most.
 */
class Sizes {
  #large = 0;

  draw(random: SeededRandom): (row: number) => number {
    if (this.#large >= largeMax || !random.chance(0.06)) {
      const bytes = random.integer(1, 40);
      return () => bytes;
    }
    this.#large += 1;
    if (random.chance(0.5)) return (row) => (row === 0 ? hugeBytes : 10);
    const bytes = spilledBytesOfRow + random.integer(0, 5_000);
    return () => bytes;
  }
}

function rewrite(
  tx: Pick<Transaction, "put">,
  { name: group, rows }: Group,
  written: Pick<Row, "generation" | "by">,
  bytes: (row: number) => number,
): void {
  for (const row of rows) {
    const filler = fillerOf({ row, by: written.by }, bytes(row));
    tx.put(pages, { group, row, ...written, filler });
  }
}

function rowsOf(
  reader: Pick<Snapshot, "query">,
  { name }: Group,
): Promise<readonly (Row & RowKey)[]> {
  return reader.query(pages, { where: { group: name } }).all();
}

/** @throws WorkloadFinding when the group is torn. */
async function checkedGeneration(reader: Pick<Snapshot, "query">, group: Group): Promise<number> {
  const rows = await rowsOf(reader, group);
  const complaint = complaintOf(group, rows);
  if (complaint !== undefined) throw new WorkloadFinding(complaint);
  return rows[0]?.generation ?? 0;
}

function complaintOf(group: Group, rows: readonly (Row & RowKey)[]): string | undefined {
  const [first] = rows;
  if (rows.length !== group.rows.length || first === undefined) {
    return `${group.name} has ${rows.length.toString()} of ${group.rows.length.toString()} rows`;
  }
  const torn = rows.find((row) => row.by !== first.by || row.generation !== first.generation);
  if (torn !== undefined) return `${group.name} is of ${first.by} and of ${torn.by}`;
  const foreign = rows.find((row) => row.filler !== fillerOf(row, row.filler.length));
  return foreign === undefined ? undefined : `a row of ${group.name} has another's content`;
}

/** A text of so many characters that tells who wrote it, and where. */
function fillerOf({ by, row }: Pick<Row & RowKey, "by" | "row">, length: number): string {
  const name = `${by} ${row.toString()} `;
  return name.repeat(Math.ceil(length / name.length)).slice(0, length);
}
