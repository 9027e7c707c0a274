/** Consumers of changes in the console: what its server answers, and the page in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FeedLine, FeedsPage } from "../../../console/wire.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../../../localstack/embedded-stack.ts";
import {
  createClient,
  defineTable,
  type ChangeHandler,
  type Client,
  type ConsumeOptions,
} from "../../../sdk/index.ts";
import { eventually, tidemark } from "../../cli/fixtures/command-line.ts";
import { servedConsole, type ServedConsole } from "../fixtures/served-console.ts";
import { inBrowser, openBrowser } from "./browser.ts";
import { expectNarrow, shot } from "./looks.ts";

const browser = await openBrowser();
const hostile = '<img src=x onerror="document.title=1">';
const rows = defineTable<{ readonly n: number }, { id: string }>("rows", { key: "id" });

let stack: EmbeddedStack;
let db: Client;
let served: ServedConsole;
const stop = new AbortController();
let watching: Promise<void>;

const fine: ChangeHandler = () => Promise.resolve();

function catchUp(name: string, handle: ChangeHandler = fine): Promise<void> {
  const wish: ConsumeOptions = { name, first: "oldest", tables: [rows], until: "caught-up" };
  return db.consume(wish, handle);
}

beforeAll(async () => {
  const partitionKey = { name: "id", type: "S" } as const;
  stack = await startEmbeddedStack({
    ...{ sampleTables: false, shards: 2 },
    tables: [{ name: "rows", partitionKey, history: false }],
  });
  db = createClient({ endpoint: stack.endpoint });
  served = await servedConsole({ endpoint: stack.endpoint });
}, 90_000);

afterAll(async () => {
  if ("browser" in browser) await browser.browser.close();
  stop.abort();
  await watching;
  await served.close();
  await db.close();
  await stack.stop();
  expect(served.defects).toEqual([]);
}, 60_000);

async function put(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    await db.transact(async (tx) => tx.put(rows, { id: `row ${n}`, n }));
  }
}

const feedsCommand = (...words: readonly string[]) =>
  tidemark(["feeds", ...words, "--endpoint", stack.endpoint]);

describe("the server", { timeout: 60_000 }, () => {
  test("says that there is none", async () => {
    expect(await served.get<FeedsPage>("/api/feeds")).toMatchObject({
      ...{ isDenied: false, isCut: false, feeds: [], removed: [] },
    });
  });

  test("lists what ails first, each shard's lag, and what was moved or removed", async () => {
    await put(4);
    for (const name of ["calm", "behind", "gone", "moved"]) await catchUp(name);
    const failing = (): Promise<void> =>
      catchUp("failing", () => Promise.reject(new Error(hostile)));
    await expect(failing()).rejects.toThrow(hostile);
    await expect(failing()).rejects.toThrow(hostile);
    expect((await feedsCommand("remove", "gone")).code).toBe(0);
    expect((await feedsCommand("reset", "moved", "--to", "beginning")).code).toBe(0);
    await put(6);
    watching = db.consume({ name: "at-it", first: "oldest", signal: stop.signal }, fine);
    for (const name of ["calm"]) await catchUp(name);
    const page = await eventually(async () => {
      const seen = await served.get<FeedsPage>("/api/feeds");
      const isThere = seen.feeds.some(
        ({ name, holder }) => name === "at-it" && holder !== undefined,
      );
      return isThere && seen.feeds.length === 5 ? seen : undefined;
    });
    expect(page.removed).toEqual(["gone"]);
    const [first] = page.feeds;
    expect(first).toMatchObject({
      ...{ name: "failing", level: "warning", failures: 2, failure: `Error: ${hostile}` },
      remedy: expect.stringContaining("tidemark feeds show failing") as string,
    });
    expect(first?.failingSinceMs).toBeLessThanOrEqual(first?.failedMs ?? 0);
    const of = (name: string): FeedLine | undefined =>
      page.feeds.find((feed) => feed.name === name);
    expect(of("calm")).toMatchObject({ behindMs: 0, behindBlocks: 0, level: "fine", failures: 0 });
    expect(of("calm")?.failingSinceMs).toBeUndefined();
    const behind = of("behind");
    expect(behind?.shards?.map(({ shard }) => shard)).toEqual([0, 1]);
    const blocks = behind?.shards?.map(({ behindBlocks }) => behindBlocks) ?? [];
    expect(blocks.reduce((sum, each) => sum + each, 0)).toBe(behind?.behindBlocks);
    expect(Math.min(...blocks)).toBeGreaterThan(0);
    expect(of("moved")?.resetMs).toBeGreaterThan(Date.now() - 60_000);
    expect(of("at-it")?.holder).toBeDefined();
    const told = JSON.parse((await feedsCommand("--json")).out) as { feeds: object[] };
    expect(told).toMatchObject({ removed: ["gone"] });
    expect(told.feeds).toContainEqual(
      expect.objectContaining({
        ...{ name: "failing", failures: 2 },
        failingSince: new Date(first?.failingSinceMs ?? 0).toISOString(),
      }),
    );
    const shown = (await feedsCommand("show", "behind")).out;
    expect(shown).toMatch(
      /\n {2}shard 0: behind: .*, \d+ blocks?\n {2}shard 1: behind: .* blocks?\n/,
    );
    expect((await feedsCommand("show", "moved")).out).toMatch(/\nmoved by an operator: 2\S+Z\n/);
    expect((await feedsCommand()).out).toMatch(/\nremoved: gone\n/);
    expect((await feedsCommand("show", "failing")).out).toMatch(/2 times in a row since 2\S+Z, l/);
  });

  test("several pages share a look", async () => {
    const answers = await Promise.all([1, 2, 3].map(() => served.get<FeedsPage>("/api/feeds")));
    expect(new Set(answers.map(({ nowMs }) => nowMs)).size).toBe(1);
  });

  test("what was well again has failed no longer", async () => {
    await catchUp("behind", () => Promise.reject(new Error("x"))).catch(() => undefined);
    await catchUp("behind");
    const page = await eventually(async () => {
      const seen = await served.get<FeedsPage>("/api/feeds");
      const { failure, failures } = seen.feeds.find(({ name }) => name === "behind") ?? {};
      return failure === "Error: x" && failures === 0 ? seen : undefined;
    });
    const behind = page.feeds.find(({ name }) => name === "behind");
    expect(behind).toMatchObject({ failures: 0, behindBlocks: 0 });
    expect(behind?.failingSinceMs).toBeUndefined();
    await put(6);
  });
});

inBrowser("feeds are listed, and lead to one with its shards", browser, async (open) => {
  const { page, faults } = await open(served.url);
  await page.getByRole("link", { name: "Feeds" }).click();
  await page.getByRole("row", { name: /has failed 2 times in a row failing/ }).waitFor();
  await page.getByText("Removed: gone").waitFor();
  const lines = await page.locator("tbody tr").allInnerTexts();
  expect(lines[0]).toContain(hostile);
  expect(await page.title()).toBe("Feeds · Tidemark console");
  await shot(page, "feeds");
  await page.getByRole("link", { name: "failing" }).click();
  await page.getByText("failing since").waitFor();
  await page.getByText("put its handler right where it runs").waitFor();
  await shot(page, "feed-failing");
  await page.getByRole("link", { name: "all feeds" }).click();
  await page.getByRole("link", { name: "moved" }).press("Enter");
  await page.getByText("moved by an operator").waitFor();
  await page.getByRole("rowheader", { name: "1" }).waitFor();
  await shot(page, "feed-moved");
  await page.evaluate(() => {
    location.hash = "#/feeds/gone";
  });
  await page.getByText("It was removed.").waitFor();
  await page.locator("body").press("7");
  await page.getByRole("row", { name: /has failed/ }).waitFor();
  expect(faults).toEqual([]);
});

inBrowser("narrow and dark they keep to the window", browser, async (open) => {
  const { page, faults } = await open(served.url);
  await expectNarrow(page, "feeds", [
    ["#/feeds", "Removed: gone"],
    ["#/feeds/failing", "failing since"],
    ["#/feeds/moved", "moved by an operator"],
  ]);
  expect(faults).toEqual([]);
});
