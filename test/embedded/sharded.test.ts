/** A stack of four shards that one Kinesis shard carries, on real protocol servers. */
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAwsPorts } from "../../aws/ports.ts";
import { announcementJson } from "../../localstack/announcement.ts";
import type { EmbeddedStack } from "../../localstack/embedded-stack.ts";
import type { CommitPreference } from "../../engine/types.ts";
import { createClient, defineTable, type Client } from "../../sdk/index.ts";
import { eventually, startTestStack, temporaryFolder } from "./fixtures/test-stack.ts";

const accounts = defineTable<{ readonly n: number }, { readonly id: string }>("accounts", {
  key: "id",
});
const ids = Array.from({ length: 16 }, (_, i) => `sharded-${i.toString()}`);

function connect({ endpoint }: EmbeddedStack, commit: CommitPreference): Client {
  const client = createClient({ endpoint, commit });
  onTestFinished(() => client.close());
  return client;
}

/** Between the two, over two shards most often. */
function move(client: Client, [from, to]: readonly [string, string]): Promise<unknown> {
  return client.transact({ attemptsMax: 200, deadlineMs: 60_000 }, async (tx) => {
    const [payer, payee] = await tx.batchGet(accounts, [from, to]);
    tx.put(accounts, { id: from, n: (payer?.n ?? 0) - 1 });
    tx.put(accounts, { id: to, n: (payee?.n ?? 0) + 1 });
  });
}

async function total(client: Client): Promise<number> {
  return client.snapshot({ attemptsMax: 200, deadlineMs: 60_000 }, async (snapshot) => {
    const rows = await snapshot.batchGet(accounts, ids);
    return rows.reduce((sum, row) => sum + (row?.n ?? 0), 0);
  });
}

test("a kept stack comes back with the shards it was made with, and refuses others", async () => {
  const dataFolder = join(temporaryFolder(), "data");
  const first = await startTestStack({ dataFolder, sampleTables: false, shards: 3 });
  expect(announcementJson(first)).toContain('"shards":3');
  await first.stop();
  const again = await startTestStack({ dataFolder, sampleTables: false });
  expect(again.shards).toBe(3);
  await again.stop();
  const others = startTestStack({ dataFolder, sampleTables: false, shards: 2 });
  await expect(others).rejects.toThrow("the deployment was made with 3 shards");
});

test("money moves across shards, by all ways, while the oracle is killed", async () => {
  const stack = await startTestStack({ sampleTables: true, shards: 4 });
  const { deployment, region, endpoints } = stack;
  const clients = [connect(stack, "express"), connect(stack, "stream"), connect(stack, "auto")];
  const [first] = clients;
  if (first === undefined) throw new Error("there are clients");
  await first.transact((tx) => {
    for (const id of ids) tx.put(accounts, { id, n: 100 });
    return Promise.resolve();
  });
  const moving = clients.map(async (client, c) => {
    for (let i = 0; i < 12; i += 1) {
      const from = ids[(i * 5 + c) % ids.length] ?? "";
      const to = ids[(i * 3 + c * 7 + 1) % ids.length] ?? "";
      if (from !== to) await move(client, [from, to]);
      if (c === 0 && i === 4) await stack.kill("oracle");
    }
  });
  const sums: number[] = [];
  const reading = (async () => {
    for (let i = 0; i < 8; i += 1) sums.push(await total(first));
  })();
  await Promise.all([...moving, reading]);
  expect(new Set(sums)).toEqual(new Set([1_600]));

  const ports = createAwsPorts({ deployment, region, endpoint: endpoints });
  onTestFinished(() => ports.close());
  const shards = await ports.control.shards();
  expect(shards).toHaveLength(4);
  for (const shard of shards) {
    await eventually(async () => {
      const [last] = await ports.log.readBackward(shard, { blocksMax: 1 });
      const watermark = await ports.control.readWatermark(shard);
      return watermark?.position === (last?.position ?? 0);
    });
  }
});

test("REST commits over shards, in one request and in several", async () => {
  const { endpoint } = await startTestStack({ sampleTables: true, shards: 4 });
  const post = (path: string, body: unknown): Promise<Response> =>
    fetch(`${endpoint}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const writes = ids.map((id) => ({ op: "put", table: "accounts", item: { id, n: 1 } }));
  const committed = await post("/v1/transactions", { writes });
  expect(committed.status).toBe(200);
  const gets = ids.map((id) => ({ table: "accounts", key: { id } }));
  const begun = await post("/v1/transactions/begin", { reads: { gets } });
  const { transaction } = (await begun.json()) as { readonly transaction: string };
  const moved = [writes[0], writes[1]];
  const done = await post("/v1/transactions/commit", { transaction, writes: moved });
  expect(done.status).toBe(200);
  const stale = await post("/v1/transactions/commit", { transaction, writes: moved });
  const refused = (await stale.json()) as { readonly code?: string };
  expect([stale.status, refused.code]).toEqual([409, "already-committed"]);
});
