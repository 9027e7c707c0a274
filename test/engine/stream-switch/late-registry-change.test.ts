/** What provisioning records of the stream, by a put that comes late (aws/control-registry.ts). */
import { expect, test, vi } from "vitest";
import { createTestCloud } from "../../../testing/index.ts";
import { minuteMs, operatorOf } from "./stream-operator.ts";

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

test("a stream that was opened since the look is not recorded as gone", async () => {
  const cloud = await createTestCloud();
  const { deployment, world } = cloud;
  const reading = world.startProcess("reading", { exact: true });
  const { control } = deployment.portsOf(reading, { calm: true });
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await cloud.run(
    async () => {
      await operatorOf(cloud)("closing");
      let comes: () => void = () => undefined;
      const hasCome = new Promise<void>((resolve) => {
        comes = resolve;
      });
      const takesAway = operatorOf(cloud, {
        async beforeStreamEntry() {
          comes();
          await released;
        },
      });
      const takenAway = takesAway(false);
      await Promise.race([hasCome, takenAway]);
      await operatorOf(cloud)(true);
      release();
      await takenAway;
      expect(await control.registry()).toMatchObject({ streamless: false });
    },
    { limitMs: 120 * minuteMs },
  );
});

test("who closes a stream that another opens meanwhile is told so", async () => {
  const cloud = await createTestCloud();
  const { deployment, world } = cloud;
  const reading = world.startProcess("reading", { exact: true });
  const { control } = deployment.portsOf(reading, { calm: true });
  const said: string[] = [];
  let opened: Promise<unknown> | undefined;
  await cloud.run(
    async () => {
      const closes = operatorOf(cloud, {
        async beforeStreamEntry() {
          opened ??= operatorOf(cloud)(true);
          await opened;
        },
      });
      await closes("closing").catch((error: unknown) => said.push(String(error)));
      expect(await control.registry()).toMatchObject({ streamless: false });
    },
    { limitMs: 120 * minuteMs },
  );
  expect(said).toEqual([expect.stringContaining("opened again by somebody else")]);
});
