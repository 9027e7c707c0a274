/**
 * A failed transaction must not end its process: promises of a body that has failed already reject
 * unhandled.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, defineTable, type Client } from "../../sdk/index.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { unhandledDuring } from "../harness/unhandled-rejections.ts";
import { failureOf } from "./support.ts";

let deployment: LocalDeployment;
let client: Client;
let other: Client;
let rows: ReturnType<typeof defineRows>;

function defineRows(name: string) {
  return defineTable<{ readonly pk: string; readonly n: number }, { readonly pk: string }>(name);
}

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { name } = await deployment.stores.createTable("rejections");
  rows = defineRows(name);
  const { endpoint, region, credentials } = deployment.stores.clientOptions;
  const options = {
    deployment: deployment.stores.deployment,
    endpoints: endpoint,
    region,
    credentials,
  };
  client = createClient(options);
  other = createClient(options);
});

afterAll(async () => {
  await Promise.all([client.close(), other.close()]);
  await deployment.stop();
});

test("two reads begun together that meet one conflict reject, and the body reruns", async () => {
  await client.transact((tx) => {
    for (const pk of ["a", "b", "c"]) tx.put(rows, { pk, n: 1 });
    return Promise.resolve();
  });
  let runs = 0;
  const unhandled = await unhandledDuring(() =>
    client.transact(async (tx) => {
      runs += 1;
      await tx.get(rows, { pk: "a" });
      if (runs === 1) {
        await other.transact((their) => {
          for (const pk of ["a", "b", "c"]) their.put(rows, { pk, n: 2 });
          return Promise.resolve();
        });
      }
      const b = tx.get(rows, { pk: "b" });
      const c = tx.batchGet(rows, [{ pk: "c" }]);
      tx.put(rows, { pk: "sum", n: ((await b)?.n ?? 0) + ((await c)[0]?.n ?? 0) });
    }),
  );
  expect({ runs, unhandled }).toEqual({ runs: 2, unhandled: [] });
});

test("two updates begun together that meet one conflict reject, and the body reruns", async () => {
  await client.transact((tx) => {
    for (const pk of ["a", "b", "c"]) tx.put(rows, { pk, n: 1 });
    return Promise.resolve();
  });
  let runs = 0;
  const increment = (pk: string) => (row: { readonly n: number } | undefined) => ({
    pk,
    n: (row?.n ?? 0) + 1,
  });
  const unhandled = await unhandledDuring(() =>
    client.transact(async (tx) => {
      runs += 1;
      await tx.get(rows, { pk: "a" });
      if (runs === 1) {
        await other.transact((their) => {
          for (const pk of ["a", "b", "c"]) their.put(rows, { pk, n: 2 });
          return Promise.resolve();
        });
      }
      const b = tx.update(rows, { pk: "b" }, increment("b"));
      const c = tx.update(rows, { pk: "c" }, increment("c"));
      // Both have failed before the body comes to wait for them.
      await new Promise((resolve) => setTimeout(resolve, 100));
      await b;
      await c;
    }),
  );
  expect({ runs, unhandled }).toEqual({ runs: 2, unhandled: [] });
  expect(await client.snapshot((s) => s.get(rows, { pk: "c" }))).toMatchObject({ n: 3 });
});

test("an update under way when its body throws rejects unhandled", async () => {
  const unhandled = await unhandledDuring(() =>
    failureOf(
      client.transact((tx) => {
        void tx.update(rows, { pk: "a" }, { n: 3 });
        return Promise.reject(new Error("changed my mind"));
      }),
    ),
  );
  expect(unhandled).toEqual([]);
});
