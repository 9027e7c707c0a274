/** `tidemark shards join` on an embedded stack that is at work: three shards become one. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { createClient, defineTable, type Client } from "../../sdk/index.ts";
import { tidemark, type Ran } from "./fixtures/command-line.ts";

const accounts = defineTable<{ readonly cents: number }, { id: string }>("accounts", { key: "id" });
const names = Array.from({ length: 16 }, (_, n) => `account ${n}`);

let stack: EmbeddedStack;
let clients: readonly Client[];

beforeAll(async () => {
  stack = await startEmbeddedStack({
    ...{ sampleTables: false, shards: 3 },
    tables: [{ name: "accounts", partitionKey: { name: "id", type: "S" }, history: false }],
  });
  const { endpoint } = stack;
  clients = [createClient({ endpoint, commit: "stream" }), createClient({ endpoint })];
}, 60_000);

afterAll(async () => {
  for (const client of clients) await client.close();
  await stack.stop();
});

function run(...args: readonly string[]): Promise<Ran> {
  return tidemark([...args, "--endpoint", stack.endpoint]);
}

async function addTo(client: Client, n: number): Promise<void> {
  const ids = [0, 1, 2].map((i) => names[(n * 5 + i) % names.length] ?? "");
  await client.transact({ attemptsMax: 200, deadlineMs: 60_000 }, async (tx) => {
    for (const id of ids) {
      const row = await tx.get(accounts, { id });
      tx.put(accounts, { id, cents: (row?.cents ?? 0) + 1 });
    }
  });
}

test("what cannot be joined is refused, with the reason, and nothing is begun", async () => {
  for (const [args, reason] of [
    [["9"], /has no shard 9/],
    [["all"], /is a whole number; got "all"/],
    [["0"], /has the lowest hashes, .* join shard 1, which is the next one above/],
    [["2", "--into", "0"], /shard 2 is joined to shard 1, .*; got 0/],
  ] as const) {
    const { code, err } = await run("shards", "join", ...args);
    expect([code, err]).toEqual([2, expect.stringMatching(reason)]);
  }
  const onAws = await tidemark(["shards", "join", "1", "--deployment", "shop"]);
  expect([onAws.code, onAws.err]).toEqual([2, expect.stringMatching(/add --write/)]);
  const list = JSON.parse((await run("shards", "--json")).out) as { shards: unknown[] };
  expect(list.shards).toMatchObject([{ number: 0 }, { number: 1 }, { number: 2 }]);
});

test("shards are joined while transactions go on, and none of them is lost", async () => {
  let done = 0;
  let isOver = false;
  const working = clients.map(async (client) => {
    while (!isOver) {
      await addTo(client, done);
      done += 1;
    }
  });
  while (done < 5) await new Promise((resolve) => setTimeout(resolve, 20));
  const first = await run("shards", "join", "2", "--into", "1");
  expect([first.code, first.err]).toEqual([0, ""]);
  expect(first.out).toMatch(/^shard 2 has ended with block \d+: .* on are shard 1's, since its/);
  const { code, out } = await run("shards", "join", "1", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ shard: 1, id: "shard-001", heir: 0 });
  const before = done;
  while (done < before + 10) await new Promise((resolve) => setTimeout(resolve, 20));
  isOver = true;
  await Promise.all(working);
  const [client] = clients;
  const rows = (await client?.snapshot((s) => s.scan(accounts).all())) ?? [];
  expect(rows.reduce((sum, { cents }) => sum + cents, 0)).toBe(3 * done);
}, 180_000);

test("who runs it again is told how it ended, and a split makes another shard", async () => {
  const again = await run("shards", "join", "2");
  expect([again.code, again.out]).toEqual([0, expect.stringMatching(/^shard 2 has ended with/)]);
  const elsewhere = await run("shards", "join", "2", "--into", "0");
  expect([elsewhere.code, elsewhere.err]).toEqual([2, expect.stringMatching(/to shard 1/)]);
  const split = await run("shards", "split", "0", "--json");
  // No number is given twice.
  expect(JSON.parse(split.out)).toMatchObject({ of: 0, shard: 3 });
}, 60_000);

test("the logs show the join, and where it has ended", async () => {
  const log = async (shard: string) => (await run("log", "--shard", shard, "-n", "10000")).out;
  const [upper, lower] = [await log("2"), await log("1")];
  expect(upper).toMatch(/provisioning: closes the log[^]*provisioning: ends the log/);
  expect(lower).toMatch(/provisioning: takes shard 2's hashes, from 0x\w{8} on: it ended with/);
  for (const out of [upper, lower]) expect(out).not.toContain("the stream,");
  const json = await run("log", "--shard", "1", "-n", "10000", "--json");
  expect(json.out).toMatch(/"handover":\{"kind":"takes","shard":2,/);
}, 60_000);
