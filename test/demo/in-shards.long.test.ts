/** `npm run demo` with native programs and BASE transactions, over several shards: a minute. */
import { expect, test } from "vitest";
import { expectGreen, runDemo, small } from "./run-demo.ts";

test("native programs and BASE transactions over two shards are audited green", async () => {
  const demo = await runDemo(
    ...["--shards", "2", "--native", "--base"],
    ...[...small, "--seconds", "3", "--seed", "5"],
  );
  const report = expectGreen(demo);
  expect(report.native?.sold).toBeGreaterThan(0);
  expect(report.base).toBeDefined();
});
