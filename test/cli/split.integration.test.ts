/** `tidemark shards split` on a stack that is at work: the stream carries one shard, then three. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { BusyAccounts } from "./fixtures/busy-accounts.ts";
import { eventually, tidemark, type Ran } from "./fixtures/command-line.ts";

let busy: BusyAccounts;

beforeAll(async () => {
  busy = await BusyAccounts.start();
}, 60_000);

afterAll(async () => {
  await busy.stop();
});

const run = (...args: readonly string[]): Promise<Ran> => busy.run(...args);

test("a shard is split twice while transactions go on, and none of them is lost", async () => {
  const follow = busy.started("log", "--follow", "-n", "1", "--json");
  await busy.workBeside(async () => {
    const first = await run("shards", "split", "0");
    expect([first.code, first.err]).toEqual([0, ""]);
    expect(first.out).toMatch(/^shard 0 is split: hashes from 0x80000000 on are shard 1's, since/);
    const { code, out } = await run("shards", "split", "1", "--at", "0xb2d05e00", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ of: 1, shard: 2, id: "shard-002", from: 3e9 });
  });
  expect(await busy.shards()).toMatchObject([{ number: 0 }, { number: 1 }, { number: 2 }]);
  // Who follows the log finds the logs that have come, each from its beginning on.
  await eventually(async () => {
    const seen = follow
      .out()
      .split("\n")
      .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as { number: number }]));
    return new Set(seen.map(({ number }) => number)).size === 3 ? true : undefined;
  });
  follow.stop();
  expect(await follow.ended).toBe(0);
}, 120_000);

test("the log shows the split in both logs, and what became whose", async () => {
  for (const shard of ["0", "1"]) {
    const { out } = await run("log", "--shard", shard, "-n", "10000");
    const forks = out.split("\n").filter((line) => line.includes("provisioning"));
    const own = /: splits, hashes from 0x80000000 on are shard 1's, \d+ B$/;
    expect(forks[0]).toMatch(own);
    expect(forks).toHaveLength(shard === "0" ? 1 : 2);
    expect(out).not.toMatch(/provisioning: splits.*\n {2}aborted/);
    const json = await run("log", "--shard", shard, "-n", "10000", "--json");
    expect(json.out).toContain('"fork":{"shard":1,"from":2147483648}');
  }
});

test("what cannot be split is refused, with the reason", async () => {
  const none = await run("shards", "split", "9");
  expect([none.code, none.err]).toEqual([2, expect.stringMatching(/has no shard 9/)]);
  const text = await run("shards", "split", "all");
  expect([text.code, text.err]).toEqual([2, expect.stringMatching(/is a whole number; got "all"/)]);
  const outside = await run("shards", "split", "0", "--at", "0xF0000000");
  const range = /has the hashes from 0x00000000 to 0x7fffffff, and is split at one .* 0xf0000000\n/;
  expect([outside.code, outside.err]).toEqual([2, expect.stringMatching(range)]);
  for (const wrong of ["0x3", "0x300000000", "3e9", "-1", "half"]) {
    const { code, err } = await run("shards", "split", "0", `--at=${wrong}`);
    expect([code, err]).toEqual([2, expect.stringMatching(/0x and eight digits, such as/)]);
  }
  const onAws = await tidemark(["shards", "split", "0", "--deployment", "shop"]);
  expect([onAws.code, onAws.err]).toEqual([2, expect.stringMatching(/add --write/)]);
});

test("a split goes between two partitions by the hash that `shards where` tells", async () => {
  const bounds: number[] = [];
  for (let n = 0; n < 40; n += 1) {
    const { out } = await run("shards", "where", "accounts", `account ${n}`);
    const [, number, text] =
      /in shard (\d) .*; its partition's hash is (0x\w{8})\n$/.exec(out) ?? [];
    if (number === "0") bounds.push(Number(text));
  }
  const [low = 0, high = 0] = bounds.sort((a, b) => a - b).slice(-2);
  const { code } = await run("shards", "split", "0", "--at", high.toString());
  expect(code).toBe(0);
  const list = JSON.parse((await run("shards", "--json")).out) as {
    readonly shards: readonly { readonly range: { readonly from: number; readonly to: number } }[];
  };
  const ranges = list.shards.map(({ range }) => range);
  const rangeOf = (bound: number): number =>
    ranges.findIndex(({ from, to }) => bound >= from && bound < to);
  expect(rangeOf(low)).toBe(rangeOf(0));
  expect(rangeOf(high)).not.toBe(rangeOf(low));
}, 60_000);
