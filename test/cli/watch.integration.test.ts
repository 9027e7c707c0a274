/** `status --watch` where the deployment goes away while somebody looks. */
import { expect, test } from "vitest";
import { startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { eventually, started, tidemark } from "./fixtures/command-line.ts";

test("it tells of an outage, and goes on; one that was never there ends it", async () => {
  const stack = await startEmbeddedStack({ tablesOnly: true, sampleTables: false });
  const args = ["status", "--watch", "1s", "--json", "--endpoint", stack.endpoint];
  const watch = started(args);
  await eventually(async () => (watch.out() === "" ? undefined : true));
  await stack.stop();
  const told = await eventually(async () => {
    const lines = watch.err().trimEnd().split("\n");
    return lines.length > 1 ? lines : undefined;
  });
  for (const line of told) {
    expect(JSON.parse(line)).toMatchObject({ error: { code: "unavailable" } });
  }
  watch.stop();
  expect(await watch.ended).toBe(1);

  const never = await tidemark(args);
  expect([never.code, never.out]).toEqual([1, ""]);
  expect(never.err.trimEnd().split("\n")).toHaveLength(1);
});
