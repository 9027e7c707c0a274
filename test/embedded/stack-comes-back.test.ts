/** Clients that are there before their stack, or outlive it, work on as soon as it is there. */
import { expect, onTestFinished, test } from "vitest";
import {
  CommitUnknownError,
  createClient,
  defineTable,
  TransactionError,
  type Client,
} from "../../sdk/index.ts";
import { startTestStack, temporaryFolder } from "./fixtures/test-stack.ts";

const accounts = defineTable<{ readonly n: number }, { readonly id: string }>("accounts", {
  key: "id",
});
const id = "counted";
const credentials = { accessKeyId: "any", secretAccessKey: "any" };

test("a client that was there first, and its stack is stopped and started", async () => {
  const dataFolder = temporaryFolder();
  const start = (ports?: { dynamodb: number; kinesis: number; api: number }) =>
    startTestStack({ sampleTables: true, dataFolder, ...(ports && { ports }) });
  const first = await start();
  const { endpoints, region, deployment, endpoint } = first;
  const portOf = (url: string): number => Number(new URL(url).port);
  const ports = {
    dynamodb: portOf(endpoints.dynamodb),
    kinesis: portOf(endpoints.kinesis),
    api: portOf(endpoint),
  };
  await first.stop();

  const open = (): Client => {
    const client = createClient({ deployment, region, credentials, endpoints });
    onTestFinished(() => client.close());
    return client;
  };
  const early = open();
  await expect(increment(early, 500)).rejects.toMatchObject({ code: "unavailable" });

  const second = await start(ports);
  const clients = [early, open()];
  const before = await Promise.all(clients.map((client) => contend(client, { calls: 20 })));
  expect(before.flatMap(({ failures }) => failures)).toEqual([]);

  const stopped = new AbortController();
  const beside = clients.map((client) => contend(client, { until: stopped.signal }));
  await increment(early);
  await second.stop();
  await Promise.all(clients.map((client) => expect(increment(client, 500)).rejects.toThrow()));
  stopped.abort();
  const during = await Promise.all(beside);

  await start(ports);
  const after = await Promise.all(clients.map((client) => contend(client, { calls: 20 })));
  expect(after.flatMap(({ failures }) => failures)).toEqual([]);

  let committed = 1;
  for (const { commits, failures } of [...before, ...during, ...after]) {
    committed += commits;
    for (const error of failures) {
      expect(error).toBeInstanceOf(TransactionError);
      if (!(error instanceof CommitUnknownError)) continue;
      if ((await early.outcome(error.transactionId)) === "committed") committed += 1;
    }
  }
  const counted = await early.snapshot((snapshot) => snapshot.get(accounts, id));
  expect(counted?.n).toBe(committed);
});

function increment(client: Client, deadlineMs?: number): Promise<unknown> {
  const options = { attemptsMax: 1_000, ...(deadlineMs !== undefined && { deadlineMs }) };
  return client.transact(options, async (tx) => {
    const counter = await tx.get(accounts, id);
    tx.put(accounts, { id, n: (counter?.n ?? 0) + 1 });
  });
}

type Contest = { readonly commits: number; readonly failures: readonly unknown[] };

/** Four loops of one process at one item: so many calls together, or until it is told to end. */
async function contend(
  client: Client,
  { calls = Infinity, until }: { readonly calls?: number; readonly until?: AbortSignal },
): Promise<Contest> {
  let [left, commits] = [calls, 0];
  const failures: unknown[] = [];
  const loop = async (): Promise<void> => {
    while (left > 0 && until?.aborted !== true) {
      left -= 1;
      await increment(client, until === undefined ? undefined : 1_000).then(
        () => (commits += 1),
        (error: unknown) => failures.push(error),
      );
    }
  };
  await Promise.all([loop(), loop(), loop(), loop()]);
  return { commits, failures };
}
