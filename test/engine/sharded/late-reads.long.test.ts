/** Bodies over several shards that do not wait for all that they have begun. */
import { expect, test } from "vitest";
import { ConflictError, defineTable } from "../../../sdk/index.ts";
import { createTestCloud, testTable } from "../../../testing/index.ts";

const accounts = defineTable<{ readonly amount: number }, { readonly id: string }>("accounts", {
  key: "id",
});

test.each([
  ["one shard", ["account-0"]],
  ["several shards", ["account-0", "account-1", "account-2"]],
] as const)(
  "what is written to %s by a read of another one, which nobody waited for, was checked",
  async (_, written) => {
    const read = "account-5";
    const cloud = await createTestCloud({
      ...{ shards: 8, commit: "stream" },
      tables: [testTable("accounts", { partitionKey: "id", history: true })],
    });
    const seen: unknown[] = [];
    const expected: unknown[] = [];
    await cloud.run(async () => {
      const [app, other] = [cloud.createClient("app"), cloud.createClient("other")];
      await app.transact((tx) => {
        for (const id of [...written, read]) tx.put(accounts, { id, amount: 0 });
        return Promise.resolve();
      });
      const over = new AbortController();
      const writing = (async () => {
        for (let amount = 1; !over.signal.aborted; amount += 1) {
          await other.transact((tx) => {
            tx.put(accounts, { id: read, amount });
            return Promise.resolve();
          });
        }
      })();
      for (let run = 0; run < 100; run += 1) {
        const committed = app.transact({ attemptsMax: 1 }, (tx) => {
          for (const id of written) tx.put(accounts, { id, amount: -1 });
          const late = async (): Promise<void> => {
            await cloud.clock.sleep(1 + (run % 30));
            const found = await tx.get(accounts, read);
            tx.put(accounts, { id: written[0], amount: found?.amount ?? 0 });
          };
          late().catch(() => undefined);
          return Promise.resolve();
        });
        const done = await committed.catch((error: unknown) => {
          if (!(error instanceof ConflictError)) throw error;
          return undefined;
        });
        const asOf = done?.receipt.commitTimestamp;
        if (asOf === undefined) continue;
        const rows = await app.snapshot({ asOf }, (s) => s.batchGet(accounts, [written[0], read]));
        const [copy, original] = rows.map((row) => row?.amount);
        if (copy === -1) continue;
        seen.push(copy);
        expected.push(original);
      }
      over.abort();
      await writing;
    });
    expect(seen).toEqual(expected);
  },
);
