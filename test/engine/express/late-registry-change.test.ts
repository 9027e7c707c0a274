/** What provisioning records of the stream, by a put that comes late (aws/control-registry.ts). */
import { expect, test, vi } from "vitest";
import { createTestCloud } from "../../../testing/index.ts";

test("a stream that has gone again is not recorded anew by an earlier put", async () => {
  const cloud = await createTestCloud();
  const { deployment, world } = cloud;
  const operator = world.startProcess("operator", { exact: true });
  const { control } = deployment.portsOf(operator, { calm: true });
  await cloud.run(async () => {
    await control.recordStream(false);
    const execute = vi.spyOn(world.dynamodb, "execute");
    await control.recordStream(true);
    const put = execute.mock.calls.find(([operation]) => operation === "PutItem");
    execute.mockRestore();
    if (put === undefined) throw new Error("nothing was put");
    await control.recordStream(false);
    // The same try once more: the answer to it was lost, or it was under way for that long.
    expect(() => world.dynamodb.execute(...put)).toThrow("conditional");
    expect(await control.registry()).toMatchObject({ streamless: true });
  });
});
