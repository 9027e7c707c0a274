/** `tidemark start --auto-split` at work: what clients do makes shards, and loses nothing by it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { InvalidRequestError } from "../../core/errors.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { createClient, defineTable, type Client } from "../../sdk/index.ts";
import { tidemark } from "./fixtures/command-line.ts";

const counters = defineTable<{ readonly n: number }, { id: string }>("counters", { key: "id" });
const workers = 12;
const shardsMax = 3;

let stack: EmbeddedStack;
let client: Client;

beforeAll(async () => {
  stack = await startEmbeddedStack({
    sampleTables: false,
    tables: [{ name: "counters", partitionKey: { name: "id", type: "S" }, history: false }],
    autoSplit: { entriesPerSecond: 5, windowSeconds: 5, coolDownSeconds: 5, shardsMax },
  });
  client = createClient({ endpoint: stack.endpoint });
}, 60_000);

afterAll(async () => {
  await client.close();
  await stack.stop();
});

async function shardCount(): Promise<number> {
  const { out } = await tidemark(["shards", "--json", "--endpoint", stack.endpoint]);
  return (JSON.parse(out) as { readonly shards: readonly unknown[] }).shards.length;
}

test("a busy shard is split, and its parts are, up to so many; nothing is lost", async () => {
  expect(Object.keys(stack.processes)).toContain("splitter");
  expect(await shardCount()).toBe(1);
  let done = 0;
  let isOver = false;
  const working = Array.from({ length: workers }, async (_, worker) => {
    for (let turn = 0; !isOver; turn += 1) {
      const id = `counter ${(worker * 7 + turn).toString()}`.slice(0, 10);
      await client.transact({ attemptsMax: 200, deadlineMs: 60_000 }, async (tx) => {
        const row = await tx.get(counters, { id });
        tx.put(counters, { id, n: (row?.n ?? 0) + 1 });
      });
      done += 1;
    }
  });
  while ((await shardCount()) < shardsMax) await new Promise((resolve) => setTimeout(resolve, 500));
  const before = done;
  while (done < before + 50) await new Promise((resolve) => setTimeout(resolve, 20));
  isOver = true;
  await Promise.all(working);
  const rows = await client.snapshot((s) => s.scan(counters).all());
  expect(rows.reduce((sum, { n }) => sum + n, 0)).toBe(done);
  expect(await shardCount()).toBe(shardsMax);
}, 180_000);

test("a wrong setting is refused before anything starts", async () => {
  const wrong = startEmbeddedStack({ autoSplit: { shardsMax: 1 } });
  await expect(wrong).rejects.toBeInstanceOf(InvalidRequestError);
  await expect(wrong).rejects.toThrow("`shardsMax` must be a whole number from 2 to 64; got 1");
  const { code, err } = await tidemark(["start", "--auto-split", "0"]);
  expect([code, err]).toEqual([2, expect.stringMatching(/A whole number from 1 to 1000000/)]);
});
