/** Consumers of changes from the command line: how far each is behind, and what it fails with. */
import { DeleteItemCommand, DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ChangeHandler, ConsumeOptions } from "../../sdk/index.ts";
import { eventually, tidemark, type Ran } from "./fixtures/command-line.ts";
import {
  accounts,
  committed,
  logEnd,
  startSmallDeployment,
  type SmallDeployment,
} from "./fixtures/small-deployment.ts";

let small: SmallDeployment;
let dynamodb: DynamoDBClient;

beforeAll(async () => {
  small = await startSmallDeployment();
  dynamodb = new DynamoDBClient({
    ...{ endpoint: small.stack.endpoints.dynamodb, region: small.stack.region },
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  });
}, 60_000);

afterAll(async () => {
  dynamodb.destroy();
  await small.stop();
});

function run(...args: readonly string[]): Promise<Ran> {
  return tidemark([...args, "--endpoint", small.stack.endpoint]);
}

async function json(...args: readonly string[]): Promise<unknown> {
  return JSON.parse((await run(...args, "--json")).out);
}

async function pay(cents: number): Promise<void> {
  await committed(small.express, async (tx) => {
    tx.put(accounts, { id: "ann", cents });
  });
}

const wish = { name: "search", first: "oldest", tables: [accounts] } as const;
const fine: ChangeHandler = () => Promise.resolve();

function catchUp(handle: ChangeHandler, options: Partial<ConsumeOptions> = {}): Promise<void> {
  return small.express.consume({ ...wish, ...options, until: "caught-up" }, handle);
}

const item = (name: string): Record<string, { S: string }> => ({
  ...{ pk: { S: `feed#${name}` }, sk: { S: "position" } },
});
const TableName = "tidemark-local-control";

describe("in the order of what happens", () => {
  test("nothing is listed before a consumer with a name has begun", async () => {
    const { code, out } = await run("feeds");
    expect([code, out]).toEqual([0, "there is no feed: no consumer with a name has begun\n"]);
    expect(await json("feeds")).toEqual({ feeds: [], isCut: false, removed: [] });
    const shown = await run("feeds", "show", "search");
    expect([shown.code, shown.out]).toEqual([2, ""]);
    expect(shown.err).toMatch(/^tidemark: there is no feed "search": no consumer of that name/);
  });

  test("one that has caught up is 0 behind, and says what it asks for", async () => {
    await pay(1);
    await catchUp(fine);
    const { code, out } = await run("feeds");
    expect(code).toBe(0);
    expect(out.split("\n")).toEqual([
      expect.stringMatching(/^name +behind +blocks +held by +for +last progress +failures +last f/),
      expect.stringMatching(/^search +0 +0 +nobody +\d.* s ago +0$/),
      "",
    ]);
    expect(await json("feeds", "show", "search")).toMatchObject({
      ...{ name: "search", behindMs: 0, behindBlocks: 0, tables: ["accounts"], failures: 0 },
      health: { level: "fine", text: "is well" },
    });
  });

  test("what it has not come to is counted in blocks, and by the age of the oldest", async () => {
    const before = await logEnd(small);
    for (const cents of [2, 3, 4]) await pay(cents);
    const { position } = await logEnd(small);
    const shown = (await json("feeds", "show", "search")) as Record<string, unknown>;
    expect(shown).toMatchObject({ behindBlocks: position - before.position });
    expect(shown["behindMs"]).toBeGreaterThan(0);
    await catchUp(fine);
    expect(await json("feeds", "show", "search")).toMatchObject({ behindBlocks: 0, behindMs: 0 });
    expect((await run("status")).out).toContain("  ok   feeds: 1 feed, all have caught up\n");
  });

  test("one whose handler fails says so, with its failure, until that is over", async () => {
    await pay(5);
    for (let n = 0; n < 2; n += 1) {
      const failing = catchUp(() => Promise.reject(new RangeError("no such\n  index")));
      await expect(failing).rejects.toThrow("no such");
    }
    const { code, out } = await run("feeds");
    expect([code, out]).toEqual([0, expect.stringMatching(/ 2 {2}RangeError: no such index\n$/)]);
    expect((await run("feeds", "show", "search")).out.split("\n")).toEqual([
      "search: has failed 2 times in a row",
      expect.stringMatching(/^at 2\S+Z \(\d{16}\S*\), behind: \d.* s, 1 block$/),
      expect.stringMatching(/^nobody is at it, last heard of \d.* s ago$/),
      "tables: accounts",
      expect.stringMatching(/^last progress: 2\S+Z \(\d.* ago\)$/),
      expect.stringMatching(
        /^failed 2 times in a row since 2\S+Z, last at 2\S+Z: RangeError: no such\\u000a /,
      ),
      "",
    ]);
    expect(await json("feeds")).toMatchObject({ feeds: [{ health: { level: "warning" } }] });
    expect((await run("status")).out).toMatch(
      /, 1 feed\n[^]* WARN {2}feeds: 1 feed: search has failed 2 times in a row\n +→ `tidemark fe/,
    );
    expect(await json("status")).toMatchObject({ feeds: { all: 1, ill: 0 }, health: "warning" });
    await catchUp(fine);
    expect(await json("feeds", "show", "search")).toMatchObject({
      ...{ failures: 0, failure: "RangeError: no such\n  index", health: { level: "fine" } },
    });
  });

  test("one that somebody is at says who, and for how long yet", async () => {
    const stop = new AbortController();
    const consumed = small.express.consume({ ...wish, signal: stop.signal }, fine);
    const held = await eventually(async () => {
      const shown = (await json("feeds", "show", "search")) as { holder?: string };
      return shown.holder === undefined ? undefined : shown;
    });
    expect((await run("feeds")).out).toContain(` ${held.holder?.slice(0, 8)}  `);
    expect((await run("feeds", "show", "search")).out).toMatch(
      /\nheld by [0-9a-f]{24} for \d+ s y/,
    );
    stop.abort(new Error("enough"));
    await consumed;
    expect((await json("feeds", "show", "search")) as object).not.toHaveProperty("holder");
  });
});

describe("an item of one release back", () => {
  test("is shown by its name, and listed from when a consumer of this one is at it", async () => {
    const { timestamp } = await logEnd(small);
    const Item = {
      ...item("old"),
      ...{ position: { S: `${timestamp}` }, turn: { N: "7" }, heldUntilMs: { N: "1000" } },
    };
    await dynamodb.send(new PutItemCommand({ TableName, Item }));
    const shown = await run("feeds", "show", "old");
    expect([shown.code, shown.out]).toEqual([
      0,
      expect.stringMatching(/^old: is well\n[^]*\nwhoever was at it tells nothing more: /),
    ]);
    expect((await run("feeds")).out).not.toContain("old");
    await catchUp(fine, { name: "old" });
    expect(await json("feeds")).toMatchObject({
      feeds: [{ name: "old", turn: 9, tables: ["accounts"] }, { name: "search" }],
    });
  });

  test("is listed again where a consumer of that release has put it meanwhile", async () => {
    await dynamodb.send(
      new DeleteItemCommand({ TableName, Key: { pk: { S: "feeds" }, sk: { S: "old" } } }),
    );
    await catchUp(fine, { name: "old" });
    expect((await run("feeds")).out).not.toContain("old");
    const { timestamp } = await logEnd(small);
    const Item = {
      ...item("old"),
      ...{ position: { S: `${timestamp}` }, turn: { N: "20" }, heldUntilMs: { N: "1000" } },
    };
    await dynamodb.send(new PutItemCommand({ TableName, Item }));
    await catchUp(fine, { name: "old" });
    expect((await run("feeds")).out).toMatch(/^old /m);
  });
});

describe("moving and removing", () => {
  test.each([
    [["reset", "search"], /required option '--to <place>' not specified/],
    [["reset", "search", "--to", "yesterday"], /Give beginning, now, a date such as/],
    // Milliseconds are no position.
    [["reset", "search", "--to", "1795361436741"], /Give beginning, now, a date such as/],
    [["reset", "search", "--to", "2026-02-31T00"], /Give beginning, now, a date such as/],
    [["reset", "search", "--to", "2199-01-01"], /`to` lies in the future/],
    [["reset", "serach", "--to", "now"], /there is no feed "serach"/],
    [["remove", "serach"], /there is no feed "serach"/],
  ] as const)("%j is refused", async (args, expected) => {
    const { code, out, err } = await run("feeds", ...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(expected);
  });

  test("reset says where from and where to, and the next consumer goes on there", async () => {
    const { position } = (await json("feeds", "show", "search")) as { position: string };
    await pay(20);
    await catchUp(fine);
    const back = await run("feeds", "reset", "search", "--to", position);
    expect([back.code, back.out]).toEqual([
      0,
      expect.stringMatching(/^search goes on at 2\S+Z \(\d+\S*\)\n.* back: what was handled since/),
    ]);
    const seen: unknown[] = [];
    await catchUp(async (change) => {
      for (const { after } of change.of(accounts)) seen.push(after?.cents);
      return Promise.resolve();
    });
    expect(seen).toEqual([20]);
    await pay(21);
    const on = (await json("feeds", "reset", "search", "--to", "now")) as Record<string, unknown>;
    expect(on).toMatchObject({ name: "search", before: expect.any(String) as string });
    await catchUp(() => Promise.reject(new Error("nothing is new")));
    const date = new Date(Number(position.slice(0, 13))).toISOString();
    expect((await run("feeds", "reset", "search", "--to", date)).code).toBe(0);
    await catchUp((change) =>
      Promise.resolve(void seen.push(change.of(accounts)[0]?.after?.cents)),
    );
    expect(seen.slice(-2)).toEqual([20, 21]);
  });

  test("reset to what is no longer there is refused, and names the oldest position", async () => {
    const before = await json("feeds", "show", "search");
    const date = new Date(Date.now() - 3_600_000).toISOString();
    const back = await run("feeds", "reset", "search", "--to", date, "--json");
    expect([back.code, back.out]).toEqual([1, ""]);
    const { error } = JSON.parse(back.err) as { error: { code: string; message: string } };
    const [, oldest = ""] = /the oldest position is "(\d+)"/.exec(error.message) ?? [];
    expect([error.code, oldest]).toEqual(["changes-expired", expect.stringMatching(/^\d{16}$/)]);
    expect(await json("feeds", "show", "search")).toEqual(before);
    const seen = { from: 0, beginning: 0 };
    expect((await run("feeds", "reset", "search", "--to", oldest)).code).toBe(0);
    await catchUp(() => Promise.resolve(void (seen.from += 1)));
    expect((await run("feeds", "reset", "search", "--to", "beginning")).code).toBe(0);
    await catchUp(() => Promise.resolve(void (seen.beginning += 1)));
    expect(seen.from).toBeGreaterThan(5);
    expect(seen.beginning).toBe(seen.from);
  });

  test("remove takes it from the list; a consumer of that name makes it anew", async () => {
    await catchUp(fine, { name: "short" });
    expect((await run("feeds")).out).toMatch(/^short /m);
    expect((await run("feeds", "remove", "short")).code).toBe(0);
    expect((await run("feeds")).out).toMatch(/^removed: short$/m);
    expect((await run("feeds")).out).not.toMatch(/^short /m);
    expect((await run("feeds", "show", "short")).code).toBe(2);
    await catchUp(fine, { name: "short" });
    expect((await run("feeds")).out).toMatch(/^short /m);
    expect(await json("feeds", "remove", "short")).toEqual({ name: "short", isRemoved: true });
  });
});

test("one that is damaged is told of, and hides no other", async () => {
  await dynamodb.send(
    new PutItemCommand({ TableName, Item: { ...item("old"), turn: { S: "nine" } } }),
  );
  const { code, out } = await run("feeds");
  expect([code, out]).toEqual([1, expect.stringMatching(/^search /m)]);
  expect(out).toMatch(/\n→ its item, feed#old, was edited: put it right\n$/);
  const shown = await run("feeds", "show", "old");
  expect([shown.code, shown.out]).toEqual([
    1,
    expect.stringMatching(/^old: is damaged: position of the feed old: the attribute "turn" is m/),
  ]);
});

test.each(["heldUntilMs", "movedMs", "failedMs", "failingMs", "resetMs"])(
  "one whose %s is no date is damaged, and hides no other",
  async (name) => {
    const first = { N: "1" };
    const whole = { turn: first, heldUntilMs: first, movedMs: first, failedMs: first };
    const told = { failures: first, failure: { S: "x" } };
    const Item = { ...item("old"), ...whole, ...told, [name]: { N: "9000000000000000" } };
    await dynamodb.send(new PutItemCommand({ TableName, Item }));
    const { out } = await run("feeds");
    expect(out).toMatch(/^search /m);
    const text = expect.stringContaining(`"${name}" is missing or invalid`) as string;
    expect(await json("feeds")).toMatchObject({
      feeds: [{ name: "old", health: { text } }, { name: "search" }],
    });
  },
);

test("status and doctor tell of one that is ill", async () => {
  for (const command of ["status", "doctor"]) {
    const { code, out } = await run(command);
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(
        / BAD {3}feeds: 2 feeds: old is damaged: .*\n +→ its item, feed#old, was /,
      ),
    ]);
  }
  expect((await run("status", "--minimal")).out).toMatch(/ · 2 feeds \(1 ill\)\n$/);
});

test("one whose log has let go of what follows is ill, and says what to do", async () => {
  const shard = (await small.ports.control.shards())[0] ?? "";
  const { position } = await logEnd(small);
  for (const cents of [6, 7]) await pay(cents);
  const Key = { shard: { S: shard }, position: { N: `${position + 1}` } };
  await dynamodb.send(new DeleteItemCommand({ TableName: "tidemark-local-log", Key }));
  const { code, out } = await run("feeds", "show", "search");
  expect(code).toBe(1);
  expect(out).toMatch(/^search: has lost what follows its position: that has expired\n/);
  expect(out).toMatch(/\n→ derive anew from the tables .* `tidemark feeds reset search --to beg/);
  expect(await json("feeds", "show", "search")).toMatchObject({ isExpired: true });
});
