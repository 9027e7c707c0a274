/** What a test's cloud and its clients take. */
import { expect, test } from "vitest";
import { createTestCloud } from "../../testing/index.ts";

test("options that there are not, or that cannot be, are refused by name", async () => {
  const wrong: readonly (readonly [field: string, options: object])[] = [
    ["faults.no-such", { faults: { "no-such": 1 } }],
    ["faults.slow-service", { faults: { "slow-service": 2 } }],
    ["fault", { fault: { "slow-service": 0.1 } }],
    ["oracleConsumer", { oracleConsumer: "fanout" }],
    ["historyRetentionMs", { historyRetentionMs: 1 }],
  ];
  for (const [field, options] of wrong) {
    await expect(createTestCloud(options)).rejects.toMatchObject({ field });
  }
  const cloud = await createTestCloud();
  const misspelt = { chianing: false } as object;
  expect(() => cloud.startProcess("app", misspelt)).toThrow(/there is no option `chianing`/u);
});
