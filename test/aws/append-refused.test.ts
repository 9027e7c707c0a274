/** What a refused append tells, by a store that knows the question (DynamoDB) and by dynalite. */
import { expect, test } from "vitest";
import type { LogPosition } from "../../core/types.ts";
import { createTestCloud } from "../../testing/index.ts";

test("I1: a refused append brings the block that stands there", async () => {
  const cloud = await createTestCloud({ tables: [] });
  const { deployment, world } = cloud;
  await cloud.run(async () => {
    const { log } = deployment.portsOf(world.startProcess("other", { exact: true }), {
      calm: true,
    });
    const position = 7 as LogPosition;
    const first = { position, bytes: Uint8Array.of(1, 2, 3) };
    expect(await log.append(deployment.shard, first)).toBe("appended");
    const second = { position, bytes: Uint8Array.of(4) };
    expect(await log.append(deployment.shard, second)).toEqual({ taken: first });
  });
});
