/** How a page looks: a picture of it, where somebody asks for pictures, and whether it fits. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** A folder, for who wants to look. */
const screenshots = process.env["TIDEMARK_SCREENSHOTS"];

export async function shot(page: Page, name: string): Promise<void> {
  if (screenshots === undefined) return;
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}

/** By how many pixels it is wider than the window. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
}

/** In a narrow window and in the dark, each view says what it is to, and nothing lies beyond. */
export async function expectNarrow(
  page: Page,
  name: string,
  views: readonly (readonly [hash: string, text: string])[],
): Promise<void> {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 375, height: 700 });
  for (const [at, [hash, text]] of views.entries()) {
    await page.evaluate((to) => {
      location.hash = to;
    }, hash);
    await page.getByText(text).first().waitFor();
    expect([hash, await overflow(page)]).toEqual([hash, 0]);
    await shot(page, `${name}-narrow-${at.toString()}`);
  }
}
