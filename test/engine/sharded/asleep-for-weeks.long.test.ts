/** Processes that sleep until all blocks that they have not read have expired. */
import { describe, expect, test } from "vitest";
import { createTestCloud } from "../../../testing/index.ts";
import { accounts, bankTables } from "./bank.ts";

const ways = [
  ["blocks of its own", { commit: "express" }],
  ["the stream", { commit: "stream" }],
] as const;

describe.each(ways)("who has slept until all has expired, by %s", (_, way) => {
  // Ten days of functions on their schedules take their time: each question by one way.
  const questions = way.commit === "express" ? (["only writes"] as const) : (["reads"] as const);
  test.each(questions)(
    "goes on where the log ends, if it %s",
    async (what) => {
      const cloud = await createTestCloud({ ...way, tables: bankTables });
      const put = (client: ReturnType<typeof cloud.createClient>, amount: number) =>
        client.transact((tx) => {
          tx.put(accounts, { id: "a", amount });
          return Promise.resolve();
        });
      const [early, writer] = [cloud.createClient("early"), cloud.createClient("writer")];
      await cloud.run(async () => {
        await put(early, 1);
        for (const amount of [2, 3, 4]) await put(writer, amount);
      });
      for (let days = 0; days < 10; days += 1) await cloud.advance(24 * 3_600_000);
      await cloud.run(async () => {
        if (what === "reads") {
          const row = await early.snapshot((s) => s.get(accounts, "a"));
          expect(row).toMatchObject({ amount: 4 });
        }
        await put(early, 5);
        for (const reader of [early, cloud.createClient("late")]) {
          const row = await reader.snapshot((s) => s.get(accounts, "a"));
          expect(row).toMatchObject({ amount: 5 });
        }
        await put(writer, 6);
        const row = await cloud.createClient("later").snapshot((s) => s.get(accounts, "a"));
        expect(row).toMatchObject({ amount: 6 });
      });
    },
    60_000,
  );
});
