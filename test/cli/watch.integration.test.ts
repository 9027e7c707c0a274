/** `status --watch` and `log --follow` where the deployment goes away while somebody looks. */
import { expect, test } from "vitest";
import { startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { createClient, defineTable } from "../../sdk/index.ts";
import { eventually, started, tidemark } from "./fixtures/command-line.ts";

type Account = { readonly id: string; readonly cents: number };
const accounts = defineTable<Account, { readonly id: string }>("accounts", { key: "id" });

test("they tell of an outage, and go on; one that was never there ends them", async () => {
  const stack = await startEmbeddedStack({ tablesOnly: true });
  const target = ["--json", "--endpoint", stack.endpoint];
  const watchArgs = ["status", "--watch", "1s", ...target];
  const watch = started(watchArgs);
  const follow = started(["log", "--follow", ...target]);
  await using db = createClient({ endpoint: stack.endpoint });
  await db.transact(async (tx) => tx.put(accounts, { id: "ann", cents: 1 }));
  await eventually(async () => (watch.out() === "" || follow.out() === "" ? undefined : true));
  await stack.stop();
  const told = await eventually(async () => {
    const lines = watch.err().trimEnd().split("\n");
    return lines.length > 1 && follow.err() !== "" ? lines : undefined;
  });
  const toldOnce = follow.err().trimEnd().split("\n");
  for (const line of [...told, ...toldOnce]) {
    expect(JSON.parse(line)).toMatchObject({ error: { code: "unavailable" } });
  }
  expect(toldOnce).toHaveLength(1);
  watch.stop();
  follow.stop();
  expect(await Promise.all([watch.ended, follow.ended])).toEqual([1, 1]);

  const never = await tidemark(watchArgs);
  expect([never.code, never.out]).toEqual([1, ""]);
  expect(never.err.trimEnd().split("\n")).toHaveLength(1);
});

test("log --follow shows the log of a stack that was made anew from its beginning", async () => {
  const first = await startEmbeddedStack({ tablesOnly: true });
  const { endpoint, endpoints } = first;
  const portOf = (url: string): number => Number(new URL(url).port);
  const ports = { api: portOf(endpoint), dynamodb: portOf(endpoints.dynamodb) };
  const follow = started(["log", "--follow", "--endpoint", endpoint]);
  const put = async (id: string): Promise<void> => {
    await using db = createClient({ endpoint });
    await db.transact(async (tx) => tx.put(accounts, { id, cents: 1 }));
  };
  await put("ann");
  await eventually(async () => (follow.out().includes('"ann"') ? true : undefined));
  await first.stop();
  await eventually(async () => (follow.err() === "" ? undefined : true));
  const second = await startEmbeddedStack({ tablesOnly: true, ports });
  await put("bob");
  await put("eve");
  await eventually(async () => (follow.out().includes('"eve"') ? true : undefined));
  follow.stop();
  expect(await follow.ended).toBe(0);
  await second.stop();
  expect(follow.out().match(/"(ann|bob|eve)"/g)).toEqual(['"ann"', '"bob"', '"eve"']);
  expect(follow.out()).not.toContain("is no block");
  const [outage, anew, ...more] = follow.err().trimEnd().split("\n");
  expect(outage).toContain("the store did not answer");
  expect([anew, ...more]).toEqual(["tidemark: the stack was made anew, and its log begins again"]);
});
