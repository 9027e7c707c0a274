/** Commands that look, on a deployment of three shards: each has a log, a watermark, an end. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TransactionId } from "../../core/types.ts";
import { tidemark, type Ran } from "./fixtures/command-line.ts";
import {
  accounts,
  committed,
  startSmallDeployment,
  untilInstalled,
  type SmallDeployment,
} from "./fixtures/small-deployment.ts";

let small: SmallDeployment;
/** Over all shards, by chance of the hashes: so many accounts lie in each of three. */
let wide: TransactionId;
const names = Array.from({ length: 24 }, (_, n) => `account ${n}`);

beforeAll(async () => {
  small = await startSmallDeployment({ shards: 3 });
  wide = await committed(small.express, async (tx) => {
    for (const id of names) tx.put(accounts, { id, cents: 1 });
  });
  for (const id of names.slice(0, 3)) {
    await committed(small.express, async (tx) => {
      tx.put(accounts, { id, cents: 2 });
    });
  }
}, 60_000);

afterAll(async () => {
  await small.stop();
});

function run(...args: readonly string[]): Promise<Ran> {
  return tidemark([...args, "--endpoint", small.stack.endpoint]);
}

async function json<Answer>(...args: readonly string[]): Promise<Answer> {
  const { code, out, err } = await run(...args, "--json");
  expect([code, err]).toEqual([0, ""]);
  return JSON.parse(out) as Answer;
}

test("status counts a transaction over shards once, and has a row for each shard", async () => {
  const status = await json("status", "--window", "1h");
  expect(status).toMatchObject({
    committed: 4,
    ways: { "over several shards": 1, express: 3 },
    shards: [{ number: 0 }, { number: 1 }, { number: 2 }],
  });
  const { out } = await run("status");
  expect(out).toMatch(/^ +0 .*\n +1 .*\n +2 /m);
  expect(out).toMatch(/ok {3}log of shards 0, 1, 2: its newest blocks decode/);
});

test("outcome gathers what each log has", async () => {
  const { code, out } = await run("outcome", wide);
  expect(code).toBe(0);
  expect(out.match(/^prepared at .* as a part of 3 shards, block \d\/\d+$/gm)).toHaveLength(3);
  const at = [...out.matchAll(/^committed at \S+ \((\d+)\), over several shards/gm)];
  expect(new Set(at.map(([, timestamp]) => timestamp)).size).toBe(1);
  expect(out.match(/^ {2}put {4}accounts "account \d+"$/gm)).toHaveLength(names.length);
  const { timestamp } = (
    await json<{ logs: { decision: { timestamp: number } }[] }>("outcome", wide)
  ).logs[0]!.decision;
  expect(at[0]?.[1]).toBe(timestamp.toString());
});

test("log merges the logs in time, names each block's shard, and takes one of them", async () => {
  const { out } = await run("log");
  const blocks = [...out.matchAll(/^(\d)\/(\d+) {2}(\S+)/gm)].map(([, shard, , time]) => ({
    shard,
    time: time ?? "",
  }));
  expect(new Set(blocks.map(({ shard }) => shard))).toEqual(new Set(["0", "1", "2"]));
  expect(blocks.map(({ time }) => time)).toEqual(blocks.map(({ time }) => time).sort());
  const one = await run("log", "--shard", "1");
  expect(one.out).toMatch(/^1\/1 /);
  expect(one.out).not.toMatch(/^[02]\//m);
  const from = await run("log", "--from", "1");
  expect([from.code, from.err]).toEqual([2, expect.stringMatching(/add --shard/)]);
});

test("log says so where it finds nothing, beside the answer", async () => {
  const none = ["log", "--id", "0".repeat(32)];
  const err = "nothing of that in the blocks looked at; -n looks at more\n";
  expect(await run(...none)).toEqual({ code: 0, out: "", err });
  expect(await run(...none, "--json")).toEqual({ code: 0, out: "", err: "" });
  const beyond = await run("log", "--shard", "2", "--from", "100000");
  expect([beyond.out, beyond.err]).toEqual(["", "no block of the log lies there\n"]);
});

test("item and `shards where` go to the shard that has the item", async () => {
  type Where = { number: number; shard: string; hash: string };
  for (const id of names.slice(0, 3)) {
    const where = await json<Where>("shards", "where", "accounts", id);
    const item = await json<Where & { versions: unknown }>("item", "accounts", id);
    expect(item).toMatchObject({ number: where.number, hash: where.hash });
    expect(item.versions).toMatchObject([
      { state: "stored", way: "express" },
      { state: "logged", id: wide, way: "part" },
    ]);
    const log = await run("log", "--table", "accounts", "--key", id);
    expect(log.out).toContain(wide);
    expect(log.out.match(/^\d\//gm)?.every((place) => place === `${where.number}/`)).toBe(true);
  }
});

test("shards shows the ranges, which leave out no hash", async () => {
  type Shards = { shards: { range: { from: number; to: number } }[] };
  const { shards } = await json<Shards>("shards");
  const ranges = shards.map(({ range }) => range);
  expect(ranges[0]?.from).toBe(0);
  expect(ranges.map(({ to }) => to)).toEqual([ranges[1]?.from, ranges[2]?.from, 2 ** 32]);
  expect((await run("shards")).out.match(/ 33\.3 % /g)).toHaveLength(3);
});

test("conflicts, audit and doctor look at all shards", async () => {
  const { keys, commits } = await json<{ keys: { number: number }[]; commits: number }>(
    "conflicts",
    ...["--rows", "100"],
  );
  expect([keys.length, commits]).toEqual([names.length, 6]);
  expect(new Set(keys.map(({ number }) => number)).size).toBe(3);
  expect(keys[0]).toMatchObject({ table: "accounts", written: 2, key: { id: {} } });
  await untilInstalled(small);
  expect(await json("audit")).toMatchObject({ faults: [], unread: 0, items: names.length });
  const { code, out } = await run("doctor");
  expect([code, out]).toEqual([0, expect.stringMatching(/for 3 shards of the deployment/)]);
});
