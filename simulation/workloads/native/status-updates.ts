/**
 * Users who post their status by plain writes, as the paper has them (Mediator §1), while
 * transactions compile the pages of circles of friends, and mark whole circles at once. Each post
 * counts one up: none is lost or made twice, a page shows no post that is older than one that was
 * acknowledged before it was begun, and no two pages of a circle cross.
 */
import { defineTable } from "../../../sdk/index.ts";
import { testTable } from "../../../testing/test-tables.ts";
import { mixedTable } from "../../mixed-tables.ts";
import { numberIn } from "../../native/native-write.ts";
import { numbered, pickHot } from "../key-spaces.ts";
import {
  WorkloadFinding,
  type Client,
  type NativeContext,
  type NativePart,
  type StepContext,
  type Transaction,
  type Workload,
  type WorkloadFactory,
  type WorkloadSettings,
} from "../workload.ts";
import { Ledger } from "./ledger.ts";

type User = {
  readonly posts: number;
  readonly text: string;
  readonly seenBy: string;
};
type Page = {
  readonly posts: readonly number[];
  readonly compiled: number;
};

const users = defineTable<User, { readonly id: string }>("users", { key: "id" });
const pages = defineTable<Page, { readonly circle: string }>("pages", { key: "circle" });
const usersTable = mixedTable(testTable("users", { partitionKey: "id" }));
const circleCount = 3;

export const statusUpdates: WorkloadFactory = (settings) => new StatusUpdates(settings);

class StatusUpdates implements Workload {
  readonly tables: Workload["tables"];
  readonly native: NativePart = { kinds: ["aware"], step: (context) => this.#post(context) };
  readonly #ids: readonly string[];
  readonly #circles = numbered("circle", circleCount);
  readonly #posts: ReadonlyMap<string, Ledger>;

  constructor({ keys, history }: WorkloadSettings) {
    this.#ids = numbered("user", keys);
    this.#posts = new Map(this.#ids.map((id) => [id, new Ledger()]));
    this.tables = [usersTable, testTable("pages", { partitionKey: "circle", history })];
  }

  async setUp(client: Client): Promise<void> {
    await client.transact(async (tx) => {
      for (const id of this.#ids) tx.put(users, { id, posts: 0, text: "", seenBy: "" });
      for (const circle of this.#circles) {
        tx.put(pages, { circle, posts: this.#friendsOf(circle).map(() => 0), compiled: 0 });
      }
      return Promise.resolve();
    });
  }

  async step({ client, random, isolation, unique, pause }: StepContext): Promise<void> {
    const floors = new Map(this.#ids.map((id) => [id, this.#ledgerOf(id).acknowledged]));
    const circle = random.pick(this.#circles);
    const friends = this.#friendsOf(circle);
    if (random.chance(0.2)) {
      await client.transact({ isolation }, (tx) => look(tx, friends, floors));
      return;
    }
    const lingersMs = random.chance(0.3) ? random.between(1, 200) : 0;
    const marks = random.chance(0.5);
    await client.transact({ isolation: "serializable" }, async (tx) => {
      const page = await tx.get(pages, circle);
      const rows = await look(tx, friends, floors);
      if (lingersMs > 0) await pause(lingersMs);
      const crossed = rows.some(({ posts: count }, i) => count < (page?.posts[i] ?? 0));
      if (crossed) throw new WorkloadFinding(`an older page of ${circle} shows a newer post`);
      const compiled = (page?.compiled ?? 0) + 1;
      tx.put(pages, { circle, posts: rows.map((row) => row.posts), compiled });
      if (!marks) return;
      for (const row of rows.slice(0, 2)) tx.put(users, { ...row, seenBy: unique });
    });
  }

  async judge(client: Client): Promise<readonly string[]> {
    const rows = await client.snapshot((snapshot) => snapshot.batchGet(users, this.#ids));
    return this.#ids
      .map((id, i) => this.#ledgerOf(id).complaint(id, rows[i]?.posts ?? 0))
      .filter((complaint) => complaint !== undefined);
  }

  async #post({ items, random, unique }: NativeContext): Promise<void> {
    const id = pickHot(random, this.#ids);
    const key = { id: { S: id } };
    const ledger = this.#ledgerOf(id);
    if (random.chance(0.3)) {
      const floor = ledger.acknowledged;
      const read = await items.get(usersTable, key);
      if (read === undefined || numberIn(read.item, "posts") >= floor) return;
      throw new WorkloadFinding(`a post of ${id} is gone: there were ${floor.toString()}`);
    }
    await ledger.native(1, () =>
      items.write(usersTable, {
        ...{ kind: "update", key, add: { posts: 1 }, set: { text: { S: unique } } },
        ...(random.chance(0.5) ? { returnsOld: true } : {}),
      }),
    );
  }

  #friendsOf(circle: string): readonly string[] {
    return this.#ids.filter((_id, i) => i % circleCount !== this.#circles.indexOf(circle));
  }

  #ledgerOf(id: string): Ledger {
    return this.#posts.get(id) ?? new Ledger();
  }
}

/** @returns what the circle's friends have posted: no fewer than `floors` say. */
async function look(
  tx: Pick<Transaction, "batchGet">,
  friends: readonly string[],
  floors: ReadonlyMap<string, number>,
): Promise<readonly (User & { readonly id: string })[]> {
  const rows = await tx.batchGet(users, friends);
  return rows.map((row, i) => {
    const id = friends[i] ?? "";
    const floor = floors.get(id) ?? 0;
    if (row !== undefined && row.posts >= floor) return row;
    const found = row?.posts.toString() ?? "none";
    throw new WorkloadFinding(`${found} posts of ${id} were seen, of ${floor.toString()}`);
  });
}
