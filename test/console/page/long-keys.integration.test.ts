/** The page with a row of a long key: looked for by its table's name, and in a narrow window. */
import { afterAll, beforeAll, expect } from "vitest";
import { startEmbeddedStack, type EmbeddedStack } from "../../../localstack/embedded-stack.ts";
import { createClient, defineTable, type Client } from "../../../sdk/index.ts";
import { committed } from "../../cli/fixtures/small-deployment.ts";
import { servedConsole, type ServedConsole } from "../fixtures/served-console.ts";
import { inBrowser, openBrowser } from "./browser.ts";
import { shot } from "./looks.ts";

const browser = await openBrowser();
const orders = defineTable<{ readonly text: string }, { id: string }>("orders", { key: "id" });
const id = "a customer's long name ".repeat(4).trim();

let stack: EmbeddedStack;
let db: Client;
let served: ServedConsole;
let transaction = "";

beforeAll(async () => {
  stack = await startEmbeddedStack({
    ...{ sampleTables: false, tablesOnly: true },
    tables: [{ name: "orders", partitionKey: { name: "id", type: "S" }, history: true }],
  });
  db = createClient({ endpoint: stack.endpoint });
  transaction = await committed(db, async (tx) => {
    tx.put(orders, { id, text: "a lamp" });
  });
  served = await servedConsole({ endpoint: stack.endpoint });
}, 90_000);

afterAll(async () => {
  if ("browser" in browser) await browser.browser.close();
  await served.close();
  await db.close();
  await stack.stop();
  expect(served.defects).toEqual([]);
}, 60_000);

inBrowser(
  "what is looked for and is not there: a table, or an id cut short",
  browser,
  async (open) => {
    const { page, faults } = await open(served.url);
    await page.locator(".connection.live").waitFor();
    const field = page.getByRole("search").getByRole("combobox");
    const look = async (text: string): Promise<void> => {
      await field.fill(text);
      await field.press("Enter");
    };
    await look("ordres");
    await page.getByText('There is no registered table "ordres".').waitFor();
    expect(faults).toEqual([]);
    await look(transaction.slice(1));
    await page.getByText("a transaction id is the 32 lower-case hexadecimal digits").waitFor();
  },
);

inBrowser("at 375 pixels long keys leave room for what is told of them", browser, async (open) => {
  const { page, faults } = await open(`${served.origin}/#/conflicts`, { width: 375 });
  await page.getByText(id).waitFor();
  await shot(page, "narrow-long-key-conflicts");
  const lost = await page.getByRole("columnheader", { name: "lost", exact: true }).boundingBox();
  expect((lost?.x ?? 375) + (lost?.width ?? 0)).toBeLessThan(375);
  await page.getByText(id).click();
  await page.getByText("stands in the table").waitFor();
  await shot(page, "narrow-long-key-item");
  const values = page.locator("dl.attributes dd");
  const widths = await values.evaluateAll((all) => all.map((each) => each.clientWidth));
  // Of the item, and once more of its only version.
  expect(widths).toHaveLength(4);
  expect(Math.min(...widths)).toBeGreaterThan(90);
  expect(faults).toEqual([]);
});
