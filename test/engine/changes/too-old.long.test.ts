/** Feeds whose position lies behind what the log keeps: nine days of functions on schedules. */
import { describe, expect, test } from "vitest";
import { ChangesExpiredError, defineBase } from "../../../sdk/index.ts";
import { parsePosition } from "../../../engine/changes/position.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { bankTables as tables, ids, move, openAccounts, ways } from "../sharded/bank.ts";
import * as base from "../base/transfers.ts";
import { operatorOf, take } from "./feed.ts";

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
      const [next] = await take(cloud.createClient(), 1, { from: oldest });
      expect(next?.rows).toHaveLength(2);
    });
  }, 60_000);
});

describe.each(ways)("a consumer whose position is too old, by %s", (_, way) => {
  test("is not moved there, but to the oldest, and goes on from it", async () => {
    const cloud = await createTestCloud({ ...way, tables });
    const client = cloud.createClient();
    const positions: string[] = [];
    const consume = (): Promise<void> =>
      client.consume({ name: "late", first: "oldest", until: "caught-up" }, (change) => {
        positions.push(change.position);
        return Promise.resolve();
      });
    await cloud.run(async () => {
      await openAccounts(client);
      await consume();
    });
    for (let day = 0; day < 9; day += 1) {
      await cloud.advance(24 * 3_600_000);
      await cloud.run(() => move(client, [ids[day] ?? "", ids[day + 1] ?? ""]));
    }
    await cloud.run(async () => {
      await expect(consume()).rejects.toBeInstanceOf(ChangesExpiredError);
      const feeds = operatorOf(cloud);
      const to = parsePosition(positions[0] ?? "") ?? "now";
      const moving = feeds.move("late", { to, again: false });
      await expect(moving).rejects.toBeInstanceOf(ChangesExpiredError);
      await expect(consume()).rejects.toBeInstanceOf(ChangesExpiredError);
      await feeds.move("late", { to: "oldest", again: false });
      await consume();
      expect(positions.length).toBeGreaterThan(1);
    });
  }, 60_000);
});

describe.each(ways)("a BASE transaction that is open for nine days, by %s", (_, way) => {
  test("is given whole by a feed that was there, and refused to one begun since", async () => {
    const cloud = await createTestCloud({ ...way, tables: base.tables });
    const client = cloud.createClient();
    const day = 24 * 3_600_000;
    const long = defineBase("long", { silentMsMax: day }, async (of, id: string) => {
      await of.step("first", async (tx) => {
        const row = await tx.get(base.accounts, id);
        tx.put(base.accounts, { id, amount: (row?.amount ?? 0) + 1 });
      });
      // Who makes no step for a day is taken for one that hangs.
      for (let at = 1; at <= 18; at += 1) {
        await cloud.clock.sleep(day / 2);
        await of.step(`half day ${at}`, () => Promise.resolve(null));
      }
      return {};
    });
    const amounts = (changes: Awaited<ReturnType<typeof take>>) =>
      changes.map((change) => change.of(base.accounts).map(({ after }) => after?.amount));
    const reading = take(cloud.createClient("there"), 2, { from: "oldest", pollMs: 60_000 });
    const opened = await cloud.run(async () => {
      await base.openAccounts(client);
      return client.base(long, "a", { id: "1" });
    });
    for (let at = 0; at < 9; at += 1) await cloud.advance(day);
    await cloud.run(async () => {
      await opened.accepted.result({ deadlineMs: 60_000 });
      const [, release] = await reading;
      expect(release?.bases).toEqual(["long/1"]);
      expect(amounts(release === undefined ? [] : [release])).toEqual([[101]]);
      const late = cloud.createClient("late");
      const error: unknown = await take(late, 1, { from: "oldest" }).catch(
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(ChangesExpiredError);
      const { oldest } = error as ChangesExpiredError;
      expect(oldest).toBe((release?.commitTimestamp ?? 0) + 1);
      const next = take(late, 1, { from: oldest });
      await client.transact(async (tx) => {
        await tx.get(base.accounts, "a");
        tx.put(base.accounts, { id: "a", amount: 7 });
      });
      expect(amounts(await next)).toEqual([[7]]);
    });
  }, 120_000);
});
