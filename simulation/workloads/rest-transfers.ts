/**
 * Transfers by REST beside the SDK: in one request under an idempotency key, sent again until the
 * answer is known; and over several requests, with a token. No money is made or lost, and what was
 * done once is done once.
 */
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import {
  WorkloadFinding,
  type Snapshot,
  type StepContext,
  type WorkloadFactory,
} from "./workload.ts";

type Purse = { readonly id: string; readonly cents: number };

const table = "purses";
const purses = defineTable<Purse>(table, { key: "id" });
const openingCents = 100;
const triesMax = 4;

export const restTransfers: WorkloadFactory = ({ keys, history }) => {
  const ids = Array.from({ length: keys }, (_unused, index) => `purse-${index.toString()}`);
  const total = keys * openingCents;

  const wrong = (cents: readonly number[]): string | undefined => {
    const sum = cents.reduce((a, b) => a + b, 0);
    if (sum !== total) return `the purses hold ${sum.toString()} of ${total.toString()}`;
    return cents.some((each) => each < 0) ? "a purse is overdrawn" : undefined;
  };
  const centsOf = async (snapshot: Snapshot): Promise<number[]> =>
    (await snapshot.batchGet(purses, ids)).map((purse) => purse?.cents ?? 0);

  return {
    tables: [testTable(table, { partitionKey: "id", history })],
    async setUp(client) {
      await client.transact((tx) => {
        for (const id of ids) tx.put(purses, id, { id, cents: openingCents });
        return Promise.resolve();
      });
    },
    async step(context) {
      const { random } = context;
      const from = random.pick(ids);
      const to = random.pick(ids.filter((id) => id !== from));
      const transfer = { from, to, cents: random.integer(1, 30) };
      const way = random.next();
      if (way < 0.4) await inOneRequest(context, transfer);
      else if (way < 0.7) await overSeveral(context, transfer);
      else if (way < 0.85) await bySdk(context, transfer);
      else await readAll(context);
    },
    async judge(client) {
      const complaint = wrong(await client.snapshot(centsOf));
      return complaint === undefined ? [] : [complaint];
    },
  };

  async function readAll({ rest }: StepContext): Promise<void> {
    const gets = ids.map((id) => ({ table, key: { id } }));
    const answer = await rest({ path: "/v1/snapshots", body: { reads: { gets } } });
    if (answer?.status !== 200) return;
    const complaint = wrong(getsOf(answer.body).map(({ cents }) => cents));
    if (complaint !== undefined) throw new WorkloadFinding(`seen by REST: ${complaint}`);
  }
};

type Transfer = { readonly from: string; readonly to: string; readonly cents: number };

/** Statuses that say nothing happened, or that nobody knows; with a key both may be sent again. */
const againStatuses: ReadonlySet<number> = new Set([202, 409, 429, 500, 503, 504]);

async function inOneRequest(context: StepContext, transfer: Transfer): Promise<void> {
  const { rest, unique, pause, random } = context;
  const { from, to, cents } = transfer;
  const body = {
    isolation: context.isolation,
    writes: [
      {
        ...{ op: "update", table, key: { id: from }, add: { cents: -cents } },
        condition: { attributes: { cents: { gte: cents } } },
      },
      { op: "update", table, key: { id: to }, add: { cents } },
    ],
  };
  const receipts = new Set<unknown>();
  for (let tries = 0; tries < triesMax; tries += 1) {
    const answer = await rest({ path: "/v1/transactions", body, idempotencyKey: unique });
    if (answer?.status === 200) {
      receipts.add((answer.body["receipt"] as { transactionId: unknown }).transactionId);
      // Sometimes again although it is done: the first answer must come back.
      if (random.chance(0.7)) break;
    } else if (answer !== undefined && !againStatuses.has(answer.status)) {
      expectStatus(answer.status, [412]);
      break;
    }
    await pause(random.between(1, 500));
  }
  if (receipts.size > 1) throw new WorkloadFinding("one idempotency key, two transactions");
}

async function overSeveral(context: StepContext, transfer: Transfer): Promise<void> {
  const { rest, pause, random, isolation } = context;
  const { from, to, cents } = transfer;
  const gets = [from, to].map((id) => ({ table, key: { id } }));
  const begun = await rest({
    path: "/v1/transactions/begin",
    body: { isolation, reads: { gets } },
  });
  if (begun?.status !== 200) return;
  const [payer, payee] = getsOf(begun.body);
  if (payer === undefined || payee === undefined || payer.cents < cents) return;
  await pause(random.between(0, 300));
  const items = [
    { id: from, cents: payer.cents - cents },
    { id: to, cents: payee.cents + cents },
  ];
  const committed = await rest({
    path: "/v1/transactions/commit",
    body: {
      transaction: begun.body["transaction"],
      writes: items.map((item) => ({ op: "put", table, item })),
    },
  });
  if (committed !== undefined && !againStatuses.has(committed.status)) {
    expectStatus(committed.status, [200, 410]);
  }
}

async function bySdk({ client, isolation }: StepContext, transfer: Transfer): Promise<void> {
  const { from, to, cents } = transfer;
  await client.transact({ isolation }, async (tx) => {
    const [payer, payee] = await tx.batchGet(purses, [from, to]);
    if (payer === undefined || payee === undefined || payer.cents < cents) return;
    tx.put(purses, from, { ...payer, cents: payer.cents - cents });
    tx.put(purses, to, { ...payee, cents: payee.cents + cents });
  });
}

function getsOf(body: Readonly<Record<string, unknown>>): readonly Purse[] {
  return (body["reads"] as { gets: Purse[] }).gets;
}

function expectStatus(status: number, expected: readonly number[]): void {
  if (!expected.includes(status)) {
    throw new WorkloadFinding(`REST answered ${status.toString()}`);
  }
}
