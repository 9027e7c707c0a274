/** A counter in a test's cloud, and a client that raises it. */
import { type Client, defineTable, type TransactOptions } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../testing/index.ts";

export const counters = defineTable<{ value: number }, { id: string }>("counters", { key: "id" });
export const ann = { id: "ann" };

export async function cloudWithAnn(seed = 1): Promise<TestCloud> {
  const cloud = await createTestCloud({ seed, tables: [counters] });
  cloud.seed(counters, [{ id: "ann", value: 1 }]);
  return cloud;
}

/** Reads the counter, and writes one more. */
export function increment(
  client: Client,
  options: TransactOptions = {},
): ReturnType<typeof client.transact<number>> {
  return client.transact(options, async (tx) => {
    const value = ((await tx.get(counters, ann))?.value ?? 0) + 1;
    tx.put(counters, ann, { value });
    return value;
  });
}

export async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

export function valueOf(cloud: TestCloud): number | undefined {
  return cloud.rows(counters).find(({ id }) => id === "ann")?.value;
}
