/** Accounts over several shards: what is moved between them is neither lost nor made. */
import { expect } from "vitest";
import type { TransactionId } from "../../../core/types.ts";
import { defineTable, type EngineEvent } from "../../../sdk/index.ts";
import { testTable, type TestCloud, type TestCloudOptions } from "../../../testing/index.ts";

type Client = ReturnType<TestCloud["createClient"]>;
type Account = { readonly id: string; readonly amount: number };

export const accounts = defineTable<{ readonly amount: number }, { readonly id: string }>(
  "accounts",
  { key: "id" },
);
export const bankTables = [testTable("accounts", { partitionKey: "id", history: true })];
/** So many that each of a few shards has some. */
export const ids = Array.from({ length: 12 }, (_, n) => `account-${n.toString()}`);
export const wholeAmount = 10 * ids.length;

export const ways: readonly [string, TestCloudOptions][] = [
  ["blocks of their own", { commit: "express" }],
  ["the stream", { commit: "stream" }],
  ["tables alone", { tablesOnly: true }],
];

/** In one transaction, over all shards most likely. */
export async function openAccounts(client: Client): Promise<void> {
  await client.transact((tx) => {
    for (const id of ids) tx.put(accounts, { id, amount: 10 });
    return Promise.resolve();
  });
}

export async function move(
  client: Client,
  [from, to]: readonly [string, string],
  options: { readonly idempotencyKey?: string } = {},
): Promise<void> {
  await client.transact({ attemptsMax: 200, deadlineMs: 60_000, ...options }, async (tx) => {
    const [payer, payee] = await tx.batchGet(accounts, [from, to]);
    tx.put(accounts, { id: from, amount: (payer?.amount ?? 0) - 1 });
    tx.put(accounts, { id: to, amount: (payee?.amount ?? 0) + 1 });
    return null;
  });
}

/** Three clients, each one move after another. */
export async function moveAround(cloud: TestCloud, times: number): Promise<void> {
  const movers = ["a", "b", "c"].map(async (name, n) => {
    const client = cloud.createClient(name);
    for (let i = 0; i < times; i += 1) {
      const from = ids[(i * 5 + n) % ids.length] ?? "";
      const to = ids[(i * 7 + n * 3 + 1) % ids.length] ?? "";
      if (from !== to) await move(client, [from, to]);
    }
  });
  await Promise.all(movers);
}

export async function total(rows: AsyncIterable<Account>): Promise<number> {
  let sum = 0;
  for await (const { amount } of rows) sum += amount;
  return sum;
}

/** What a reader finds in all accounts, so many times. */
export async function sumsSeen(
  cloud: TestCloud,
  { times, pauseMs }: { readonly times: number; readonly pauseMs: number },
): Promise<readonly number[]> {
  const reader = cloud.createClient("reader");
  const sums: number[] = [];
  for (let i = 0; i < times; i += 1) {
    await cloud.clock.sleep(pauseMs);
    sums.push(await reader.snapshot({ attemptsMax: 200 }, (s) => total(s.scan(accounts))));
  }
  return sums;
}

export function storedTotal(cloud: TestCloud): number {
  return cloud.rows(accounts).reduce((sum, { amount }) => sum + amount, 0);
}

/** A process of its own does the work, and dies so long after it has begun. */
export async function diesAfter(
  cloud: TestCloud,
  ms: number,
  work: (client: Client) => Promise<unknown>,
  options: { readonly onEvent?: (event: EngineEvent) => void } = {},
): Promise<void> {
  const dying = cloud.startProcess("dying", options);
  const dead = new Promise<void>((resolve) => {
    dying.onCrash(resolve);
  });
  work(dying.client).catch(() => undefined);
  await cloud.clock.sleep(ms);
  dying.crash();
  await dead;
}

/**
 * Clients die one moment after the other, each while it writes four rows of its own, and nobody
 * meets what they have left. Once replay has come, all rows of each are there, or none, as its
 * outcome says.
 * @returns which outcomes there were.
 */
export async function endsOfTheDead(
  cloud: TestCloud,
  dyingAtMs: readonly number[],
): Promise<ReadonlySet<string>> {
  const sent = new Map<number, TransactionId>();
  const written = (n: number) => ids.slice(0, 4).map((id) => `${id}-of-${n.toString()}`);
  await cloud.run(async () => {
    const deaths = dyingAtMs.map((atMs, n) => {
      const onEvent = (event: EngineEvent): void => {
        if (event.kind === "sent") sent.set(n, event.transactionId);
      };
      const write = (client: Client) =>
        client.transact((tx) => {
          for (const id of written(n)) tx.put(accounts, { id, amount: n });
          return Promise.resolve();
        });
      return diesAfter(cloud, atMs, write, { onEvent });
    });
    await Promise.all(deaths);
  });
  await cloud.settled();
  // Logs that are quiet show no time: 30 s by the clock, and replay comes once a minute.
  await cloud.advance(120_000);
  const there = new Set(cloud.rows(accounts).map(({ id }) => id));
  const ends = new Set<string>();
  await cloud.run(async () => {
    const asking = cloud.createClient();
    for (const [n, id] of sent) {
      const outcome = await asking.outcome(id);
      const rows = written(n).filter((row) => there.has(row));
      expect(rows).toHaveLength(outcome === "committed" ? 4 : 0);
      ends.add(outcome);
    }
  });
  return ends;
}
