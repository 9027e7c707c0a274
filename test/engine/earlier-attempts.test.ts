/**
 * What a commit says of runs in vain before it (docs/formats/payload.md): the log knows as much of
 * them as the clients were told, whichever way they commit and over however many shards.
 */
import { describe, expect, test } from "vitest";
import type { LogPosition, ShardId, TransactionId } from "../../core/types.ts";
import { PayloadLoader } from "../../engine/log/payload-loader.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";
import { defineTable, type Receipt } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";
import { ways } from "./sharded/bank.ts";

type Row = { readonly id: string; readonly n: number };
const rows = defineTable<Row, { readonly id: string }>("rows", { key: "id" });
const tables = [testTable("rows", { partitionKey: "id" })];
const ids = ["a", "b", "c", "d"] as const;

/** What each shard's log says of the commits in it, by their ids. */
async function toldByLogs(cloud: TestCloud): Promise<Map<TransactionId, number>[]> {
  const ports = cloud.deployment.portsOf(cloud.world.startProcess("reader"), { calm: true });
  const toldBy = async (shard: ShardId): Promise<Map<TransactionId, number>> => {
    const hashes = new KeyHashes(await ports.control.keyHasher(shard));
    const { blocks } = await ports.log.readAfter(shard, 0 as LogPosition);
    const verdicts = blocks.flatMap(
      ({ position, bytes }) => decodeLogBlock(bytes, position, hashes).verdicts,
    );
    const loader = new PayloadLoader(ports, { shard, hashes });
    const told = new Map<TransactionId, number>();
    for (const verdict of verdicts) {
      if (verdict.kind !== "committed") continue;
      const { earlierAttempts = 0 } = await loader.load(verdict);
      told.set(verdict.id, earlierAttempts);
    }
    return told;
  };
  return Promise.all((await ports.control.shards()).map(toldBy));
}

/** Each of some processes adds one to all of these rows, again and again. */
async function increments(
  cloud: TestCloud,
  touched: readonly string[],
  perClient = 1,
): Promise<readonly Receipt[]> {
  const clients = ["first", "second", "third"].map((name) => cloud.createClient(name));
  const one = async (client: (typeof clients)[number]): Promise<Receipt> => {
    const { receipt } = await client.transact({ attemptsMax: 100 }, async (tx) => {
      for (const id of touched) {
        const row = await tx.get(rows, id);
        tx.put(rows, { id, n: (row?.n ?? 0) + 1 });
      }
    });
    return receipt;
  };
  const all = clients.flatMap((client) =>
    Array.from({ length: perClient }, async () => [await one(client), await one(client)]),
  );
  return (await Promise.all(all)).flat();
}

function inVain(receipts: readonly Receipt[]): number {
  return receipts.reduce((sum, { attempts }) => sum + attempts - 1, 0);
}

describe.each(ways)("by %s", (_, way) => {
  test("each commit tells its own", async () => {
    const cloud = await createTestCloud({ ...way, tables });
    await cloud.run(async () => {
      const receipts = await increments(cloud, ["a"]);
      const [told] = await toldByLogs(cloud);
      expect(inVain(receipts)).toBeGreaterThan(0);
      for (const { transactionId, attempts } of receipts) {
        expect(told?.get(transactionId ?? ("" as TransactionId))).toBe(attempts - 1);
      }
    });
  });

  test("those that are certified together tell the sum", async () => {
    const cloud = await createTestCloud({ ...way, tables });
    await cloud.run(async () => {
      const receipts = await increments(cloud, ["a"], 8);
      expect(new Set(receipts.map(({ transactionId }) => transactionId)).size).toBeLessThan(
        receipts.length,
      );
      const [told] = await toldByLogs(cloud);
      const sum = Array.from(told?.values() ?? []).reduce((all, each) => all + each, 0);
      expect(inVain(receipts)).toBeGreaterThan(0);
      expect(sum).toBe(inVain(receipts));
    });
  });

  test("over several shards each part tells it", async () => {
    const cloud = await createTestCloud({ ...way, tables, shards: 3 });
    await cloud.run(async () => {
      const receipts = await increments(cloud, ids);
      const logs = await toldByLogs(cloud);
      expect(inVain(receipts)).toBeGreaterThan(0);
      for (const { transactionId, attempts } of receipts) {
        const parts = logs.flatMap((log) => {
          const told = log.get(transactionId ?? ("" as TransactionId));
          return told === undefined ? [] : [told];
        });
        expect(parts.length).toBeGreaterThan(1);
        expect(new Set(parts)).toEqual(new Set([attempts - 1]));
      }
    });
  });
});
