/** A deployment that is ill in several ways: who looks at it is told, and the exit code is 1. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAwsClients, type AwsClients } from "../../aws/clients.ts";
import type { LogPosition, Timestamp } from "../../core/types.ts";
import { tidemark, type Ran } from "./fixtures/command-line.ts";
import {
  accounts,
  committed,
  logEnd,
  startSmallDeployment,
  untilInstalled,
  type SmallDeployment,
} from "./fixtures/small-deployment.ts";

let small: SmallDeployment;
let clients: AwsClients;

beforeAll(async () => {
  small = await startSmallDeployment({ tablesOnly: true });
  const { region, endpoints } = small.stack;
  clients = createAwsClients({ region, endpoint: endpoints });
  await committed(small.express, async (tx) => {
    tx.put(accounts, { id: "ann", cents: 1 });
    tx.put(accounts, { id: "bob", cents: 1 });
  });
}, 60_000);

afterAll(async () => {
  await clients.close();
  await small.stop();
});

function run(...args: readonly string[]): Promise<Ran> {
  return tidemark([...args, "--endpoint", small.stack.endpoint]);
}

test("tables alone: all that looks works, and no oracle is asked for", async () => {
  const { code, out } = await run("status", "--window", "1h");
  expect(code).toBe(0);
  expect(out).toMatch(/3 tables \(1 mixed\), 1 shard, tables alone: no stream/);
  expect(out).toMatch(/committed {2}1, .*express 1\)/);
  expect(out).not.toContain("oracle:");
  expect((await run("doctor")).out).toMatch(/ok {3}stream: none: clients append to the logs/);
  expect((await run("shards")).out).toMatch(/100 %.*–\n$/);
});

test("where no table takes BASE transactions, base says what does it, others nothing", async () => {
  const { code, out } = await run("base");
  expect([code, out]).toEqual([
    0,
    "no table takes BASE transactions; `tidemark register <table> --base` does it\n",
  ]);
  expect((await run("status")).out).not.toContain("BASE");
  expect((await run("doctor")).out).not.toContain("BASE");
});

test("an item that lost what was committed to it is a fault of I7", async () => {
  // Only what the watermark has passed is held against the table.
  await untilInstalled(small);
  expect((await run("audit")).out).toMatch(/2 items\nno fault/);
  const { client, sdk } = await clients.dynamodb();
  const Item = { id: { S: "ann" }, cents: { N: "0" } };
  await client.send(new sdk.PutItemCommand({ TableName: "accounts", Item }));
  const { code, out } = await run("audit");
  expect(code).toBe(1);
  expect(out).toMatch(/1 fault\n {2}I7: accounts "ann": transaction .* stored is no commit's\n/);
  const json = await run("audit", "--json");
  expect([json.code, JSON.parse(json.out)]).toMatchObject([1, { items: 2 }]);
});

test("a table that is registered and not there, or has other indexes, is found", async () => {
  const key = { partitionKey: { name: "id", type: "S" } } as const;
  const as = { history: undefined, access: undefined };
  await small.ports.control.registerTable({ name: "gone", ...key, ...as });
  await small.ports.control.registerTable({ name: "carts", ...key, ...as, indexNames: ["by-day"] });
  const { code, out } = await run("doctor");
  expect(code).toBe(1);
  expect(out).toMatch(/BAD {3}table gone: it is registered, and does not exist\n +→ its writes/);
  expect(out).toMatch(/WARN {2}table carts: its indexes are none, registered are by-day\n +→ `tid/);
});

test("a dead letter makes it ill, and audit tells what it is", async () => {
  const [shard] = await small.ports.control.shards();
  const id = "0".repeat(31) + "1";
  await small.ports.control.saveDeadLetter({
    ...{ shard: shard!, timestamp: 1_700_000_000_000_000 as Timestamp, id: id as never },
    ...{ table: "accounts", key: { id: { S: "lost" } }, item: undefined },
    reason: "the table refuses it",
  });
  const status = await run("status", "--minimal");
  expect([status.code, status.out]).toEqual([1, expect.stringMatching(/^unhealthy · /)]);
  const { code, out } = await run("audit");
  expect(code).toBe(1);
  expect(out).toContain("1 dead letter (docs/operations.md, Dead letters)\n");
  expect(out).toContain(`${id} at 2023-11-14T22:13:20.000000Z, accounts "lost": the table refuses`);
});

test("a block that is none stops the shard: status, log, audit and shards say which", async () => {
  const [shard] = await small.ports.control.shards();
  const { position } = await logEnd(small);
  const next = (position + 1) as LogPosition;
  await small.ports.log.append(shard!, { position: next, bytes: Uint8Array.of(1, 2, 3) });
  const status = await run("status");
  expect([status.code, status.out]).toEqual([
    1,
    expect.stringMatching(/BAD {3}log: a block stops the shard: block \d+ of the log does not dec/),
  ]);
  expect((await run("log")).out).toMatch(new RegExp(`^${next} {2}is no block: `, "m"));
  expect((await run("audit")).out).toMatch(new RegExp(`shard 0: block ${next} of the log does`));
  const shards = await run("shards", "--json");
  expect([shards.code, JSON.parse(shards.out)]).toMatchObject([1, { health: "bad" }]);
  const outcome = await run("outcome", "0".repeat(32));
  expect(outcome.code).not.toBe(0);
});

test("tables take BASE transactions, and nobody has made the table of their records", async () => {
  const key = { partitionKey: { name: "id", type: "S" } } as const;
  const as = { history: undefined, access: undefined, base: true };
  await small.ports.control.registerTable({ name: "accounts", ...key, ...as });
  const { code, out } = await run("doctor");
  expect(code).toBe(1);
  expect(out).toMatch(/BAD {3}BASE: tables take .* records is not registered\n +→ .*--base` makes/);
});
