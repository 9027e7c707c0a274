/** A feed that meets commits whose stream was taken away: what lay there is said to be gone. */
import { expect, test } from "vitest";
import { ChangesExpiredError, defineTable } from "../../../sdk/index.ts";
import { createTestCloud, testTable } from "../../../testing/index.ts";
import { take } from "./feed.ts";

const notes = defineTable<{ readonly n: number }, { readonly id: string }>("notes", { key: "id" });

test("what lay in a stream that was taken away has expired, the rest is to be had", async () => {
  const tables = [testTable("notes", { partitionKey: "id" })];
  const cloud = await createTestCloud({ tables });
  await cloud.run(async () => {
    const put = (client: ReturnType<typeof cloud.createClient>, id: string) =>
      client.transact((tx) => {
        tx.put(notes, { id, n: 1 });
        return Promise.resolve();
      });
    const early = cloud.createClient("early", { commit: "stream" });
    for (const id of ["a", "b", "c"]) await put(early, id);
    const [first] = await take(early, 1, { from: "oldest" });
    await early.close();
    await cloud.clock.sleep(60_000);
    await cloud.deployment.switchStream(false);
    const late = cloud.createClient("late");
    await put(late, "d");
    const behind = await take(late, 1, { from: first?.position ?? "" }).catch(
      (error: unknown) => error,
    );
    expect(behind).toBeInstanceOf(ChangesExpiredError);
    const [oldest] = await take(late, 1, { from: "oldest" });
    expect(oldest?.rows.map(({ key }) => key["id"])).toEqual(["d"]);
    const from = (behind as ChangesExpiredError).oldest;
    expect((await take(late, 1, { from }))[0]?.position).toBe(oldest?.position);
  });
});
