/** Each example as the program that examples/README.md names, beside a stack: it runs, and ends. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { startProgram, wordsOf } from "../harness/started-program.ts";

const root = join(import.meta.dirname, "..", "..");
const named = readFileSync(join(root, "examples", "README.md"), "utf8").matchAll(
  /^\| `npx tsx (examples\/[\w-]+\/main\.ts)`/gmu,
);

/** What each says, near its end, where all has gone well. */
const programs = {
  "examples/bank/main.ts": /The books are in order\.\n$/,
  "examples/tickets/main.ts": /Every sale is in order\.\n$/,
  "examples/outbox/main.ts": /Found as paid: concert-\w+-Bob\n$/,
  // One of its clients is closed while a handler waits for what never comes.
  "examples/fulfilment/main.ts": /kind: 'shipped', parcel: 'parcel 2' \}\n {2}wrong: \[\]\n$/,
  "examples/electrodb-orders/main.ts": /Stock and orders add up\.\n$/,
  "examples/lambda-powertools/main.ts": /again: 201 \{.*"replayed":true\}\n$/,
} as const;

/** Web servers, each with something to ask it for. */
const servers = {
  "examples/web-hono/main.ts": "/accounts/dora",
  "examples/web-routes/main.ts": "/events/matinee",
} as const;

let stack: EmbeddedStack;
beforeAll(async () => {
  stack = await startEmbeddedStack();
}, 60_000);
afterAll(async () => {
  await stack.stop();
});

function start(program: string, ...args: readonly string[]) {
  const words = wordsOf(join(root, program), "--endpoint", stack.endpoint, ...args);
  return startProgram(words, { cwd: root });
}

test("none is left out", () => {
  const all = [...Object.keys(programs), ...Object.keys(servers)];
  expect(Array.from(named, ([, path]) => path).sort()).toEqual(all.sort());
});

test.each(Object.entries(programs))("%s runs to its end, and all adds up", async (path, last) => {
  const { seen, ended } = start(path);
  expect([await ended, seen.err]).toEqual([0, ""]);
  expect(seen.out).toMatch(last);
});

test.each(Object.entries(servers))("%s answers until it is stopped", async (path, asked) => {
  const { child, seen, ended } = start(path, "--port", "0");
  const listening = /^Listening at (http:\S+)\. /u;
  await expect.poll(() => seen.out + seen.err, { timeout: 50_000 }).toMatch(listening);
  const [, address = ""] = listening.exec(seen.out) ?? [];
  // What the printed example asks for is there.
  expect(seen.out).toContain(asked);
  expect((await fetch(`${address}${asked}`)).status).toBe(200);
  child.kill("SIGINT");
  expect([await ended, seen.err]).toEqual([0, ""]);
});
