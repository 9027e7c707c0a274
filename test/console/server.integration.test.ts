/** What the console's server answers, over a deployment of one shard on real protocol servers. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type {
  About,
  Contended,
  DiffPage,
  ItemPage,
  LogPage,
  RowsPage,
  Story,
} from "../../console/wire.ts";
import * as limits from "../../console/limits.ts";
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
} from "../cli/fixtures/small-deployment.ts";
import { servedConsole, watched, type ServedConsole } from "./fixtures/served-console.ts";

let small: SmallDeployment;
let served: ServedConsole;
const ids = { stream: "", express: "", conflict: "", vote: "", deleted: "" };
/** When the order had its first total. */
let firstMoment = 0;

beforeAll(async () => {
  small = await startSmallDeployment();
  served = await servedConsole({ endpoint: small.stack.endpoint });
  const { byStream, express } = small;
  ids.stream = await committed(byStream, async (tx) => {
    const ann = await tx.get(accounts, "ann");
    tx.put(accounts, { id: "ann", cents: (ann?.cents ?? 0) + 1 });
    tx.put(orders, { customer: "ann", placedAt: 3, total: 10 });
    tx.put(orders, { customer: "bob", placedAt: 1, total: 1 });
  });
  const before = await logEnd(small);
  firstMoment = before.timestamp;
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
    tx.delete(orders, { customer: "bob", placedAt: 1 });
    tx.put(orders, { customer: "cid", placedAt: 2, total: 7 });
  });
  // A page without a moment shows the newest that is vouched for.
  await untilInstalled(small);
}, 60_000);

afterAll(async () => {
  await served.close();
  await small.stop();
  expect(served.defects).toEqual([]);
});

const table = (name: string, rest: string): string => `/api/tables/${name}/${rest}`;
const key = (value: object): string => `key=${encodeURIComponent(JSON.stringify(value))}`;

test("tells what it looks at, and that no faults can be made there", async () => {
  const about = await served.get<About>("/api/about");
  expect(about).toMatchObject({
    ...{ deployment: "local", shards: 1, streamless: false, canBreak: false },
    tables: [
      { name: "accounts", access: "transactional", history: false },
      { name: "carts", access: "mixed" },
      { name: "orders", sortKey: { name: "placedAt", type: "N" }, history: true },
    ],
  });
  const { status, body } = await served.order({ act: "throttle", percent: 10 });
  expect([status, body]).toMatchObject([400, { error: { field: "faults" } }]);
});

describe("the page", () => {
  test("comes as one file, which asks nobody else and runs only what stands in it", async () => {
    const response = await fetch(`${served.origin}/`);
    const html = await response.text();
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(html).not.toMatch(/<(?:script|link|img|iframe)[^>]*(?:src|href)="(?!data:)/);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(html).not.toContain(served.token);
  });

  test.each([
    ["another host", { host: "evil.example" }, 421],
    ["another origin", { origin: "http://evil.example" }, 403],
    ["another site's image", { "sec-fetch-site": "cross-site" }, 403],
  ])("and all of its answers are refused to %s", async (_what, headers, status) => {
    for (const path of ["/", "/api/about", "/api/events"]) {
      expect(await served.raw(path, headers)).toBe(status);
    }
  });

  test("an order without the token is refused, and one that is too long", async () => {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: "{}" };
    expect((await served.asked("/api/faults", init)).status).toBe(401);
    const long = await fetch(`${served.origin}/api/faults`, {
      method: "POST",
      headers: { ...headers, authorization: `Bearer ${served.token}` },
      body: JSON.stringify("x".repeat(limits.orderBytesMax)),
    });
    expect(long.status).toBe(413);
  });
});

describe("the live stream", () => {
  test("begins with all that is known, and goes on with what is committed", async () => {
    const stream = await watched(served);
    const [first] = await stream.until(({ kind }) => kind === "start");
    expect(first?.event.kind).toBe("start");
    await stream.until(({ kind }) => kind === "state");
    const id = await committed(small.express, async (tx) => {
      tx.put(accounts, { id: "live", cents: 1 });
    });
    const seen = await stream.until(
      (event) =>
        event.kind === "blocks" &&
        event.blocks.some(({ verdicts }) => verdicts.some((verdict) => verdict.id === id)),
    );
    const verdicts = seen.flatMap(({ event }) =>
      event.kind === "blocks" ? event.blocks.flatMap((block) => block.verdicts) : [],
    );
    expect(verdicts.find((verdict) => verdict.id === id)).toMatchObject({
      ...{ kind: "committed", way: "express", tables: [{ name: "accounts", writes: 1 }] },
      writes: [{ op: "put", table: "accounts", key: { id: { S: "live" } } }],
    });
    const counted = await stream.until(
      (event) => event.kind === "seconds" && event.seconds.some(({ express }) => express > 0),
    );
    expect(counted.at(-1)?.event.kind).toBe("seconds");
  });

  test("tells of a consumer of changes that fails, as `tidemark status` does", async () => {
    const wish = {
      name: "index",
      first: "oldest",
      until: "caught-up",
      tables: [accounts],
    } as const;
    const failure = new Error("no index today");
    const failing = small.express.consume(wish, () => Promise.reject(failure));
    await expect(failing).rejects.toBe(failure);
    const stream = await watched(served);
    const isTold = ({ about, text }: { readonly about: string; readonly text: string }): boolean =>
      about === "feeds" && text.includes("index has failed 1 time");
    const seen = await stream.until(
      (event) => event.kind === "state" && event.state.findings.some(isTold),
    );
    expect(seen.at(-1)?.event).toMatchObject({ kind: "state" });
    stream.leave();
  });

  test("is taken up again behind the event that was seen last", async () => {
    const stream = await watched(served);
    await stream.until(({ kind }) => kind === "state");
    const some = await stream.until(({ kind }) => kind === "seconds");
    const last = some.at(-1)?.id ?? "";
    const missed = (await stream.until(({ kind }) => kind === "seconds")).at(-1);
    stream.leave();
    const again = await watched(served, last);
    const seen = await again.until(() => true);
    expect(seen[0]?.event.kind).not.toBe("start");
    const numberOf = (id: string | undefined) => Number(id?.split("-")[1]);
    expect(numberOf(seen[0]?.id)).toBe(numberOf(last) + 1);
    expect(numberOf(missed?.id)).toBeGreaterThan(numberOf(last));
  });

  test.each(["of-another-run-3", "nonsense"])("begins anew for %s", async (last) => {
    const stream = await watched(served, last);
    const [first] = await stream.until(() => true);
    expect(first?.event.kind).toBe("start");
  });

  test("takes as many watchers as it says, and one more when one has left", async () => {
    const all = [];
    for (let at = 0; at < limits.watchersMax; at += 1) {
      const stream = await watched(served);
      await stream.until(() => true);
      all.push(stream);
    }
    expect((await served.asked("/api/events")).status).toBe(503);
    for (const stream of all) stream.leave();
    for (;;) {
      const response = await fetch(`${served.origin}/api/events`);
      onTestFinished(() => response.body?.cancel());
      if (response.status === 200) break;
      await response.body?.cancel();
    }
  });
});

describe("a transaction", () => {
  const story = (id: string): Promise<Story> => served.get(`/api/transactions/${id}`);

  test("by the stream: begun, what it read, committed, installed, with its keys", async () => {
    const { standing, steps } = await story(ids.stream);
    expect(standing).toBe("committed");
    expect(steps.map(({ kind, from }) => `${kind} ${from}`)).toEqual([
      "attempt id",
      "read stream",
      "decide log",
      "install tables",
    ]);
    const [, read, decide, install] = steps;
    expect(read).toMatchObject({
      text: "read and checked: 1 of what it writes",
      keys: [{ table: "accounts", key: { id: { S: "ann" } } }],
    });
    expect(decide).toMatchObject({ text: "committed, by the stream", place: { shard: 0 } });
    const states = install?.keys?.map(({ table: name, state }) => `${name} ${state ?? ""}`);
    expect(states?.sort()).toEqual([
      "accounts superseded",
      "orders superseded",
      "orders superseded",
    ]);
  });

  test("express: its own block does not list what it read, and that is said", async () => {
    const { steps } = await story(ids.express);
    expect(steps.find(({ kind }) => kind === "read")).toMatchObject({ level: "unknown" });
    expect(steps.find(({ kind }) => kind === "install")?.keys).toContainEqual(
      expect.objectContaining({ table: "orders", op: "put", state: "installed" }),
    );
  });

  test("aborted for a conflict: who has won, with a link and its keys", async () => {
    const { standing, steps } = await story(ids.conflict);
    expect(standing).toBe("aborted");
    const winner = steps.find(({ other }) => other !== undefined);
    expect(winner).toMatchObject({ other: ids.express });
    expect(winner?.keys).toContainEqual(
      expect.objectContaining({ table: "accounts", key: { id: { S: "ann" } } }),
    );
  });

  test("of a mixed table: prepared, then committed by its vote", async () => {
    const { steps } = await story(ids.vote);
    const kinds = steps.map(({ kind }) => kind);
    expect(kinds.indexOf("prepare")).toBeLessThan(kinds.indexOf("decide"));
    expect(steps.find(({ kind }) => kind === "decide")?.text).toBe("committed, by vote");
  });

  test.each(["zz", "06614B6CD9F200D60A5A694CCA2666FA", "../about"])("%j is no id", async (id) => {
    const { status } = await served.asked(`/api/transactions/${encodeURIComponent(id)}`);
    expect(status).toBe(400);
  });
});

describe("conflicts", () => {
  test("stand with their key, who has won and who has lost", async () => {
    const found = await served.get<Contended>("/api/conflicts?window=3600000");
    expect(found).toMatchObject({ conflicts: 1, untold: 0, traffic: [] });
    expect(found.keys[0]).toMatchObject({
      lostPerhaps: 1,
      duels: [{ winner: ids.express, loser: ids.conflict }],
    });
    const named = found.keys.map((each) => each.table);
    expect(named).toEqual(expect.arrayContaining(["accounts", "orders"]));
  });

  test("of one table alone; an unknown one is refused, and a window that is too long", async () => {
    const found = await served.get<Contended>("/api/conflicts?window=3600000&table=orders");
    expect(new Set(found.keys.map((each) => each.table))).toEqual(new Set(["orders"]));
    const unknown = await served.asked("/api/conflicts?window=1000&table=nope");
    expect(unknown).toMatchObject({ status: 400, body: { error: { field: "table" } } });
    const long = await served.asked("/api/conflicts?window=3600001");
    expect(long).toMatchObject({ status: 400, body: { error: { field: "window" } } });
  });
});

describe("a table", () => {
  const items = (page: RowsPage): readonly object[] => page.rows.map(({ item }) => item);
  const ann = (total: string) => ({
    customer: { S: "ann" },
    placedAt: { N: "3" },
    total: { N: total },
  });
  const bob = { customer: { S: "bob" }, placedAt: { N: "1" }, total: { N: "1" } };

  test("shows what it was at a moment: what was changed, deleted and added since", async () => {
    const then = await served.get<RowsPage>(table("orders", `rows?at=${firstMoment}`));
    expect(then.at).toBe(firstMoment);
    expect(items(then)).toHaveLength(2);
    expect(items(then)).toEqual(expect.arrayContaining([ann("10"), bob]));
    const now = await served.get<RowsPage>(table("orders", "rows"));
    expect(now.at).toBeGreaterThan(firstMoment);
    expect(items(now)).toContainEqual(ann("20"));
    expect(items(now)).not.toContainEqual(bob);
  });

  test("comes in pages that are bounded, each going on where the one before ended", async () => {
    const first = await served.get<RowsPage>(table("orders", "rows?limit=1"));
    expect(first.rows.length).toBeLessThanOrEqual(1);
    expect(first.cursor).toBeDefined();
    let cursor = first.cursor;
    const all = [...items(first)];
    while (cursor !== undefined) {
      const page = await served.get<RowsPage>(table("orders", `rows?limit=1&cursor=${cursor}`));
      all.push(...items(page));
      cursor = page.cursor;
    }
    expect(all).toHaveLength(2);
    for (const wrong of [`limit=${limits.rowsMax + 1}`, "limit=0", "cursor=x", "at=then"]) {
      const { status } = await served.asked(table("orders", `rows?${wrong}`));
      expect([wrong, status]).toEqual([wrong, 400]);
    }
    const elsewhere = await served.asked(table("accounts", `rows?cursor=${first.cursor ?? ""}`));
    expect(elsewhere.status).toBe(400);
  });

  test("of one partition alone", async () => {
    const page = await served.get<RowsPage>(table("orders", "rows?partition=ann"));
    expect(items(page)).toEqual([ann("20")]);
  });

  test("differs between two moments by what was changed, removed and added", async () => {
    const diff = await served.get<DiffPage>(table("orders", `diff?from=${firstMoment}`));
    const rows = [...diff.rows].sort((a, b) => (a.change < b.change ? -1 : 1));
    expect(rows).toMatchObject([
      { change: "added", key: { customer: { S: "cid" } }, after: { total: { N: "7" } } },
      { change: "changed", before: { total: { N: "10" } }, after: { total: { N: "20" } } },
      { change: "removed", key: { customer: { S: "bob" } }, before: bob },
    ]);
    expect(diff.cursor).toBeUndefined();
    const same = `diff?from=${firstMoment}&to=${firstMoment}`;
    expect((await served.get<DiffPage>(table("orders", same))).rows).toEqual([]);
    const backwards = await served.asked(table("orders", `diff?from=${diff.to}&to=${firstMoment}`));
    expect(backwards).toMatchObject({ status: 400, body: { error: { field: "from" } } });
  });

  test("says why a moment cannot be shown", async () => {
    const gone = await served.asked(table("orders", "rows?at=1000000"));
    expect(gone).toMatchObject({ status: 409, body: { error: { code: "snapshot-too-old" } } });
    const mixed = await served.asked(table("carts", `rows?at=${firstMoment}`));
    expect(mixed).toMatchObject({ status: 400, body: { error: { field: "asOf" } } });
    const future = await served.asked(table("orders", `rows?at=${Number.MAX_SAFE_INTEGER}`));
    expect(future.status).toBe(400);
    const unknown = await served.asked(table("nope", "rows"));
    expect(unknown).toMatchObject({ status: 400, body: { error: { field: "table" } } });
  });

  test("that is mixed shows as it is now", async () => {
    const page = await served.get<RowsPage>(table("carts", "rows"));
    expect(items(page)).toHaveLength(2);
  });
});

describe("an item", () => {
  test("has its versions, each with the transaction that made it", async () => {
    const wanted = key({ customer: { S: "ann" }, placedAt: { N: "3" } });
    const item = await served.get<ItemPage>(table("orders", `item?${wanted}`));
    expect(item).toMatchObject({ stored: "item", shard: 0, item: { total: { N: "20" } } });
    expect(item.versions).toMatchObject([
      { state: "stored", id: ids.express, way: "express", item: { total: { N: "20" } } },
      { state: "kept", id: ids.stream, way: "stream", item: { total: { N: "10" } } },
      // Before it there was nothing, which history keeps, too.
      { state: "kept", version: 0, item: null },
    ]);
  });

  test("that was deleted has a version that says so", async () => {
    const wanted = key({ customer: { S: "bob" }, placedAt: { N: "1" } });
    const item = await served.get<ItemPage>(table("orders", `item?${wanted}`));
    expect(item.stored).toBe("tombstone");
    expect(item.versions[0]).toMatchObject({ id: ids.deleted, state: "stored", item: null });
  });

  test.each(["key=ann", "key=%7B%7D", "", "key="])(
    "with %j for a key is refused",
    async (wrong) => {
      const { status } = await served.asked(table("orders", `item?${wrong}`));
      expect(status).toBe(400);
    },
  );
});

describe("the log", () => {
  test("goes back page by page, newest first", async () => {
    const newest = await served.get<LogPage>("/api/log?shard=0");
    const positions = newest.blocks.map(({ position }) => position);
    expect(positions).toEqual([...positions].sort((a, b) => b - a));
    expect(positions.at(-1)).toBe(1);
    expect(newest.before).toBeUndefined();
    const older = await served.get<LogPage>("/api/log?shard=0&before=3");
    expect(older.blocks.map(({ position }) => position)).toEqual([2, 1]);
    expect((await served.get<LogPage>("/api/log?shard=0&before=1")).blocks).toEqual([]);
  });

  test("of a shard that there is not is refused", async () => {
    const { status } = await served.asked("/api/log?shard=7");
    expect(status).toBe(400);
  });
});

test("what is asked for in vain is answered in JSON, and tells nothing of the server", async () => {
  const { status, body } = await served.asked("/nowhere");
  expect([status, body]).toEqual([
    404,
    { error: { code: "not-found", message: "there is nothing here" } },
  ]);
});

test("a port that is taken is told, with the option that chooses another", async () => {
  const { serveConsole } = await import("../../console/server/serve.ts");
  const { systemClock } = await import("../../aws/system.ts");
  const again = serveConsole({
    where: { endpoint: small.stack.endpoint },
    ...{ clock: systemClock, version: "0.0.0" },
    ...{ port: served.port, mayMove: false, option: "--console-port" },
    report: () => undefined,
  });
  await expect(again).rejects.toThrow(/is in use, .* --console-port/);
});
