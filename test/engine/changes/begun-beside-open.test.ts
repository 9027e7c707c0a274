/** A feed that begins at a moment at which a transaction over several shards is under way. */
import { expect, test } from "vitest";
import type { LogPosition, ShardNumber, Timestamp } from "../../../core/types.ts";
import { decodeBlock } from "../../../engine/log/stored-block.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../../schemas/commit-record.ts";
import { encodePayload } from "../../../schemas/payload.ts";
import { transactionIdFor } from "../../../schemas/transaction-id.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { accounts, bankTables, ids } from "../sharded/bank.ts";

test("is given it whole, though its first part is the newest thing in its log", async () => {
  const cloud = await createTestCloud({ commit: "stream", tables: bankTables, shards: 2 });
  const { deployment, world } = cloud;
  const ports = deployment.portsOf(world.startProcess("inspector of logs"), { calm: true });
  const logs = [...deployment.logs];
  const inShard = (number: number): string[] =>
    ids.filter((id) => {
      const partition = deployment.hashes.partition("accounts", { S: id });
      return Number(partition >> 63n) === number;
    });
  const endOf = async (number: number): Promise<Timestamp> => {
    const [shard, hashes] = logs[number] ?? [];
    if (shard === undefined || hashes === undefined) throw new Error("there are two");
    const { blocks } = await ports.log.readAfter(shard, 0 as LogPosition);
    const last = blocks.at(-1);
    return last === undefined ? (0 as Timestamp) : decodeBlock(last, hashes).throughTimestamp;
  };
  const send = async (number: number, request: Uint8Array): Promise<void> => {
    const Data = encodeCommitRecord(logs[number]?.[1].fingerprint ?? 0, [request]);
    world.kinesis.execute("PutRecord", { StreamName: deployment.stream, PartitionKey: "x", Data });
    world.streamWritten();
    await cloud.clock.sleep(1_000);
  };
  const seen: number[] = [];
  await cloud.run(async () => {
    const client = cloud.createClient("writer");
    for (const id of ids) {
      await client.transact((tx) => {
        tx.put(accounts, { id, amount: 1 });
        return Promise.resolve();
      });
    }
    // Neither helps to decide what is open.
    cloud.pauseReplay();
    await cloud.clock.sleep(1_000);
    const from = Math.min(await endOf(0), await endOf(1)) as Timestamp;
    const proof = Uint8Array.from({ length: 9 }, (_, n) => n);
    const id = transactionIdFor(from, proof, ports.digest);
    const bare = { id, isolation: "serializable", checks: [] } as const;
    const parts = [0, 1].map((shard) => ({ shard: shard as ShardNumber, from }));
    const prepare = async (number: number): Promise<void> => {
      const [key = ""] = inShard(number);
      const bytes = encodePayload({
        tables: [{ name: "accounts", partitionKey: "id", history: true }],
        writes: [
          { table: 0, key: { id: { S: key } }, item: { id: { S: key }, amount: { N: "7" } } },
        ],
      });
      const checkedTo = await endOf(number);
      const payload = { kind: "inline", bytes } as const;
      await send(
        number,
        encodeCommitRequest({ kind: "prepare", ...bare, checkedTo, parts, payload }),
      );
    };
    await prepare(0);
    const began = await endOf(0);
    const stop = new AbortController();
    const consuming = cloud
      .createClient("consumer")
      .consume({ name: "all", first: began + 1, signal: stop.signal }, (change) => {
        const rows = change.of(accounts).filter(({ after }) => after?.amount === 7);
        if (rows.length > 0) seen.push(rows.length);
        return Promise.resolve();
      });
    await cloud.clock.sleep(2_000);
    await prepare(1);
    const timestamp = await endOf(1);
    const whole = { kind: "committed", timestamp } as const;
    const vote = { kind: "vote", ...bare, checkedTo: from, payload: { kind: "none" } } as const;
    const entered = encodeCommitRequest({ ...vote, vote: { proof, stamps: [], whole } });
    await send(1, entered);
    // Both logs go on.
    for (const number of [0, 1]) {
      const key = inShard(number).at(-1) ?? "";
      await client.transact((tx) => {
        tx.put(accounts, { id: key, amount: 2 });
        return Promise.resolve();
      });
    }
    await cloud.clock.sleep(2_000);
    await send(0, entered);
    await cloud.clock.sleep(10_000);
    stop.abort(new Error("enough"));
    await consuming;
  });
  expect(seen).toEqual([2]);
});
