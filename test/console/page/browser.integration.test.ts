/** The page in a real browser: empty and huge, by mouse and keyboard, light, dark and narrow. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { systemClock, systemRandom } from "../../../aws/system.ts";
import { trafficEntry } from "../../../cli/package.ts";
import { StackBreaker } from "../../../console/server/breaker.ts";
import { serveConsole } from "../../../console/server/serve.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../../../localstack/embedded-stack.ts";
import { bundleScripts } from "../../../localstack/stack-bundle.ts";
import { createClient, defineTable, type Client } from "../../../sdk/index.ts";
import { committed } from "../../cli/fixtures/small-deployment.ts";
import { inBrowser, openBrowser } from "./browser.ts";
import { overflow, shot } from "./looks.ts";
import type { LiveEvent } from "../../../console/wire.ts";
import { servedConsole, watched, type ServedConsole } from "../fixtures/served-console.ts";

const browser = await openBrowser();

type Row = { readonly text: string; readonly total: number };
const orders = defineTable<Row, { customer: string; placedAt: number }, "customer">("orders", {
  key: ["customer", "placedAt"],
});
const hostile = '<img src=x onerror="document.title=1">';

let stack: EmbeddedStack;
let db: Client;
let breaker: StackBreaker;
let served: ServedConsole;
const ids = { first: "", second: "", many: "" };

const script = async (): Promise<string> =>
  (await bundleScripts(new Map([trafficEntry]))).get(trafficEntry[0]) ?? "";

beforeAll(async () => {
  stack = await startEmbeddedStack({
    tables: [
      {
        name: "orders",
        partitionKey: { name: "customer", type: "S" },
        sortKey: { name: "placedAt", type: "N" },
        history: true,
      },
    ],
  });
  db = createClient({ endpoint: stack.endpoint, commit: "express" });
  breaker = new StackBreaker({ stack, clock: systemClock, random: systemRandom, script });
  served = await servedConsole({ endpoint: stack.endpoint }, breaker);
}, 60_000);

afterAll(async () => {
  if ("browser" in browser) await browser.browser.close();
  await served.close();
  await breaker.close();
  await db.close();
  await stack.stop();
  expect(served.defects).toEqual([]);
});

const views = [
  ...["overview", "log", "conflicts", "transaction"],
  ...["tables", "base", "feeds", "shards", "faults"],
];

async function visit(page: Page, hash: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
}

async function live(page: Page): Promise<void> {
  await page.locator(".connection.live").waitFor();
}

inBrowser("empty, each view says what to do next", browser, async (open) => {
  const { page, faults } = await open(served.url);
  await live(page);
  await page.getByText("Nothing has been committed yet.").waitFor();
  await page.getByRole("link", { name: "Start some traffic" }).waitFor();
  await shot(page, "empty-overview");
  for (const [view, text] of [
    ["log", "No block yet."],
    ["conflicts", "Nothing was written in that time."],
    ["transaction", "No transaction has been decided lately."],
    ["tables/orders", "There was nothing in it."],
    ["faults", "Start some traffic, then stop the oracle"],
    ["tables/nope", 'There is no registered table "nope".'],
  ] as const) {
    await visit(page, `#/${view}`);
    await page.getByText(text).first().waitFor();
    await shot(page, `empty-${view.replace("/", "-")}`);
  }
  expect(faults).toEqual([]);
});

inBrowser("the token leaves the address at once, and reading needs none", browser, async (open) => {
  const { page } = await open(served.url);
  await live(page);
  expect(page.url()).not.toContain(served.token);
  const { page: bare } = await open(served.origin);
  await live(bare);
  await visit(bare, "#/faults");
  await bare.getByText("These buttons take the token of this start").waitFor();
  expect(await bare.getByRole("button", { name: "Start", exact: true }).isDisabled()).toBe(true);
});

inBrowser(
  "a commit shows at once, and leads to its course, its item and the past",
  browser,
  async (open) => {
    const { page, faults } = await open(served.url);
    await live(page);
    await visit(page, "#/log");
    ids.first = await committed(db, async (tx) => {
      tx.put(orders, { customer: "ann", placedAt: 1, text: "before", total: 10 });
      tx.put(orders, { customer: hostile, placedAt: 1, text: hostile, total: 1 });
    });
    const link = page.getByRole("link", { name: `transaction ${ids.first}` });
    await link.waitFor();
    ids.second = await committed(db, async (tx) => {
      tx.put(orders, { customer: "ann", placedAt: 1, text: "after", total: 20 });
      tx.delete(orders, { customer: hostile, placedAt: 1 });
    });
    await link.click();
    await page.locator(".standing", { hasText: "committed" }).waitFor();
    expect(await page.locator(".step").count()).toBeGreaterThanOrEqual(3);
    await shot(page, "transaction");
    await page.getByRole("link", { name: 'item "ann" / 1 of table orders' }).click();
    await page.getByRole("heading", { name: 'orders "ann" / 1' }).waitFor();
    await page.getByText("superseded, kept by history").first().waitFor();
    await shot(page, "item");
    await page.getByRole("link", { name: "table as of then" }).nth(1).click();
    const rows = page.locator("table.rows tbody tr");
    await rows.filter({ hasText: "before" }).waitFor();
    expect(await rows.count()).toBe(2);
    await shot(page, "table-as-of");
    expect(faults).toEqual([]);
  },
);

inBrowser("it runs where the browser names a language that is none", browser, async (open) => {
  const { page, faults } = await open("about:blank");
  await page.addInitScript(() => {
    Object.defineProperty(navigator, "language", { value: "en-US@posix", configurable: true });
  });
  await page.goto(served.url);
  await live(page);
  expect(await page.locator(".chart canvas").count()).toBe(3);
  expect(faults).toEqual([]);
});

inBrowser("what stands in an item is text, whatever it looks like", browser, async (open) => {
  const { page, faults } = await open(served.url);
  await visit(page, `#/transaction/${ids.first}`);
  await page.getByText(hostile.slice(0, 12)).first().waitFor();
  expect(await page.locator("main img").count()).toBe(0);
  expect(await page.title()).not.toBe("1");
  expect(faults).toEqual([]);
});

inBrowser(
  "the slider goes back in time by the keyboard, and two moments are compared",
  browser,
  async (open) => {
    const { page, faults } = await open(served.url);
    await live(page);
    await visit(page, "#/tables/orders");
    await page.getByText("after").first().waitFor();
    const slider = page.getByRole("slider", { name: "As of, from the oldest" });
    await slider.focus();
    await page.keyboard.press("Home");
    await page.getByText("There was nothing in it.").waitFor();
    expect(await slider.getAttribute("aria-valuetext")).toMatch(/UTC, .* ago$/);
    await page.getByRole("button", { name: "Now" }).click();
    await page.getByText("after").first().waitFor();
    await page.getByRole("button", { name: "Compare two moments" }).click();
    const from = page.getByRole("slider", { name: "From, from the oldest" });
    await from.focus();
    await page.keyboard.press("Home");
    await page.locator(".change.added").first().waitFor();
    await shot(page, "diff-added");
    const { versions } = await served.get<{ versions: { version: number }[] }>(
      `/api/tables/orders/item?key=${encodeURIComponent('{"customer":"ann","placedAt":1}')}`,
    );
    const [, first] = versions;
    await page
      .getByRole("textbox", { name: "From, as text in UTC" })
      .fill(`${first?.version ?? 0}`);
    await page.keyboard.press("Enter");
    await page.locator(".change.changed").waitFor();
    await page.locator(".change.removed").waitFor();
    expect(await page.locator("del", { hasText: "before" }).count()).toBe(1);
    expect(await page.locator("ins", { hasText: "after" }).count()).toBe(1);
    await shot(page, "diff");
    await page.getByRole("textbox", { name: "From, as text in UTC" }).fill("yesterday");
    await page.keyboard.press("Enter");
    await page.locator('.moment-text[aria-invalid="true"]').waitFor();
    expect(faults).toEqual([]);
  },
);

function isVouchedFor(event: LiveEvent): boolean {
  if (event.kind !== "state") return false;
  return event.state.shards.every(({ watermark }) => (watermark?.position ?? 0) > 0);
}

inBrowser("a row that replay comes to late is shown once it has", browser, async (open) => {
  const { page, faults } = await open(served.url);
  await live(page);
  await committed(db, async (tx) => {
    tx.put(orders, { customer: "early", placedAt: 1, text: "it was in time", total: 1 });
  });
  // Only then "now" is what replay has vouched for.
  const { until } = await watched(served);
  await until(isVouchedFor);
  await breaker.order({ act: "freeze", process: "replay" });
  await committed(db, async (tx) => {
    tx.put(orders, { customer: "late", placedAt: 1, text: "it has come", total: 1 });
  });
  await visit(page, "#/tables/orders?partition=late");
  await page.getByText("There was nothing in it.").waitFor();
  // Longer than the page waits before it looks again at a table that is being written.
  await page.waitForTimeout(5_000);
  await breaker.order({ act: "resume", process: "replay" });
  await page.locator("table.rows tbody tr", { hasText: "it has come" }).waitFor();
  expect(faults).toEqual([]);
});

inBrowser("huge tables, blocks and values come in pages and are cut", browser, async (open) => {
  ids.many = await committed(db, async (tx) => {
    for (let at = 0; at < 120; at += 1) {
      tx.put(orders, { customer: "many", placedAt: at, text: "x".repeat(2_000), total: at });
    }
  });
  const { page, faults } = await open(served.url);
  await live(page);
  await visit(page, "#/tables/orders?partition=many");
  const rows = page.locator("table.rows tbody tr");
  await rows.first().waitFor();
  expect(await rows.count()).toBe(50);
  const first = await rows.first().innerText();
  await shot(page, "huge-table");
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("50 rows on page 2").waitFor();
  expect(await rows.first().innerText()).not.toBe(first);
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("20 rows on page 3").waitFor();
  expect(await rows.count()).toBe(20);
  await page.getByRole("button", { name: "Back" }).click();
  await page.getByText("50 rows on page 2").waitFor();
  await visit(page, `#/transaction/${ids.many}`);
  await page.locator(".step .state").first().waitFor();
  expect(await page.locator(".step .state").count()).toBe(50);
  await visit(page, "#/log");
  await page.getByText("+112").waitFor();
  expect((await page.locator("main").innerText()).includes("x".repeat(300))).toBe(false);
  expect(faults).toEqual([]);
});

inBrowser("the keyboard reaches everything, and shows where it is", browser, async (open) => {
  const { page } = await open(served.url);
  await live(page);
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the view");
  await page.keyboard.press("Enter");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
  for (const [at, view] of views.entries()) {
    await page.keyboard.press(`${at + 1}`);
    await page
      .locator(`nav a[aria-current="page"][href$="${view === "overview" ? "#/" : view}"]`)
      .waitFor();
  }
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  await shot(page, "keyboard");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("/");
  await page.keyboard.type("orders");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "orders" }).waitFor();
  await visit(page, "#/log");
  await page.getByRole("button", { name: /^Pause/ }).waitFor();
  await page.keyboard.press("p");
  await page.getByText("paused: nothing moves").waitFor();
  // Each stop of the Tab key has a name, and a ring that is seen.
  const seen = new Set<string>();
  for (let stops = 0; stops < 40; stops += 1) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const at = document.activeElement as HTMLElement | null;
      if (at === null || at === document.body) return undefined;
      const name =
        at.getAttribute("aria-label") ??
        at.closest("label")?.textContent ??
        (at.textContent === "" ? at.title : at.textContent);
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      return { name, ring: `${outlineStyle} ${outlineWidth}`, tag: at.tagName };
    });
    if (stop === undefined) break;
    expect(stop.name, JSON.stringify(stop)).not.toBe("");
    expect(stop.ring, JSON.stringify(stop)).toMatch(/^(?:solid|auto) [1-9]/);
    seen.add(stop.tag);
  }
  expect([...seen].sort()).toEqual(expect.arrayContaining(["A", "BUTTON", "INPUT", "SELECT"]));
});

inBrowser(
  "traffic and faults go by the buttons, and what must hold does",
  browser,
  async (open) => {
    const { page, faults } = await open(served.url);
    await live(page);
    await visit(page, "#/faults");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForFunction(() => {
      const figure = [...document.querySelectorAll(".figures div")].find(
        (each) => each.querySelector("dt")?.textContent === "committed",
      );
      return Number(figure?.querySelector("dd")?.textContent ?? 0) >= 10;
    });
    await page.waitForFunction(
      () => document.querySelectorAll(".guarantees .mark.fine").length === 3,
    );
    await page.getByRole("button", { name: "stop: oracle" }).click();
    await page.locator(".process-state.frozen").waitFor();
    await page.getByRole("button", { name: "Kill a client", exact: true }).click();
    await page.getByText(/killed client \d/).waitFor();
    await shot(page, "faults");
    await page.getByRole("button", { name: "let go on: oracle" }).click();
    await page.locator(".process-state.frozen").waitFor({ state: "detached" });
    await visit(page, "#/conflicts");
    await page.getByText("As this console’s own clients met them").waitFor();
    await page.locator("table").nth(1).waitFor();
    await shot(page, "conflicts");
    await visit(page, "#/");
    await page.waitForFunction(
      () => Number(document.querySelector(".tile-value")?.textContent ?? 0) > 0,
    );
    await shot(page, "overview");
    expect(await page.locator(".chart canvas").count()).toBe(3);
    expect(await page.locator(".guarantees .mark.bad").count()).toBe(0);
    expect(faults).toEqual([]);
  },
);

const contrastMin = 4.5;

inBrowser(
  "light and dark both have enough contrast, and follow the system",
  browser,
  async (open) => {
    const grounds: string[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      const { page, faults } = await open(served.url, { colorScheme });
      await live(page);
      for (const view of ["overview", "log", "tables/orders", "faults"]) {
        await visit(page, view === "overview" ? "#/" : `#/${view}`);
        await page.locator("main .panel").first().waitFor();
        const poor = await page.evaluate(poorContrasts, contrastMin);
        expect(poor, `${colorScheme} ${view}`).toEqual([]);
      }
      grounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
      await visit(page, "#/log");
      await shot(page, `log-${colorScheme}`);
      await visit(page, "#/");
      await shot(page, `overview-${colorScheme}`);
      // The charts are drawn anew where the system changes its mind.
      await page.emulateMedia({ colorScheme: colorScheme === "light" ? "dark" : "light" });
      await page.locator(".chart canvas").first().waitFor();
      expect(faults).toEqual([]);
    }
    expect(grounds[0]).not.toBe(grounds[1]);
  },
);

/** Runs in the page: texts of too little contrast to what lies below them. */
function poorContrasts(min: number): readonly string[] {
  const numbers = (color: string): number[] => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = ([r = 0, g = 0, b = 0]: readonly number[]): number => {
    const [x, y, z] = [r, g, b].map((each) => {
      const part = each / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * (x ?? 0) + 0.7152 * (y ?? 0) + 0.0722 * (z ?? 0);
  };
  const ground = (element: Element | null): number[] => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = numbers(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || (color[3] ?? 0) === 1) return color;
    }
    return [255, 255, 255];
  };
  const found: string[] = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(
      (node) => node.nodeType === Node.TEXT_NODE && (node.textContent ?? "").trim() !== "",
    );
    const isShown = element.checkVisibility() && !element.matches(":disabled, kbd");
    if (!own || !isShown) continue;
    const [one, other] = [
      luminance(numbers(getComputedStyle(element).color)),
      luminance(ground(element)),
    ].sort((a, b) => b - a);
    const ratio = ((one ?? 0) + 0.05) / ((other ?? 0) + 0.05);
    if (ratio < min) found.push(`${element.className} ${element.textContent} ${ratio}`);
  }
  return found.slice(0, 5);
}

inBrowser("at 375 pixels nothing has to be scrolled sideways", browser, async (open) => {
  const { page } = await open(served.url, { width: 375 });
  await live(page);
  const all = [
    ...views.map((view) => (view === "overview" ? "#/" : `#/${view}`)),
    "#/tables/orders",
    `#/tables/orders?from=${(Date.now() - 60_000) * 1_000}`,
    `#/transaction/${ids.second}`,
    `#/item/orders/${encodeURIComponent('{"customer":{"S":"ann"},"placedAt":{"N":"1"}}')}`,
  ];
  for (const hash of all) {
    await visit(page, hash);
    await page.locator("main .panel").first().waitFor();
    await page.waitForFunction(
      () => document.querySelector("main")?.textContent.includes("reading") === false,
    );
    expect([hash, await overflow(page)]).toEqual([hash, 0]);
    await shot(page, `narrow-${hash.replaceAll(/[^a-z]+/gi, "-").slice(0, 40)}`);
  }
});

inBrowser("nothing moves for those who asked for less motion", browser, async (open) => {
  const motion = async (reducedMotion: "reduce" | "no-preference"): Promise<string> => {
    const { page } = await open(served.url, { reducedMotion });
    await live(page);
    return page.evaluate(() => {
      const connection = document.querySelector(".connection");
      return connection === null ? "" : getComputedStyle(connection, "::before").animationName;
    });
  };
  expect(await motion("reduce")).toBe("none");
  expect(await motion("no-preference")).not.toBe("none");
});

inBrowser(
  "it says so when the server is gone, and goes on when it is back",
  browser,
  async (open) => {
    const options = {
      where: { endpoint: stack.endpoint },
      ...{ clock: systemClock, version: "0.0.0" },
      ...{ mayMove: false, option: "--port", report: () => undefined },
    };
    const first = await serveConsole({ ...options, port: 0 });
    const { page } = await open(first.url);
    await live(page);
    await first.close();
    await page.getByText("This page tries again by itself").waitFor();
    const second = await serveConsole({ ...options, port: first.port });
    await live(page);
    await page.getByText("This page tries again by itself").waitFor({ state: "detached" });
    await second.close();
  },
);
