/** The console as it looks at a deployment on AWS: by its token alone, and without a write. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { About, RowsPage, WireError } from "../../console/wire.ts";
import {
  accounts,
  answered,
  committed,
  logEnd,
  startSmallDeployment,
  untilInstalled,
  type SmallDeployment,
} from "../cli/fixtures/small-deployment.ts";
import { eventually } from "../cli/fixtures/command-line.ts";
import { servedConsole, type ServedConsole } from "./fixtures/served-console.ts";

let small: SmallDeployment;
let served: ServedConsole;

beforeAll(async () => {
  small = await startSmallDeployment();
  const { deployment, region, endpoints } = small.stack;
  served = await servedConsole({ deployment, region, endpoints });
  await committed(small.express, async (tx) => {
    tx.put(accounts, { id: "ann", cents: 1 });
  });
}, 60_000);

afterAll(async () => {
  await served.close();
  await small.stop();
  expect(served.defects).toEqual([]);
});

const withToken = () => ({ headers: { authorization: `Bearer ${served.token}` } });

test("nothing but the page itself is shown without the token", async () => {
  expect((await fetch(served.origin)).status).toBe(200);
  for (const path of ["about", "events", "log?shard=0", "tables/accounts/rows"]) {
    expect((await served.asked(`/api/${path}`)).status).toBe(401);
  }
  const { status, body } = await served.asked("/api/about", withToken());
  expect(status).toBe(200);
  expect(body as About).toMatchObject({ place: "in us-east-1", canBreak: false });
});

test("a table is read, now and as of a moment", async () => {
  await untilInstalled(small);
  const now = await served.asked("/api/tables/accounts/rows", withToken());
  expect(now).toMatchObject({ status: 200, body: { rows: [{ item: { cents: { N: "1" } } }] } });
  const { at } = now.body as RowsPage;
  const then = await served.asked(`/api/tables/accounts/rows?at=${at}`, withToken());
  expect(then).toMatchObject({ status: 200, body: { rows: [{ item: { cents: { N: "1" } } }] } });
});

test("what nobody has installed it leaves to others, and says so", async () => {
  await untilInstalled(small);
  small.stack.freeze("replay");
  onTestFinished(() => {
    small.stack.resume("replay");
  });
  const { timestamp } = await logEnd(small);
  await answered(small, {
    kind: "commit",
    table: "accounts",
    item: { id: { S: "bob" }, cents: { N: "5" } },
    checkedTo: timestamp,
  });
  const refused = await served.asked("/api/tables/accounts/rows", withToken());
  expect(refused.status).toBe(503);
  expect((refused.body as WireError).error.message).toContain("the console only reads");
  small.stack.resume("replay");
  const rows = await eventually(async () => {
    const { status, body } = await served.asked("/api/tables/accounts/rows", withToken());
    return status === 200 ? (body as RowsPage).rows : undefined;
  });
  expect(rows).toHaveLength(2);
});
