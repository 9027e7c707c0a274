/**
 * Feeds that are moved and removed beside consumers in processes of their own. Messages are
 * counted: nothing is lost, and what comes again does so since the reset has said it.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { createClient, type Client } from "../../sdk/index.ts";
import { eventually, tidemark, type Ran } from "./fixtures/command-line.ts";
import { messages } from "./fixtures/counted-messages.ts";

const script = fileURLToPath(new URL("fixtures/counting-consumer.ts", import.meta.url));
const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

let stack: EmbeddedStack;
let db: Client;

beforeAll(async () => {
  const partitionKey = { name: "id", type: "S" } as const;
  stack = await startEmbeddedStack({
    ...{ sampleTables: false },
    tables: [{ name: "messages", partitionKey, history: false }],
  });
  db = createClient({ endpoint: stack.endpoint });
}, 60_000);

afterAll(async () => {
  await db.close();
  await stack.stop();
});

type Consumer = {
  readonly child: ChildProcess;
  /** In the order in which it has handled them. */
  readonly handled: () => readonly number[];
  readonly ended: Promise<number | null>;
};

function startConsumer(): Consumer {
  const child = spawn(process.execPath, ["--import", loader, script, stack.endpoint], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, handled: () => out.split("\n").slice(0, -1).map(Number), ended };
}

async function send(from: number, through: number): Promise<void> {
  for (let n = from; n <= through; n += 1) {
    await db.transact((tx) => {
      tx.put(messages, { id: `message ${n}`, n });
      return Promise.resolve();
    });
  }
}

function run(...args: readonly string[]): Promise<Ran> {
  return tidemark([...args, "--endpoint", stack.endpoint]);
}

const counted = (from: number, through: number): readonly number[] =>
  Array.from({ length: through - from + 1 }, (_unused, at) => from + at);

function until(consumer: Consumer, number: number): Promise<true> {
  return eventually(async () =>
    Promise.resolve(consumer.handled().includes(number) ? true : undefined),
  );
}

test("one who sleeps while his feed is moved does not go over it when he wakes", async () => {
  const sleeper = startConsumer();
  await send(1, 30);
  await until(sleeper, 30);
  const other = startConsumer();
  const sending = send(31, 150);
  await until(sleeper, 60);
  sleeper.child.kill("SIGSTOP");
  expect((await run("feeds", "remove", "counted")).out).toMatch(
    / is held by .* nothing is changed/,
  );
  const reset = await run("feeds", "reset", "counted", "--to", "beginning");
  expect([reset.code, reset.out]).toEqual([
    0,
    expect.stringMatching(/^counted goes on at 2[^]* back: what was handled since then comes aga/),
  ]);
  await sending;
  await until(other, 150);
  const asleep = sleeper.handled();
  sleeper.child.kill("SIGCONT");
  await send(151, 220);
  await until(other, 220);
  // The change that he was at, and the next one: then his put is refused.
  const woken = sleeper.handled().slice(asleep.length);
  expect(sleeper.handled().slice(0, asleep.length)).toEqual(counted(1, asleep.length));
  expect(woken).toEqual(counted(asleep.length + 1, asleep.length + woken.length));
  expect(woken.length).toBeLessThanOrEqual(2);
  expect(other.handled()).toEqual(counted(1, 220));
  await eventually(async () =>
    / 0 +0 +[0-9a-f]{8} /.test((await run("feeds")).out) ? true : undefined,
  );
  for (const { child, ended } of [sleeper, other]) {
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
  }
});

test("one at work goes on from where his feed is moved to; removed, it begins anew", async () => {
  const own = startConsumer();
  await send(221, 240);
  await until(own, 240);
  const { position } = JSON.parse((await run("feeds", "show", "counted", "--json")).out) as {
    position: string;
  };
  await send(241, 300);
  await until(own, 290);
  expect((await run("feeds", "reset", "counted", "--to", position)).code).toBe(0);
  await send(301, 310);
  const { again, from } = await eventually(async () => {
    const all = own.handled();
    const at = all.findIndex((n, i) => n < (all[i - 1] ?? 0));
    const isOver = at !== -1 && all.lastIndexOf(310) > at;
    return Promise.resolve(isOver ? { again: all, from: at } : undefined);
  });
  // All up to then, once and in order; from the place on all once more.
  expect(again.slice(0, from)).toEqual(counted(221, 220 + from));
  const first = again[from] ?? 0;
  expect(first).toBeLessThanOrEqual(241);
  expect(again.slice(from)).toEqual(counted(first, 310));
  own.child.kill("SIGTERM");
  expect(await own.ended).toBe(0);
  const removed = await run("feeds", "remove", "counted");
  expect([removed.code, removed.out]).toEqual([
    0,
    "counted is removed; a consumer of that name begins anew, at its option first\n",
  ]);
  expect((await run("feeds")).out).toMatch(/^there is no feed/);
  const next = startConsumer();
  await until(next, 310);
  expect(next.handled()).toEqual(counted(1, 310));
  next.child.kill("SIGTERM");
  expect(await next.ended).toBe(0);
});
