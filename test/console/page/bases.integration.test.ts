/** BASE transactions in the console: what its server answers, and the page in a real browser. */
import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BasePage, BasesPage, ItemPage, RowsPage } from "../../../console/wire.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../../../localstack/embedded-stack.ts";
import { createClient, defineBase, defineTable, type Client } from "../../../sdk/index.ts";
import { eventually } from "../../cli/fixtures/command-line.ts";
import { servedConsole, type ServedConsole } from "../fixtures/served-console.ts";
import { inBrowser, openBrowser } from "./browser.ts";
import { expectNarrow, shot } from "./looks.ts";

const browser = await openBrowser();
const hostile = '<img src=x onerror="document.title=1">';

type Row = { readonly n: number };
type Work = { readonly table: "kept" | "bare"; readonly fails?: string };
const kept = defineTable<Row, { id: string }>("kept", { key: "id" });
const bare = defineTable<Row, { id: string }>("bare", { key: "id" });

let stack: EmbeddedStack;
let db: Client;
let served: ServedConsole;
let go: () => void = () => undefined;
const gone = new Promise<void>((resolve) => {
  go = resolve;
});

/** Changes one row, deletes one and makes one; then it waits. */
const change = defineBase("change", async (base, { table, fails }: Work) => {
  const rows = table === "kept" ? kept : bare;
  await base.step("write", (tx) => {
    if (fails === "refused") throw new RangeError("not today");
    tx.put(rows, { id: `a ${table}`, n: 2 });
    tx.delete(rows, `b ${table}`);
    tx.put(rows, { id: `made ${table}`, n: 1 });
    return Promise.resolve(null);
  });
  if (fails !== undefined) throw new TypeError(fails);
  await gone;
  await base.step("end", () => Promise.resolve(null));
});
/** Holds nothing that others look at. */
const quiet = defineBase("quiet", { parkAfterMs: 100 }, async (base, fails: string) => {
  await base.step("look", () => Promise.resolve(null));
  throw new TypeError(fails);
});

beforeAll(async () => {
  const partitionKey = { name: "id", type: "S" } as const;
  stack = await startEmbeddedStack({
    sampleTables: false,
    tables: [
      { name: "kept", partitionKey, history: true, base: true },
      { name: "bare", partitionKey, history: false, base: true },
    ],
  });
  db = createClient({ endpoint: stack.endpoint });
  served = await servedConsole({ endpoint: stack.endpoint });
  await db.transact(async (tx) => {
    for (const id of ["a", "b", "c"]) {
      tx.put(kept, { id: `${id} kept`, n: 1 });
      tx.put(bare, { id: `${id} bare`, n: 1 });
    }
  });
  await db.base(change, { table: "kept" }, { id: "k/1" });
  await db.base(change, { table: "bare" }, { id: "b1" });
  await db.requestBase(quiet, hostile, { id: "parked 1" });
  const options = { takeOverMs: 100, pollMs: 20, until: "caught-up" } as const;
  const runner = createClient({ endpoint: stack.endpoint });
  await runner.baseRunner({ handlers: [quiet], ...options });
  await runner.close();
  await db.requestBase(change, { table: "bare", fails: "refused" }, { id: "waits" });
  await plantDamaged();
  // What is listed is what is installed, and that is a moment behind what is committed.
  await eventually(async () => {
    const { all, parked } = await served.get<BasesPage>("/api/bases");
    // Each item of a commit is installed by itself: so are the locks of the rows.
    const { rows } = await served.get<RowsPage>("/api/tables/kept/rows");
    const held = rows.filter(({ heldBy }) => heldBy !== undefined).length;
    return all === 6 && parked === 1 && held === 2 ? true : undefined;
  });
}, 90_000);

/** One whose item in the list cannot be read, and one whose head is none. */
async function plantDamaged(): Promise<void> {
  const dynamodb = new DynamoDBClient({
    ...{ endpoint: stack.endpoints.dynamodb, region: stack.region },
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  });
  const entry = { name: { S: "change" }, version: { N: "1" } };
  for (const Item of [
    { pk: { S: "open#0" }, sk: { S: "change/no version" }, ...entry, _v: { S: "x" } },
    { pk: { S: "open#0" }, sk: { S: "change/no head" }, ...entry },
    { pk: { S: "base#change/no head" }, sk: { S: "-" }, name: { N: "1" } },
  ]) {
    await dynamodb.send(new PutItemCommand({ TableName: "tidemark-local-base", Item }));
  }
  dynamodb.destroy();
}

afterAll(async () => {
  if ("browser" in browser) await browser.browser.close();
  go();
  await served.close();
  await db.close();
  await stack.stop();
  expect(served.defects).toEqual([]);
}, 60_000);

describe("the server", { timeout: 60_000 }, () => {
  test("lists what is stuck first, then the oldest, and tells of one with its steps", async () => {
    const page = await served.get<BasesPage>("/api/bases");
    expect(page).toMatchObject({ isTaken: true, all: 6, parked: 1, damaged: 2 });
    const [first, second, ...others] = page.bases;
    expect([first, second]).toContainEqual(
      expect.objectContaining({
        ...{ id: "no version", phase: "damaged", sinceMs: 0 },
        failure: expect.stringContaining('{"S":"change/no version"}') as string,
      }),
    );
    expect([first, second]).toContainEqual(
      expect.objectContaining({
        ...{ id: "no head", phase: "damaged" },
        failure: expect.stringContaining("(base#change/no head, -)") as string,
      }),
    );
    expect(others.map(({ id, phase }) => `${id}: ${phase}`)).toEqual([
      ...["parked 1: parked", "k/1: running", "b1: running", "waits: requested"],
    ]);
    const one = await served.get<BasePage>("/api/bases/one?name=change&id=k%2F1");
    expect(one).toMatchObject({
      base: { phase: "running", steps: 1, failures: 0 },
      steps: [{ number: 1, name: "write" }],
    });
    expect((await served.asked("/api/bases/one?name=change&id=none")).status).toBe(400);
  });

  test("says of an item which open one holds it, since when, and at which step", async () => {
    const { holders, moreHolders } = await served.get<ItemPage>(
      "/api/tables/kept/item?key=a%20kept",
    );
    expect(moreHolders).toBe(0);
    expect(holders).toEqual([
      {
        ...{ name: "change", id: "k/1", does: "wrote" },
        open: {
          ...{ phase: "running", step: 1, stepName: "write" },
          sinceMs: expect.any(Number) as number,
        },
      },
    ]);
    const free = await served.get<ItemPage>("/api/tables/kept/item?key=c%20kept");
    expect(free.holders).toEqual([]);
  });

  test("tells of one that is damaged which item it is", async () => {
    const one = await served.get<BasePage>("/api/bases/one?name=change&id=no%20head");
    expect(one).toMatchObject({
      base: {
        ...{ phase: "damaged", steps: 0 },
        failure: expect.stringContaining("(base#change/no head, -)") as string,
      },
      steps: [],
    });
  });

  test("shows a table with history as it was before, at once, and by whom it is held", async () => {
    const begunMs = performance.now();
    const page = await served.get<RowsPage>("/api/tables/kept/rows");
    expect(performance.now() - begunMs).toBeLessThan(15_000);
    expect(page.held).toBe("before");
    expect(seen(page)).toEqual([...["a kept 1 change/k/1", "b kept 1 change/k/1", "c kept 1 –"]]);
    const cut = await served.get<RowsPage>("/api/tables/kept/rows?limit=1");
    const next = `/api/tables/kept/rows?limit=100&cursor=${encodeURIComponent(cut.cursor ?? "")}`;
    const rest = await served.get<RowsPage>(next);
    expect([...seen(cut), ...seen(rest)].sort()).toEqual(seen(page));
  });

  test("shows one without history as it is stored, and which rows are held", async () => {
    const page = await served.get<RowsPage>("/api/tables/bare/rows");
    expect(page.held).toBe("stored");
    expect(seen(page)).toEqual([...["a bare 2 change/b1", "c bare 1 –", "made bare 1 change/b1"]]);
  });
});

function seen({ rows }: RowsPage): readonly string[] {
  const text = (value: Readonly<Record<string, unknown>> | undefined): string =>
    String(Object.values(value ?? {})[0]);
  return rows
    .map(({ item, heldBy = "–" }) => `${text(item["id"])} ${text(item["n"])} ${heldBy}`)
    .sort();
}

inBrowser(
  "open ones are listed, and lead to one and to the rows it holds",
  browser,
  async (open) => {
    const { page, faults } = await open(served.url);
    await page.locator(".connection.live").waitFor();
    await page.locator("body").press("6");
    await page.getByText("1 BASE transaction parked").waitFor();
    await page.getByText("unhealthy").waitFor();
    await page.getByText("2 BASE transactions damaged: an item of its record").waitFor();
    const lines = await page.locator("tbody tr").allInnerTexts();
    expect(lines.slice(0, 2).map((line) => line.includes("damaged"))).toEqual([true, true]);
    expect(lines[2]).toContain("parked 1");
    await shot(page, "base-list");
    await page.getByRole("link", { name: "no head" }).click();
    await page.getByText("put the item back that its failure names").waitFor();
    await page.getByText("(base#change/no head, -)").waitFor();
    await shot(page, "base-damaged");
    await page.getByRole("link", { name: "all that are open" }).click();
    await page.getByRole("link", { name: "parked 1" }).click();
    await page.getByText("then `tidemark base resume quiet 'parked 1'` lets it go on").waitFor();
    await page.getByText(`TypeError: ${hostile}`).waitFor();
    await shot(page, "base-parked");
    await page.getByRole("link", { name: "all that are open" }).click();
    await page.getByRole("link", { name: "k/1" }).press("Enter");
    await page.getByRole("rowheader", { name: "write" }).waitFor();
    await shot(page, "base-one");
    await page.evaluate(() => {
      location.hash = "#/tables/kept";
    });
    await page.getByText("Rows are as they were before").waitFor();
    await shot(page, "base-held-before");
    await page.evaluate(() => {
      location.hash = "#/item/kept/a%20kept";
    });
    await page.getByText("transactions that read or write it wait").waitFor();
    await shot(page, "base-held-item");
    await page.getByRole("link", { name: "change/k/1" }).click();
    await page.getByRole("rowheader", { name: "write" }).waitFor();
    await page.evaluate(() => {
      location.hash = "#/tables/kept";
    });
    await page.getByRole("link", { name: "change/k/1" }).first().click();
    await page.getByRole("rowheader", { name: "write" }).waitFor();
    await page.evaluate(() => {
      location.hash = "#/tables/bare";
    });
    await page.getByText("Rows are as stored").waitFor();
    await shot(page, "base-held-stored");
    const search = page.getByRole("search").getByLabel(/name\/id of a BASE transaction/);
    await search.fill("change/k/1");
    await search.press("Enter");
    await page.getByRole("rowheader", { name: "write" }).waitFor();
    await page.getByRole("link", { name: "Tables" }).click();
    await page.getByRole("row", { name: /kept .* transactions, BASE transactions/ }).waitFor();
    expect(faults).toEqual([]);
    await page.evaluate(() => {
      location.hash = "#/base/change/none";
    });
    await page.getByText("there is no BASE transaction change/none").waitFor();
    expect(await page.title()).toBe("BASE · Tidemark console");
  },
);

inBrowser("narrow and dark it keeps to the window", browser, async (open) => {
  const { page, faults } = await open(served.url);
  await expectNarrow(page, "base", [
    ["#/base", "k/1"],
    ["#/base/change/k%2F1", "write"],
    ["#/tables/kept", "c kept"],
    ["#/item/kept/a%20kept", "is not over"],
  ]);
  expect(faults).toEqual([]);
});
