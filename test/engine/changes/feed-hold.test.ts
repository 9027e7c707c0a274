/** I11: the position of a feed that somebody is at is never put back. */
import { expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import { FeedHold } from "../../../engine/changes/feed-hold.ts";
import { parsePosition } from "../../../engine/changes/position.ts";
import { createTestCloud, testTable } from "../../../testing/index.ts";

test("a consumer that would go back puts nothing", async () => {
  const cloud = await createTestCloud({ tables: [testTable("orders", { partitionKey: "id" })] });
  await cloud.run(async () => {
    const process = cloud.world.startProcess("consumer", { exact: true });
    const ports = cloud.deployment.clientPortsOf(process, { calm: true });
    const { feeds } = ports;
    if (feeds === undefined) throw new Error("a client has a store of positions");
    const hold = new FeedHold(feeds, { name: "search", tables: undefined }, ports);
    expect(await hold.take(undefined)).toBe(true);
    const [earlier, later] = ["1790000000000000", "1790000000000001"];
    hold.position = parsePosition(later);
    await hold.keepNowAndThen();
    const kept = await feeds.read("search");
    expect(kept).toMatchObject({ position: later });
    hold.position = parsePosition(earlier);
    await cloud.clock.sleep(limits.feedKeepMs);
    await expect(hold.keepNowAndThen()).rejects.toThrow("I11: the position of the feed search");
    expect(await feeds.read("search")).toEqual(kept);
  });
});
