/** Feeds whose position lies behind what the log keeps: nine days of functions on schedules. */
import { describe, expect, test } from "vitest";
import { ChangesExpiredError } from "../../../sdk/index.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { bankTables as tables, ids, move, openAccounts, ways } from "../sharded/bank.ts";
import { take } from "./feed.ts";

describe.each(ways)("a position that is too old, by %s", (_, way) => {
  test("is refused with the oldest that can be had", async () => {
    const cloud = await createTestCloud({ ...way, tables });
    const client = cloud.createClient();
    const position = await cloud.run(async () => {
      await openAccounts(client);
      const [first] = await take(client, 1, { from: "oldest" });
      return first?.position ?? "";
    });
    for (let day = 0; day < 9; day += 1) {
      await cloud.advance(24 * 3_600_000);
      await cloud.run(() => move(client, [ids[day] ?? "", ids[day + 1] ?? ""]));
    }
    await cloud.run(async () => {
      const error = await take(cloud.createClient(), 1, { from: position }).catch(
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(ChangesExpiredError);
      const { oldest } = error as ChangesExpiredError;
      const [next] = await take(cloud.createClient(), 1, { from: oldest.toString() });
      expect(next?.rows).toHaveLength(2);
    });
  }, 60_000);
});
