/**
 * The documentation as a site, built and read in a real browser, from files. It takes compiler and
 * highlighter half a minute.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildSite } from "../../scripts/docs-site.ts";
import { inBrowser, openBrowser } from "../console/page/browser.ts";

const cache = join(import.meta.dirname, "..", "..", ".cache");
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "site-"));
const at = (name: string): string => pathToFileURL(join(folder, name)).href;
const found = await openBrowser();

let complaints: readonly string[];
beforeAll(async () => {
  complaints = await buildSite(folder);
});
afterAll(async () => {
  if ("browser" in found) await found.browser.close();
  rmSync(folder, { recursive: true, force: true });
});

test("is built without a complaint: no link to the API or to a heading leads nowhere", () => {
  expect(complaints).toEqual([]);
});

inBrowser("one search finds pages, by their text, and the API", found, async (open) => {
  const { page, faults } = await open(at("index.html"));
  const outside: string[] = [];
  page.on("request", (request) => {
    if (/^(https?|wss?):/u.test(request.url())) outside.push(request.url());
  });
  await page.reload();
  await page.locator("#tsd-search-trigger").click();
  await page.locator("#tsd-search-input").fill("idempotency");
  const results = page.locator("#tsd-search-results li");
  await results.first().waitFor();
  const texts = (await results.allTextContents()).join("\n");
  expect(texts).toContain("IdempotencyKeyReusedError");
  await results.filter({ hasText: "How do I do something once" }).first().click();
  await page.getByRole("heading", { name: "When plain DynamoDB suffices" }).waitFor();
  expect(outside).toEqual([]);
  // A page of a file may not use a drawing of another one; it has its icons by script then.
  expect(faults.filter((fault) => !fault.includes("icons.svg"))).toEqual([]);
});

inBrowser("a method is shown with its example", found, async (open) => {
  const { page } = await open(at("types/tidemark.Client.html"));
  const text = (await page.locator("body").textContent()) ?? "";
  expect(text).toContain("for (const { id, phase } of await db.openBases())");
});

inBrowser("pages keep to a screen of 375 pixels, wide tables too", found, async (open) => {
  for (const name of ["index.html", "documents/The_SDK.html", "types/tidemark.Client.html"]) {
    const { page } = await open(at(name), { width: 375 });
    expect(await page.evaluate("document.documentElement.scrollWidth"), name).toBe(375);
  }
});
