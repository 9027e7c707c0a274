/** Commands that look, on a deployment of one shard: text, JSON, exit codes, misuse. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { colours } from "../../cli/shell/styles.ts";
import { eventually, started, tidemark, type Ran } from "./fixtures/command-line.ts";
import {
  accounts,
  answered,
  carts,
  committed,
  logEnd,
  orders,
  startSmallDeployment,
  untilInstalled,
  type SmallDeployment,
} from "./fixtures/small-deployment.ts";

let small: SmallDeployment;
/** Ids of transactions by what became of them. */
const ids: Record<"stream" | "express" | "vote" | "conflict" | "deleted", string> = {
  stream: "",
  express: "",
  vote: "",
  conflict: "",
  deleted: "",
};

beforeAll(async () => {
  small = await startSmallDeployment();
  const { byStream, express } = small;
  ids.stream = await committed(byStream, async (tx) => {
    tx.put(accounts, { id: "ann", cents: 1 });
    tx.put(orders, { customer: "ann", placedAt: 3, total: 10 });
  });
  const before = await logEnd(small);
  ids.express = await committed(express, async (tx) => {
    tx.put(orders, { customer: "ann", placedAt: 3, total: 20 });
    tx.put(accounts, { id: "ann", cents: 2 });
  });
  ids.conflict = await answered(small, {
    kind: "commit",
    table: "accounts",
    item: { id: { S: "bob" }, cents: { N: "5" } },
    read: [{ table: "accounts", key: { id: { S: "ann" } } }],
    checkedTo: before.timestamp,
  });
  ids.vote = await committed(byStream, async (tx) => {
    const [one, other] = await tx.batchGet(carts, ["a", "b"]);
    tx.put(carts, { id: "a", goods: (one?.goods ?? 0) + 1 });
    tx.put(carts, { id: "b", goods: (other?.goods ?? 0) + 1 });
  });
  ids.deleted = await committed(express, async (tx) => {
    tx.delete(orders, { customer: "ann", placedAt: 3 });
  });
}, 60_000);

afterAll(async () => {
  await small.stop();
});

function run(...args: readonly string[]): Promise<Ran> {
  return tidemark([...args, "--endpoint", small.stack.endpoint]);
}

async function json(...args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, out, err } = await run(...args, "--json");
  expect([code, err]).toEqual([0, ""]);
  return JSON.parse(out) as Record<string, unknown>;
}

/** Of output with one document a line. */
function lines(out: string): Record<string, unknown>[] {
  return out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe("status", () => {
  test("counts commits by their way and aborts by their reason, and is well", async () => {
    const { health, committed, ways, aborted, tables } = await json("status", "--window", "1h");
    expect({ health, committed, ways, aborted, tables }).toEqual({
      health: "fine",
      committed: 4,
      ways: { "by the stream": 1, express: 2, "by vote": 1, "over several shards": 0 },
      aborted: { conflict: 1 },
      tables: { all: 3, mixed: 1, moving: 0 },
    });
  });

  test("tells people the same", async () => {
    const { code, out } = await run("status", "--window", "1h");
    expect(code).toBe(0);
    expect(out).toMatch(/^local at http:\/\/127\.0\.0\.1:\d+: healthy\n3 tables \(1 mixed\), 1 /);
    expect(out).toMatch(/committed {2}4, .*express 2, by the stream 1, by vote 1/);
    expect(out).toMatch(/aborted {4}1 \(conflict 1\)/);
    expect(out).toMatch(/ok {3}oracle: every record of the stream is decided/);
    expect(out).not.toContain("\u001b");
  });

  test("--minimal is one line", async () => {
    const { out } = await run("status", "--minimal");
    expect(out).toMatch(/^healthy · lag .* · .* commits\/s · \d open\n$/);
  });

  test("--watch goes on until it is stopped, one document a line", async () => {
    const watch = started([
      ...["status", "--watch", "1s", "--json"],
      ...["--endpoint", small.stack.endpoint],
    ]);
    await eventually(async () => (watch.out().split("\n").length > 2 ? true : undefined));
    watch.stop();
    expect(await watch.ended).toBe(0);
    for (const line of lines(watch.out())) expect(line).toMatchObject({ health: "fine" });
  });

  test("a transaction that is prepared shows as open, and as gone once it is settled", async () => {
    const { timestamp } = await logEnd(small);
    const id = await answered(small, {
      kind: "prepare",
      table: "carts",
      item: { id: { S: "open" }, goods: { N: "1" } },
      checkedTo: timestamp,
    });
    expect(await json("status")).toMatchObject({ shards: [{ open: [{ id, writes: 1 }] }] });
    const { code, out } = await run("outcome", id);
    expect([code, out]).toEqual([1, expect.stringContaining(`${id}: open: prepared`)]);
    const settled = await run("outcome", id, "--write");
    expect([settled.code, settled.out]).toEqual([0, expect.stringContaining(`${id}: aborted`)]);
    expect(await json("status")).toMatchObject({ shards: [{ open: [] }] });
  });
});

describe("tables", () => {
  test("lists them, with and without its word", async () => {
    const { out } = await run("tables");
    expect(out.split("\n")).toEqual([
      expect.stringMatching(/^table +key +written by +history +indexes$/),
      expect.stringMatching(/^accounts +id:S +transactions +–$/),
      expect.stringMatching(/^carts +id:S +transactions and native operations +–$/),
      expect.stringMatching(/^orders +customer:S,placedAt:N +transactions +60 min since 2/),
      "",
    ]);
    expect((await run("tables", "list")).out).toBe(out);
    expect(await json("tables")).toMatchObject({
      tables: [
        { name: "accounts", access: "transactional", history: false },
        { name: "carts", access: "mixed" },
        { name: "orders", sortKey: { name: "placedAt", type: "N" }, history: true },
      ],
      historyRetentionMs: 3_600_000,
    });
  });
});

describe("tables of a local stack are changed without --write", () => {
  test("adopt looks through all items, history is switched, a move ends where it is", async () => {
    const adopted = await run("tables", "adopt", "accounts");
    expect([adopted.code, adopted.out]).toEqual([
      0,
      expect.stringMatching(
        /^registered accounts \(id:S\); no reserved names in all its items \(\d+\)\n/,
      ),
    ]);
    const off = await run("tables", "history", "accounts", "off", "--json");
    expect(JSON.parse(off.out)).toMatchObject({ tables: [{ name: "accounts", history: false }] });
    const moved = await run("tables", "mixed", "carts");
    expect([moved.code, moved.out]).toEqual([0, "carts: is mixed\n"]);
    const there = await run("move", "accounts", "--access", "transactional", "--json");
    expect(lines(there.out)).toEqual([
      { name: "accounts", kind: "entered", access: "transactional" },
    ]);
  });

  test.each([
    [["tables", "history", "carts", "on"], /cannot have history and be mixed/],
    [["tables", "history", "carts", "maybe"], /Allowed choices are on, off/],
    [["tables", "adopt", "nowhere"], /table "nowhere" does not exist; create it first/],
    [["tables", "mixed", "nowhere"], /table "nowhere" is not registered/],
  ] as const)("%j is refused", async (args, expected) => {
    const { code, out, err } = await run(...args);
    expect([code, out, err]).toEqual([2, "", expect.stringMatching(expected)]);
  });
});

test("on a terminal status --watch draws in place, and in colours", async () => {
  const around = { styles: colours, isInteractive: true };
  const args = ["status", "--watch", "1s", "--endpoint", small.stack.endpoint];
  const watch = started(args, around);
  await eventually(async () => (watch.out() === "" ? undefined : true));
  watch.stop();
  await watch.ended;
  expect(watch.out()).toMatch(/^\u001b\[H\u001b\[J\u001b\[1mlocal at /);
  expect(watch.out()).toContain("\u001b[32mhealthy\u001b[0m");
});

describe("log", () => {
  test("shows blocks in order, with their verdicts and keys", async () => {
    const { code, out } = await run("log", "--payloads");
    expect(code).toBe(0);
    expect(out).toMatch(
      new RegExp(
        `^1 .*oracle.*\n {2}committed ${ids.stream} {2}by the stream\n` +
          ' {4}put {4}accounts "ann"\n {4}put {4}orders "ann" / 3\n2 .*client',
      ),
    );
    expect(out).toContain(`aborted   ${ids.conflict}  conflict with the commit at 2`);
    expect(out).toContain('delete orders "ann" / 3');
  });

  test("without --payloads it names only the keys that blocks carry", async () => {
    const { out } = await run("log", "--from", "1", "-n", "2");
    expect(out).toContain(`${ids.stream}  by the stream accounts (1), orders (1)\n2`);
    expect(out).toMatch(new RegExp(`${ids.express} {2}express\n {4}put {4}orders "ann" / 3`));
  });

  test("is filtered by table, key and id; items are shown where they are asked for", async () => {
    const byKey = lines((await run("log", "--table", "accounts", "--key", "ann", "--json")).out);
    const idsOf = (blocks: readonly Record<string, unknown>[]) =>
      blocks.flatMap(({ verdicts }) => (verdicts as { id: string }[]).map(({ id }) => id));
    expect(idsOf(byKey)).toEqual([ids.stream, ids.express]);
    const byTable = await run("log", "--table", "orders", "--json", "--items");
    expect(idsOf(lines(byTable.out))).toEqual([ids.stream, ids.express, ids.deleted]);
    expect(lines(byTable.out)[1]).toMatchObject({
      maker: { kind: "client" },
      verdicts: [
        {
          way: "express",
          writes: [
            {
              op: "put",
              table: "orders",
              key: { customer: { S: "ann" }, placedAt: { N: "3" } },
              item: { total: { N: "20" } },
            },
            { table: "accounts" },
          ],
        },
      ],
    });
    const byId = lines((await run("log", "--id", ids.vote, "--json")).out);
    expect(byId.flatMap(({ verdicts }) => verdicts as { kind: string }[])).toMatchObject([
      { kind: "prepared" },
      { kind: "committed", way: "vote" },
    ]);
  });

  test("--follow tells of what is appended, until it is stopped", async () => {
    const log = started(["log", "--follow", "-n", "1", "--endpoint", small.stack.endpoint]);
    await eventually(async () => (log.out() === "" ? undefined : true));
    const id = await committed(small.express, async (tx) => {
      tx.put(accounts, { id: "late", cents: 0 });
    });
    await eventually(async () => (log.out().includes(id) ? true : undefined));
    log.stop();
    expect(await log.ended).toBe(0);
    expect(log.out().split(id)).toHaveLength(2);
  });
});

describe("outcome", () => {
  test.each([
    ["stream", "by the stream"],
    ["express", "express"],
    ["vote", "by vote"],
  ] as const)("of a commit %s: when, how, and what it has written", async (way, text) => {
    const { code, out } = await run("outcome", ids[way]);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^${ids[way]}: committed\n`));
    expect(out).toMatch(new RegExp(`committed at 2.* \\(\\d+\\), ${text}, block \\d+\n {2}put `));
    expect(await json("outcome", ids[way])).toMatchObject({
      outcome: "committed",
      logs: [{ decision: { kind: "committed", way } }],
    });
  });

  test("of a conflict: who won, and what the winner has written", async () => {
    const { code, out } = await run("outcome", ids.conflict, "--items");
    expect(code).toBe(0);
    expect(out).toMatch(/: aborted\n.*\naborted at .*: conflict with the commit at 2.*, block \d+/);
    expect(out).toContain(`the winner was ${ids.express}, block 2`);
    expect(out).toContain('put    accounts "ann" { id: "ann", cents: 2 }');
  });

  test("of an id that nobody decided: not decided, and aborted for good by --write", async () => {
    const { timestamp } = await logEnd(small);
    const id = `${timestamp.toString(16).padStart(14, "0")}${"0".repeat(18)}`;
    const looked = await run("outcome", id);
    expect([looked.code, looked.out]).toEqual([1, expect.stringContaining("not decided")]);
    expect((await run("outcome", id)).code).toBe(1);
    const settled = await run("outcome", id, "--write", "--json");
    expect([settled.code, JSON.parse(settled.out)]).toMatchObject([
      0,
      { outcome: "aborted", logs: [{ decision: { reason: { kind: "probed" } } }] },
    ]);
    expect((await run("outcome", id)).code).toBe(0);
  });

  test("an id of elsewhere, or that is none, is refused", async () => {
    const elsewhere = await run("outcome", `1${"f".repeat(13)}${"0".repeat(18)}`);
    expect([elsewhere.code, elsewhere.err]).toEqual([2, expect.stringMatching(/one write of one/)]);
    const none = await run("outcome", "ann");
    expect([none.code, none.err]).toEqual([2, expect.stringMatching(/32 lower-case hexadecimal/)]);
  });
});

describe("item", () => {
  test("shows its versions over time, with the transactions that wrote them", async () => {
    const { code, out } = await run("item", "orders", "ann", "3");
    expect(code).toBe(0);
    expect(out).toMatch(
      /^orders "ann" \/ 3 {2}shard 0, hash [0-9a-f]{16}\ndeleted at 2.*tombstone/,
    );
    const states = [...out.matchAll(/^2\S+Z +.* s +(\w+) +(\w+) +(\w+) +(.*)$/gm)];
    expect(states.map(([, ...cells]) => cells)).toEqual([
      ["stored", ids.deleted, "express", "deleted"],
      ["kept", ids.express, "express", '{ customer: "ann", placedAt: 3, total: 20 }'],
      ["kept", ids.stream, "stream", '{ customer: "ann", placedAt: 3, total: 10 }'],
    ]);
    expect(await json("item", "orders", '{"customer":"ann","placedAt":3}')).toMatchObject({
      stored: { state: "tombstone" },
      versions: [
        { state: "stored", deleted: true },
        { state: "kept", item: { total: { N: "20" } } },
        { state: "kept", item: { total: { N: "10" } } },
        { version: 0 },
      ],
    });
  });

  test("of one without history the log tells; of one that is not there nothing", async () => {
    const ann = await json("item", "accounts", "ann");
    expect(ann).toMatchObject({
      stored: { state: "item", item: { cents: { N: "2" } } },
      versions: [
        { state: "stored", id: ids.express },
        { state: "logged", id: ids.stream },
      ],
    });
    const { code, out } = await run("item", "accounts", "nobody");
    expect([code, out]).toEqual([0, expect.stringContaining("nothing is stored")]);
  });

  test.each([
    [["item", "nowhere", "x"], /table "nowhere" is not registered; registered are accounts, carts/],
    [
      ["item", "orders", "ann"],
      /has the key customer \(S\) and placedAt \(N\): give <customer> <pl/,
    ],
    [["item", "orders", "ann", "x"], /placedAt is no number/],
    [["item", "orders", "{}"], /customer is missing/],
    [["item", "orders", '{"customer":"a","placedAt":1,"x":2}'], /x is no part of it/],
    [["item", "accounts"], /missing required argument 'key'/],
    [
      ["item", "accounts", "a", "-n", "0"],
      /argument '0' is invalid. Give a whole number from 1 to/,
    ],
  ] as const)("%j is refused", async (args, expected) => {
    const { code, out, err } = await run(...args);
    expect([code, out, err]).toEqual([2, "", expect.stringMatching(expected)]);
  });
});

describe("shards", () => {
  test("shows the map of one", async () => {
    const { code, out } = await run("shards");
    expect(code).toBe(0);
    expect(out).toMatch(/^shard +log .*\n +0 +shardId-000000000000 +0x00000000 +100 % +\d+ +\d+/);
    expect(await json("shards", "list")).toMatchObject({
      health: "fine",
      shards: [{ number: 0, range: { from: 0, to: 2 ** 32 } }],
    });
    const where = await run("shards", "where", "accounts", "ann");
    expect(where.out).toMatch(
      /^accounts "ann" lies in shard 0 \(shardId-000000000000\), as [0-9a-f]/,
    );
  });
});

describe("conflicts", () => {
  test("names the winner's keys, and in text and JSON how often others lost there", async () => {
    const { conflicts, keys } = await json("conflicts", "--since", "1h");
    expect(conflicts).toBe(1);
    const named = (keys as Record<string, unknown>[]).slice(0, 2);
    expect(named).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          ...{ table: "accounts", key: { id: { S: "ann" } } },
          ...{ written: 2, lost: 0, lostPerhaps: 1 },
        }),
        expect.objectContaining({ table: "orders", lostPerhaps: 1 }),
      ]),
    );
    const { code, out } = await run(
      "conflicts",
      "--since",
      "1h",
      "--table",
      "accounts",
      "--rows",
      "1",
    );
    expect(code).toBe(0);
    expect(out).toMatch(
      /^In the last 60 min: \d+ commits, 1 conflict found by oracles, 0 waits\n\n/,
    );
    // A payload in the stream is not read unless asked for, so what it tells is not known.
    expect(out).toMatch(/\naccounts +"ann" +2 +– +1 +\? +– +0\n$/);
  });
});

describe("audit", () => {
  test("finds no fault; with --payloads it knows all keys", async () => {
    await untilInstalled(small);
    const { code, out } = await run("audit");
    expect(code).toBe(0);
    expect(out).toMatch(
      /^looked at \d+ blocks, \d+ commits, [1-9]\d* items?\n1 commit whose keys are/,
    );
    expect(out).toMatch(
      /2 writes to mixed tables: nothing to be said\nno fault\nno dead letters\n$/,
    );
    expect(await json("audit", "--payloads")).toMatchObject({
      unread: 0,
      faults: [],
      deadLetters: [],
    });
    expect(await json("audit", "--items", "0")).toMatchObject({ items: 0 });
  });
});

test("audit tells how far it is where somebody looks, and clears that away", async () => {
  const args = ["audit", "--endpoint", small.stack.endpoint];
  const { err } = await tidemark(args, { showsProgress: true });
  expect(err).toMatch(/^\r0 of \d+ items? read back\r\u001b\[K$/);
  expect((await tidemark(args)).err).toBe("");
});

describe("doctor", () => {
  test("finds all well, and says what it has looked at", async () => {
    const { code, out } = await run("doctor");
    expect(code).toBe(0);
    expect(out).not.toMatch(/BAD|WARN/);
    for (const about of ["versions: tidemark", "endpoint: local at", "clock: within", "stream: "]) {
      expect(out).toContain(`ok   ${about}`);
    }
    expect(out).toContain("all 3 registered ones are there, as registered, and can be read");
    expect(await json("doctor")).toMatchObject({ health: "fine" });
  });

  test("--write tries rights to write, and changes nothing", async () => {
    const before = await json("item", "accounts", "tidemark doctor");
    const { code, out } = await run("doctor", "--write");
    expect(code).toBe(0);
    expect(out).toContain("ok   rights: may append blocks to the log (express commits)");
    expect(out).toContain("ok   rights: may install items of orders");
    expect(await json("item", "accounts", "tidemark doctor")).toEqual(before);
    expect(await small.ports.log.readAt("shardId-000000000000" as never, 1 as never)).toBeDefined();
  });

  test("where nobody answers it says so, with what to do", async () => {
    const { code, out } = await tidemark(["doctor", "--endpoint", "http://127.0.0.1:9"]);
    expect(code).toBe(1);
    expect(out).toMatch(
      /^ BAD {3}endpoint: no stack answers .*\n +→ start one by `tidemark start`/,
    );
  });
});

describe("misuse", () => {
  test.each([
    [["log", "--key", "ann"], /--key is of a table: name it with --table/],
    [["log", "--shard", "7"], /there is no shard 7; there are: 0/],
    [["log", "--id", "x"], /a transaction id is the 32 lower-case/],
    [["log", "--since", "1w"], /Give a span such as 30s, 5m or 2h/],
    [["status", "--window", "0"], /Give a span such as/],
    [["status", "now"], /too many arguments/],
    [["stat"], /unknown command 'stat'.*\n.*Did you mean start/],
    [["outcome"], /missing required argument 'id'/],
    [["tables", "lst"], /too many arguments|unknown command/],
    [["status", "--deployment", "x"], /either a local stack \(--endpoint\) or a deployment/],
  ] as const)("%j ends with 2, and says why", async (args, expected) => {
    const { code, out, err } = await run(...args);
    expect([code, out, err]).toEqual([2, "", expect.stringMatching(expected)]);
  });

  test("an address without http:// ends with 2, and says what it must be", async () => {
    const { code, out, err } = await tidemark(["status", "--endpoint", "localhost:4600"]);
    const expected = /^tidemark: `endpoint` must be an http or https URL as text, such as .*\n$/;
    expect([code, out, err]).toEqual([2, "", expect.stringMatching(expected)]);
  });

  test("where nobody answers it is 1, in text and in JSON", async () => {
    const nowhere = ["--endpoint", "http://127.0.0.1:9"];
    const { code, out, err } = await tidemark(["status", ...nowhere]);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^tidemark: no stack answers at http.*; is it running\?\n$/);
    const inJson = await tidemark(["status", "--json", ...nowhere]);
    expect(JSON.parse(inJson.err)).toMatchObject({ error: { code: "unavailable" } });
  });
});
