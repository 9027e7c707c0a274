/**
 * Names that may be given once: a program inserts them by a plain put on condition that they are
 * not there, and transactions insert them with an account beside each. Whoever was told that a name
 * is theirs has it in the end, alone; and nobody is refused a name that nobody has.
 */
import { defineTable } from "../../../sdk/index.ts";
import type { SeededRandom } from "../../../testing/kernel/seeded-random.ts";
import { testTable } from "../../../testing/test-tables.ts";
import { mixedTable } from "../../mixed-tables.ts";
import { textIn } from "../../native/native-write.ts";
import {
  WorkloadFinding,
  type Client,
  type NativeContext,
  type NativePart,
  type StepContext,
  type Workload,
  type WorkloadFactory,
  type WorkloadSettings,
} from "../workload.ts";

const names = defineTable<{ readonly owner: string }, { readonly name: string }>("names", {
  key: "name",
});
const accounts = defineTable<{ readonly name: string }, { readonly owner: string }>(
  "accounts-by-owner",
  {
    key: "owner",
  },
);
const namesTable = mixedTable(testTable("names", { partitionKey: "name" }));
/** How many names everybody is after at one time. */
const wantedMax = 3;

export const uniqueNames: WorkloadFactory = (settings) => new UniqueNames(settings);

class UniqueNames implements Workload {
  readonly tables: Workload["tables"];
  readonly native: NativePart = { kinds: ["aware"], step: (context) => this.#insert(context) };
  /** By name, who was told to have it. */
  readonly #owners = new Map<string, string>();

  constructor({ history }: WorkloadSettings) {
    const accountsTable = testTable("accounts-by-owner", { partitionKey: "owner", history });
    this.tables = [namesTable, accountsTable];
  }

  async setUp(client: Client): Promise<void> {
    await client.transact(async (tx) => {
      tx.put(names, { name: "name-0", owner: "first" });
      tx.put(accounts, { name: "name-0", owner: "first" });
      return Promise.resolve();
    });
    this.#given("name-0", "first");
  }

  async step({ client, random, isolation, unique, pause }: StepContext): Promise<void> {
    const name = this.#wanted(random);
    const wasGiven = this.#owners.has(name);
    const lingersMs = random.chance(0.3) ? random.between(1, 100) : 0;
    const hasAlias = random.chance(0.3);
    const { result } = await client.transact({ isolation }, async (tx) => {
      const row = await tx.get(names, name);
      if (wasGiven) this.#check(name, row?.owner);
      if (row !== undefined) return false;
      if (lingersMs > 0) await pause(lingersMs);
      tx.put(names, { name, owner: unique });
      if (hasAlias) tx.put(names, { name: `${name}-alias`, owner: unique });
      tx.put(accounts, { name, owner: unique });
      return true;
    });
    if (result) this.#given(name, unique);
  }

  async judge(client: Client): Promise<readonly string[]> {
    const rows = await client.snapshot((snapshot) => snapshot.scan(names).all());
    const byName = new Map(rows.map((row) => [row.name, row.owner]));
    const lost = [...this.#owners].flatMap(([name, owner]) => {
      const found = byName.get(name) ?? "nobody";
      return found === owner ? [] : [`${name} is ${owner}'s, and ended as ${found}'s`];
    });
    const accountRows = await client.snapshot((snapshot) => snapshot.scan(accounts).all());
    const torn = accountRows.flatMap(({ name, owner }) =>
      byName.get(name) === owner ? [] : [`the account of ${owner} is without ${name}`],
    );
    return [...lost, ...torn];
  }

  async #insert({ items, random, unique }: NativeContext): Promise<void> {
    const name = this.#wanted(random);
    const key = { name: { S: name } };
    const wasGiven = this.#owners.has(name);
    if (random.chance(0.2)) {
      const read = await items.get(namesTable, key);
      if (read !== undefined && wasGiven) this.#check(name, textIn(read.item, "owner"));
      return;
    }
    const result = await items.write(namesTable, {
      ...{ kind: "put", item: { ...key, owner: { S: unique } } },
      condition: { kind: "absent" },
    });
    if (result.kind === "done") this.#given(name, unique);
    if (result.kind === "refused" && wasGiven) this.#check(name, textIn(result.shown, "owner"));
  }

  /** Everybody is after the next few that nobody was given. */
  #wanted(random: SeededRandom): string {
    return `name-${(this.#owners.size + random.integer(-1, wantedMax - 1)).toString()}`;
  }

  #given(name: string, owner: string): void {
    const other = this.#owners.get(name);
    this.#owners.set(name, owner);
    if (other !== undefined) throw new WorkloadFinding(`${name} is ${other}'s and ${owner}'s`);
  }

  #check(name: string, found: string | undefined): void {
    const owner = this.#owners.get(name);
    if (owner === undefined || found === owner) return;
    throw new WorkloadFinding(`${name} is ${owner}'s, and was found as ${found ?? "nobody"}'s`);
  }
}
