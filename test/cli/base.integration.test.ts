/** BASE transactions from the command line: open ones, parked ones, and what lets these go on. */
import { DynamoDBClient, PutItemCommand, type AttributeValue } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineBase, defineTable, type BaseSteps } from "../../sdk/index.ts";
import { openKey } from "../../engine/base/open-list.ts";
import { baseFinding } from "../../inspection/base-checks.ts";
import type { OneBase, SeenBase } from "../../inspection/bases.ts";
import { plainStyles } from "../../cli/shell/styles.ts";
import { oneBaseLines } from "../../cli/views/bases.ts";
import { startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { eventually, tidemark, type Ran } from "./fixtures/command-line.ts";
import { startSmallDeployment, type SmallDeployment } from "./fixtures/small-deployment.ts";

const seats = defineTable<{ readonly order: string }, { id: string }>("seats", { key: "id" });
const partitionKey = { name: "id", type: "S" } as const;

let small: SmallDeployment;

beforeAll(async () => {
  small = await startSmallDeployment({
    tables: [
      { name: "seats", partitionKey, history: true, base: true },
      { name: "plain", partitionKey, history: false },
    ],
  });
}, 60_000);

afterAll(async () => {
  await small.stop();
});

function run(...args: readonly string[]): Promise<Ran> {
  return tidemark([...args, "--endpoint", small.stack.endpoint]);
}

async function json(...args: readonly string[]): Promise<unknown> {
  return JSON.parse((await run(...args, "--json")).out);
}

/** Runs it until it says so: what is committed is installed, and so listed, a moment later. */
function saysSoon(expected: RegExp, ...args: readonly string[]): Promise<Ran> {
  return eventually(async () => {
    const ran = await run(...args);
    return expected.test(ran.out) ? ran : undefined;
  });
}

/** Reserves a seat, and goes on as it is told. */
const orderThat = (goOn: (base: BaseSteps) => Promise<void>) =>
  defineBase("order", async (base, seat: string) => {
    await base.step("reserve", async (tx) => {
      tx.put(seats, { id: seat, order: base.id });
      return Promise.resolve(null);
    });
    await goOn(base);
    return null;
  });
const failing = orderThat(() => Promise.reject(new Error("no such\n  card")));
const ending = orderThat(() => Promise.resolve());
const changed = defineBase("order", async (base, _: string) => {
  await base.step("pay", () => Promise.resolve(null));
  return null;
});

async function runBy(handler: typeof ending): Promise<void> {
  const options = { handlers: [handler], takeOverMs: 100, pollMs: 20 };
  await small.express.baseRunner({ ...options, until: "caught-up" });
}

describe("in the order of what happens", () => {
  test("nothing is open: base, status and doctor say so; tables name who may write", async () => {
    const { code, out } = await run("base");
    expect([code, out]).toEqual([0, "no BASE transaction is open\n"]);
    expect((await run("status")).out).toMatch(/3 tables, 1 shard, a stream, 0 BASE transactions o/);
    const doctor = (await run("doctor")).out;
    expect(doctor).toMatch(/ok {3}BASE: no BASE transaction is open/);
    // Its store has no TTL, and nobody here has Terraform.
    expect(doctor).not.toContain("terraform apply");
    const tables = (await run("tables")).out;
    expect(tables).toMatch(/^seats +id:S +transactions, BASE transactions +60 min/m);
    expect(tables).toMatch(/^tidemark-local-base +pk:S,sk:S +Tidemark alone +60 min/m);
    expect(await json("tables")).toMatchObject({
      tables: [{ name: "plain" }, { name: "seats", baseSince: 0 }, { name: "tidemark-local-base" }],
    });
  });

  test("one that goes on is listed with its failure, and is well", async () => {
    await small.express.base(failing, "A1", { id: "o 1" });
    const { code, out } = await saysSoon(/no such/, "base");
    expect(code).toBe(0);
    expect(out.split("\n").slice(0, 2)).toEqual([
      expect.stringMatching(
        /^name +id +version +since +steps +heard of +phase +failures +last failure$/,
      ),
      expect.stringMatching(
        /^order +o 1 +1 +2\S+Z +1 +\d.* s +(goes on|is tried .*) +1 +Error: no such card$/,
      ),
    ]);
    expect((await run("base", "order")).out).toContain("o 1");
    expect((await run("base", "refund")).out).toBe('no BASE transaction of "refund" is open\n');
    const status = await run("status");
    expect([status.code, status.out]).toEqual([
      0,
      expect.stringMatching(
        /1 BASE transaction open\n[^]*ok {3}BASE: 1 BASE transaction open, the/,
      ),
    ]);
  });

  test("keys of its records are not among those that are fought over", async () => {
    const { keys } = (await json("conflicts")) as { keys: readonly { table: string }[] };
    expect(new Set(keys.map(({ table }) => table))).toEqual(new Set(["seats"]));
    const own = (await json("conflicts", "--table", "tidemark-local-base")) as typeof keys;
    expect(own).not.toMatchObject({ keys: [] });
  });

  test("one that is parked is an illness everywhere, and says what to do", async () => {
    await runBy(changed);
    const { code, out } = await run("base");
    expect(code).toBe(1);
    expect(out).toMatch(
      / parked +2 +HandlerChangedError: step 1 .*…\n\n→ .*base resume order 'o 1'` l/,
    );
    const shown = await json("base");
    expect(shown).toMatchObject({ open: 1, parked: 1, bases: [{ name: "order", id: "o 1" }] });
    const status = await run("status");
    expect([status.code, status.out]).toEqual([
      1,
      expect.stringMatching(/1 BASE transaction open \(1 parked\)\n/),
    ]);
    expect((await run("status", "--minimal")).out).toContain("1 BASE transaction open (1 parked)");
    expect(await json("status")).toMatchObject({ bases: { open: 1, parked: 1 } });
    const doctor = await run("doctor");
    expect([doctor.code, doctor.out]).toEqual([
      1,
      expect.stringMatching(/BAD {3}BASE: .* 1 parked: order o 1\n +→ `tidemark base` shows/),
    ]);
  });

  test("one is shown with its steps", async () => {
    const { code, out } = await run("base", "order", "o 1");
    expect(code).toBe(1);
    expect(out).toMatch(
      /^order o 1: parked\nversion 1, since 2\S+Z \(.*\), 1 step, last heard of /,
    );
    expect(out).toMatch(
      /\nfailed 2 times since 2\S+Z, last: HandlerChangedError: step 1 .*uuid.*\n {2}1 reserve, /,
    );
    expect(await json("base", "show", "order", "o 1")).toMatchObject({
      ...{ name: "order", id: "o 1", version: 1, phase: "parked", steps: 1, failures: 2 },
      done: [{ number: 1, name: "reserve" }],
    });
  });

  test("resumed it goes on with the next runner, and is over then", async () => {
    const resumed = await run("base", "resume", "order", "o 1");
    expect([resumed.code, resumed.out]).toEqual([0, "order o 1 goes on with the next runner\n"]);
    const again = await json("base", "resume", "order", "o 1");
    expect(again).toEqual({ name: "order", id: "o 1", isResumed: false });
    await eventually(async () => ((await run("base")).code === 0 ? true : undefined));
    expect((await run("base")).out).toMatch(/ – +nobody is at it +0/);
    await runBy(ending);
    await saysSoon(/^no BASE transaction is open\n$/, "base");
    const { code, out } = await run("base", "order", "o 1");
    expect([code, out]).toEqual([0, expect.stringMatching(/^order o 1: over: all see what it /)]);
    expect((await run("status")).code).toBe(0);
  });

  test.each([
    [["base", "order", "o 2"], /there is no BASE transaction order\/o 2: it has not begun, or/],
    [["base", "resume", "order", "o 2"], /there is no BASE transaction order\/o 2/],
    [["base", "resume", "order"], /name one by its handler's name and its id, or add --all/],
    [["base", "resume"], /name one by its handler's name and its id, or add --all/],
    [["base", "resume", "order", "o 2", "--all"], /either one by its id, or all of them/],
    [
      ["base", "canel"],
      /no BASE transaction of "canel" is open; did you mean `tidemark base cancel`/,
    ],
    [["base", "canel", "o 2"], /no BASE transaction canel.* did you mean `tidemark base cancel`/],
    [["base", "cancel", "order", "o 2"], /there is no BASE transaction order\/o 2/],
    [["base", "cancel", "order"], /missing required argument 'id'/],
    [["register", "seats", "--access", "mixed"], /`tidemark move|is registered as transactional/],
  ] as const)("%j is refused", async (args, expected) => {
    const { code, out, err } = await run(...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(expected);
  });

  test("register --base on a table in use says from when on", async () => {
    const { code, out } = await run("register", "plain", "--base");
    expect(code).toBe(0);
    expect(out).toMatch(/^registered plain \(id:S, for BASE transactions from 2\S+Z\)/);
    const fine = await run("register", "plain");
    expect(fine.out).toMatch(/for BASE transactions from 2/);
  });
});

test("where no table takes them, it says how one is brought to", async () => {
  const bare = await startEmbeddedStack({ tablesOnly: true, sampleTables: false });
  const { code, err } = await tidemark(["base", "resume", "--all", "--endpoint", bare.endpoint]);
  await bare.stop();
  expect(code).toBe(2);
  expect(err).toMatch(/no table for BASE .*: register .*`npx tidemark register <name> --base`/);
});

describe("letting all go on", () => {
  const parking = defineBase("order", { parkAfterMs: 100 }, async (base, _: string) => {
    await base.step("pay", () => Promise.resolve(null));
    throw new Error("no such card");
  });
  const other = { ...parking, name: "bill" };

  test("that are parked, of a handler, or of any; others are left alone", async () => {
    expect(await json("base", "resume", "--all")).toEqual({
      ...{ resumed: [], failed: [], isMore: false },
    });
    expect((await run("base", "resume", "order", "--all")).out).toBe(
      'no BASE transaction of "order" is parked; nothing is changed\n',
    );
    for (const id of ["p 1", "p 2"]) await small.express.requestBase(parking, "P", { id });
    await small.express.requestBase(other, "P", { id: "p 3" });
    await runBy(parking);
    await runBy(other);
    await small.express.requestBase(parking, "P", { id: "waits" });
    const { code, out } = await saysSoon(/parked[^]*parked[^]*parked/, "base");
    expect(code).toBe(1);
    expect(out).toContain("`tidemark base resume --all` lets all go on that are parked");
    expect(await json("base", "resume", "bill", "--all")).toEqual({
      ...{ resumed: [{ name: "bill", id: "p 3" }], failed: [], isMore: false },
    });
    const all = await run("base", "resume", "--all");
    expect([all.code, all.out]).toEqual([
      0,
      "2 BASE transactions go on with the next runner:\n  order p 1\n  order p 2\n",
    ]);
    expect(await json("base", "order", "waits")).toMatchObject({ phase: "requested" });
    await runBy(changed);
    await runBy({ ...changed, name: "bill" });
    await saysSoon(/^no BASE transaction is open\n$/, "base");
  });
});

describe("taking back", () => {
  test("what was asked for and has not begun never happens", async () => {
    await small.express.requestBase(ending, "C1", { id: "c 1" });
    await saysSoon(/waits for a runner to begin it/, "base", "order", "c 1");
    const { code, out } = await run("base", "cancel", "order", "c 1");
    const said = "order c 1 is cancelled: nothing of it has happened, and nothing will\n";
    expect([code, out]).toEqual([0, said]);
    const again = await json("base", "cancel", "order", "c 1");
    expect(again).toMatchObject({ id: "c 1", isCancelled: true, phase: "cancelled", steps: 0 });
    await runBy(ending);
    const row = await small.express.snapshot((snapshot) => snapshot.get(seats, "C1"));
    expect(row).toBeUndefined();
  });

  test("an item says which open ones hold it, and at which step", async () => {
    let goOn = (): void => undefined;
    const waited = new Promise<void>((resolve) => (goOn = resolve));
    const waiting = orderThat(() => waited);
    const looking = defineBase("look", async (base, seat: string) => {
      await base.step("peek", async (tx) => (await tx.get(seats, seat))?.order ?? null);
      await waited;
      return null;
    });
    const first = await small.express.base(looking, "H", { id: "h 1" });
    const second = await small.express.base(waiting, "H", { id: "h 2" });
    const { code, out } = await saysSoon(/h 1[^]*"peek"|"peek"[^]*h 2/, "item", "seats", "H");
    expect(code).toBe(0);
    expect(out).toMatch(
      /\nheld by BASE transaction order h 2, which has written it: running, step 1 "reserve" made/,
    );
    expect(out).toMatch(
      /\nheld by BASE transaction look h 1, which has read it: running, step 1 "peek" made, since/,
    );
    expect(await json("item", "seats", "H")).toMatchObject({
      heldBy: [
        { name: "order", id: "h 2", does: "wrote", phase: "running", step: { number: 1 } },
        { name: "look", id: "h 1", does: "read", step: { number: 1, name: "peek" } },
      ],
    });
    expect(await json("item", "seats", "free")).toMatchObject({ heldBy: [] });
    expect(await json("item", "plain", "H")).toMatchObject({ heldBy: [] });
    goOn();
    await Promise.all([first.accepted.result(), second.accepted.result()]);
    await eventually(async () => {
      const { heldBy } = (await json("item", "seats", "H")) as { heldBy: unknown[] };
      return heldBy.length === 0 ? true : undefined;
    });
    expect((await run("item", "seats", "H")).out).not.toContain("held by");
  });

  test("what has begun goes on to its end, and says so with 1", async () => {
    let goOn = (): void => undefined;
    const waiting = orderThat(() => new Promise((resolve) => (goOn = resolve)));
    const { accepted } = await small.express.base(waiting, "C2", { id: "c 2" });
    const begun = await run("base", "cancel", "order", "c 2");
    const said = "order c 2 has begun, with 1 step, and goes on to its end\n";
    expect([begun.code, begun.out]).toEqual([1, said]);
    goOn();
    await accepted.result();
    const over = await run("base", "cancel", "order", "c 2", "--json");
    expect([over.code, JSON.parse(over.out)]).toMatchObject([1, { isCancelled: false, steps: 1 }]);
    expect((await run("base", "cancel", "order", "c 2")).out).toMatch(/is over, with 1 step; noth/);
  });
});

test("one that is parked before its first step may be ended, too", () => {
  const parked: OneBase = {
    ...{ name: "order", id: "a b", version: 1, steps: 0, phase: "parked", startedMs: 0 },
    ...{
      lastMs: 0,
      failures: 10,
      failure: "Error: x",
      dependsOn: [],
      done: [],
      refusal: undefined,
    },
  };
  const advice = (base: OneBase) => oneBaseLines(base, 1_000, plainStyles).at(-1);
  expect(advice(parked)).toMatch(/resume order 'a b'` .*: `tidemark base cancel order 'a b'` ends/);
  expect(advice({ ...parked, steps: 1 })).not.toContain("cancel");
});

test("what is not to be seen is not known; the oldest counts", () => {
  const now = 1_000_000;
  const one: SeenBase = {
    ...{ name: "order", id: "a", version: 1, steps: 1, phase: "running", startedMs: now - 60_000 },
    ...{ lastMs: now, failures: 0, failure: undefined, dependsOn: [] },
  };
  expect(baseFinding("denied", now)).toMatchObject({ level: "unknown" });
  expect(baseFinding({ bases: [one, { ...one, startedMs: now }], all: 2 }, now)).toEqual({
    ...{ level: "fine", about: "BASE" },
    text: "2 BASE transactions open, the oldest for 60 s",
  });
  const left: SeenBase = { ...one, id: "b", lastMs: now - 61_000 };
  const asked: SeenBase = {
    ...one,
    id: "c",
    phase: "requested",
    startedMs: now - 61_000,
    lastMs: 0,
  };
  expect(baseFinding({ bases: [one, left, asked], all: 3 }, now)).toMatchObject({
    level: "warning",
    text: "3 BASE transactions open, the oldest for 60 s; nobody is at 2: order b, and others",
    remedy: expect.stringMatching(/^look whether a runner with its handler/) as string,
  });
  const parked = ["b", "c"].map((id): SeenBase => ({ ...one, id, phase: "parked" }));
  expect(baseFinding({ bases: [one, ...parked], all: 9_000 }, now)).toMatchObject({
    level: "bad",
    text: expect.stringMatching(/^9000 .* 60 s; 2 at least parked: order b, and others$/) as string,
  });
});

describe("rows that nothing of Tidemark has written", () => {
  let dynamodb: DynamoDBClient;
  const entry = { name: { S: "order" }, version: { N: "1" } };

  function plant(pk: string, sk: string, item: Record<string, AttributeValue>): Promise<unknown> {
    const Item = { pk: { S: pk }, sk: { S: sk }, ...item };
    return dynamodb.send(new PutItemCommand({ TableName: "tidemark-local-base", Item }));
  }

  beforeAll(async () => {
    dynamodb = new DynamoDBClient({
      ...{ endpoint: small.stack.endpoints.dynamodb, region: small.stack.region },
      credentials: { accessKeyId: "local", secretAccessKey: "local" },
    });
    await small.express.requestBase(ending, "D1", { id: "d 1" });
    await small.express.requestBase(ending, "D2", { id: "entry" });
    await saysSoon(/^order +entry /m, "base");
    const list = openKey("order/entry")["pk"] as AttributeValue.SMember;
    await plant(list.S, "order/entry", { ...entry, requestedMs: { N: "1" }, _v: { S: "x" } });
    await plant("open#0", "order/head", { ...entry, requestedMs: { N: "1" } });
    await plant("base#order/head", "-", { name: { N: "1" } });
  });

  afterAll(() => {
    dynamodb.destroy();
  });

  test("are told of by their keys in the list, and hide nothing else", async () => {
    const { code, out } = await run("base");
    expect(code).toBe(1);
    expect(out).toMatch(/^order +entry +0 +– .* damaged: nobody can go on with it .*_v/m);
    expect(out).toMatch(/^order +head .* damaged: .*base#order\/head, -/m);
    expect(out).toMatch(/^order +d 1 .* waits for a runner to begin it /m);
    // The failure is cut in the list; of one all is said.
    expect(out).toMatch(/^→ order (?:entry|head): an item.*(?:release|attribute)/m);
    const shown = (await json("base")) as { readonly bases: readonly object[] };
    expect(shown).toMatchObject({ open: 3, damaged: 2, parked: 0 });
    expect(shown.bases).toContainEqual(expect.objectContaining({ id: "d 1", phase: "requested" }));
    const damaged = shown.bases.filter((base) => "phase" in base && base.phase === "damaged");
    expect(damaged).toHaveLength(2);
    for (const base of damaged) expect(base).not.toHaveProperty("since");
  });

  test.each([
    ["entry", /^order entry: damaged.*\n→ .*\{"pk":\{"S":"open#.*"sk":\{"S":"order\/entry"\}/],
    ["head", /^order head: damaged: nobody can go on with it\n→ .*\(base#order\/head, -\)/],
  ])("are told of by their keys where one is shown: %s", async (id, expected) => {
    const { code, out } = await run("base", "order", id);
    expect([code, out]).toEqual([1, expect.stringMatching(expected)]);
    expect(await json("base", "order", id)).toMatchObject({ id, phase: "damaged", done: [] });
  });

  test("are an illness for status and doctor, which count and name them", async () => {
    const status = await run("status");
    expect([status.code, status.out]).toEqual([
      1,
      expect.stringMatching(/3 BASE transactions open \(2 damaged\)\n/),
    ]);
    expect(await json("status")).toMatchObject({ bases: { open: 3, parked: 0, damaged: 2 } });
    const doctor = await run("doctor");
    expect(doctor.code).toBe(1);
    expect(doctor.out).toMatch(/BAD {3}BASE: 2 damaged BASE transactions: order\/(?:entry|head): /);
  });
});
