/** `tidemark shards join` on an embedded stack that is at work: three shards become one. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { BusyAccounts } from "./fixtures/busy-accounts.ts";
import { tidemark, type Ran } from "./fixtures/command-line.ts";

let busy: BusyAccounts;

beforeAll(async () => {
  busy = await BusyAccounts.start({ shards: 3 });
}, 60_000);

afterAll(async () => {
  await busy.stop();
});

const run = (...args: readonly string[]): Promise<Ran> => busy.run(...args);

test("what cannot be joined is refused, with the reason, and nothing is begun", async () => {
  for (const [args, reason] of [
    [["9"], /has no shard 9; it has 0, 1, 2/],
    [["all"], /is a whole number; got "all"/],
    [["0"], /has the lowest hashes, .* join shard 1, which is the next one above/],
    [["2", "--into", "0"], /shard 2 is joined to shard 1, .*; got 0/],
  ] as const) {
    const { code, err } = await run("shards", "join", ...args);
    expect([code, err]).toEqual([2, expect.stringMatching(reason)]);
  }
  const onAws = await tidemark(["shards", "join", "1", "--deployment", "shop"]);
  expect([onAws.code, onAws.err]).toEqual([2, expect.stringMatching(/add --write/)]);
  expect(await busy.shards()).toMatchObject([{ number: 0 }, { number: 1 }, { number: 2 }]);
});

test("shards are joined while transactions go on, and none of them is lost", async () => {
  await busy.workBeside(async () => {
    const first = await run("shards", "join", "2", "--into", "1");
    expect([first.code, first.err]).toEqual([0, ""]);
    expect(first.out).toMatch(/^shard 2 has ended with block \d+: .* on are shard 1's, since its/);
    const { code, out } = await run("shards", "join", "1", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ shard: 1, id: "shard-001", heir: 0 });
  });
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
