/** Traffic and faults in the embedded stack, by the orders that the page's buttons give. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock, systemRandom } from "../../aws/system.ts";
import { trafficEntry } from "../../cli/package.ts";
import { StackBreaker } from "../../console/server/breaker.ts";
import * as limits from "../../console/limits.ts";
import type { Contended, FaultState, Story } from "../../console/wire.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { bundleScripts } from "../../localstack/stack-bundle.ts";
import { eventually } from "../cli/fixtures/command-line.ts";
import { servedConsole, watched, type ServedConsole } from "./fixtures/served-console.ts";

let stack: EmbeddedStack;
let breaker: StackBreaker;
let served: ServedConsole;

const script = async (): Promise<string> =>
  (await bundleScripts(new Map([trafficEntry]))).get(trafficEntry[0]) ?? "";

beforeAll(async () => {
  stack = await startEmbeddedStack();
  breaker = new StackBreaker({ stack, clock: systemClock, random: systemRandom, script });
  served = await servedConsole({ endpoint: stack.endpoint }, breaker);
}, 60_000);

afterAll(async () => {
  await served.close();
  await breaker.close();
  await stack.stop();
  expect(served.defects).toEqual([]);
});

async function done(order: object): Promise<FaultState> {
  const { status, body } = await served.order(order);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body as FaultState;
}

/** Until so many more transfers have been acknowledged. */
async function committed(more: number): Promise<void> {
  const before = breaker.state().traffic.committed;
  await eventually(async () =>
    breaker.state().traffic.committed >= before + more ? true : undefined,
  );
}

function stateOf(name: string): string | undefined {
  return breaker.state().processes.find((each) => each.name === name)?.state;
}

/** Until each of them was looked at so often more, since now. */
async function lookedAt(more: number): Promise<void> {
  const before = breaker.state().guarantees.map(({ checks }) => checks);
  await eventually(async () => {
    const { guarantees } = breaker.state();
    const isDone = guarantees.every(({ checks }, at) => checks >= (before[at] ?? 0) + more);
    return guarantees.length > 0 && isDone ? true : undefined;
  });
}

function violations(): readonly string[] {
  return breaker
    .state()
    .guarantees.flatMap(({ name, violations: found, last }) =>
      found === 0 ? [] : [`${name}: ${last ?? ""}`],
    );
}

test("before anything is ordered there is nothing to look at, and no client to kill", async () => {
  expect(breaker.state()).toMatchObject({ guarantees: [], deeds: [], throttlePercent: 0 });
  expect(stateOf("stores")).toBeUndefined();
  const { status, body } = await served.order({ act: "kill-client", how: "now" });
  expect([status, body]).toMatchObject([400, { error: { message: /start some traffic/ } }]);
});

test.each([
  [{ act: "explode" }],
  [{ act: "throttle", percent: limits.throttlePercentMax + 1 }],
  [{ act: "throttle", percent: -1 }],
  [{ act: "traffic", clients: limits.trafficClientsMax + 1, keys: 4 }],
  [{ act: "traffic", clients: 1, keys: limits.trafficKeysMin - 1 }],
  [{ act: "kill", process: "stores" }],
  [{ act: "kill", process: "../../etc" }],
  [[]],
  ["kill"],
])("%j is refused, and does nothing", async (order) => {
  expect((await served.order(order)).status).toBe(400);
  expect(breaker.state().deeds).toEqual([]);
});

describe("with traffic on four accounts", () => {
  beforeAll(async () => {
    await done({ act: "traffic", clients: 3, keys: 4 });
    await committed(20);
    await lookedAt(2);
  }, 60_000);

  test("what must hold does, and the stream tells of it", async () => {
    expect(violations()).toEqual([]);
    const stream = await watched(served);
    const [first] = await stream.until(({ kind }) => kind === "start");
    expect(first?.event).toMatchObject({ faults: { traffic: { keys: 4, clients: [{}, {}, {}] } } });
    await stream.until(({ kind }) => kind === "faults");
  });

  test("conflicts are told by key, with how often a transfer had to run again", async () => {
    const found = await eventually(async () => {
      const answer = await served.get<Contended>("/api/conflicts?window=600000");
      return answer.traffic.length > 0 ? answer : undefined;
    });
    const [hottest] = found.traffic;
    expect(hottest).toMatchObject({ table: "bank-accounts" });
    expect(hottest?.attemptsMax).toBeGreaterThan(0);
    expect(hottest?.key).toHaveProperty("id");
  });

  test("the log tells how often those that have written a key were run in vain", async () => {
    const { key, id } = await eventually(async () => {
      const { keys } = await served.get<Contended>("/api/conflicts?window=600000");
      const retried = keys.find(({ retries, key }) => retries.runs > 0 && key !== undefined);
      if (retried === undefined) return undefined;
      const { blocks } = await served.get<{
        blocks: readonly { verdicts: readonly { id: string; kind: string }[] }[];
      }>("/api/log?shard=0");
      for (const verdict of blocks.flatMap((block) => block.verdicts)) {
        if (verdict.kind !== "committed") continue;
        const { steps } = await served.get<Story>(`/api/transactions/${verdict.id}`);
        const isTold = steps.some(({ text }) =>
          /^committed, .*, after \d+ runs? in vain$/.test(text),
        );
        if (isTold) return { key: retried, id: verdict.id };
      }
      return undefined;
    });
    expect(key).toMatchObject({ table: "bank-accounts", key: { id: {} } });
    expect(key.retries.most).toBeGreaterThan(0);
    expect(key.retries.known).toBeGreaterThan(0);
    expect(id).toHaveLength(32);
  });

  test("a transfer's course is told by its client, from its first read to its end", async () => {
    const story = await eventually(async () => {
      const { blocks } = await served.get<{
        blocks: readonly { verdicts: readonly { id: string; kind: string }[] }[];
      }>("/api/log?shard=0");
      for (const { id } of blocks.flatMap((block) => block.verdicts)) {
        const found = await served.get<Story>(`/api/transactions/${id}`);
        const isTold = found.steps.some(({ kind, from }) => kind === "end" && from === "client");
        if (isTold && found.standing === "committed") return found;
      }
      return undefined;
    });
    const told = story.steps.filter(({ from }) => from === "client");
    const kinds = told.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "read").length).toBeGreaterThanOrEqual(2);
    expect(kinds[0]).toBe("attempt");
    expect(kinds).toContain("send");
    const times = story.steps.flatMap(({ at }) => at ?? []);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  test("a killed client comes back, and what it had committed is not lost", async () => {
    const lives = () => breaker.state().traffic.clients.reduce((sum, each) => sum + each.lives, 0);
    const before = lives();
    await done({ act: "kill-client", how: "now" });
    await eventually(async () => (lives() > before ? true : undefined));
    await done({ act: "kill-client", how: "at-decision" });
    await eventually(async () => (lives() > before + 1 ? true : undefined));
    await committed(10);
    await lookedAt(2);
    expect(violations()).toEqual([]);
  });

  test("the oracle stands still until it may go on; whoever needs no stream commits", async () => {
    await done({ act: "freeze", process: "oracle" });
    expect(stateOf("oracle")).toBe("frozen");
    await committed(5);
    await done({ act: "resume", process: "oracle" });
    expect(stateOf("oracle")).toBe("running");
    await committed(10);
    await lookedAt(2);
    expect(violations()).toEqual([]);
  });

  test("a killed function is started again, also one that stood still", async () => {
    await done({ act: "freeze", process: "replay" });
    await done({ act: "kill", process: "replay" });
    await stack.waitReady("replay");
    expect(breaker.state().processes).toContainEqual({
      name: "replay",
      state: "running",
      kills: 1,
    });
    await committed(5);
    await lookedAt(1);
    expect(violations()).toEqual([]);
  });

  test("stores that refuse a share of their calls slow it down and break nothing", async () => {
    expect(await done({ act: "throttle", percent: 30 })).toMatchObject({ throttlePercent: 30 });
    await committed(5);
    await done({ act: "throttle", percent: 0 });
    await committed(10);
    await lookedAt(2);
    expect(violations()).toEqual([]);
  });

  test("it ends in order, and what was done is listed, newest first", async () => {
    await done({ act: "traffic", clients: 0, keys: 4 });
    expect(breaker.state().traffic.clients).toEqual([]);
    const [last] = breaker.state().deeds;
    expect(last?.text).toBe("stopped the traffic");
    expect(breaker.state().deeds.at(-1)?.text).toBe("started 3 clients on 4 accounts");
  });
});
