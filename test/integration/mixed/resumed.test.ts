/**
 * Transactions that go on in another process, over mixed tables: what that process must know of the
 * tables (engine/detached.ts). What it makes of reads is api-mixed-interactive.integration.test.ts.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConflictError } from "../../../core/errors.ts";
import type { TableDescription } from "../../../core/types.ts";
import type { TransactionState } from "../../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../../harness/local-deployment.ts";
import { failureOf, key, number, readOne } from "../support.ts";
import { Native } from "./native.ts";

let deployment: LocalDeployment;
let native: Native;
let plain: TableDescription;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  plain = await deployment.stores.createTable("plain");
  native = new Native(deployment.stores);
});
afterAll(async () => {
  native.close();
  await deployment.stop();
});

async function stateAfterReading(table: TableDescription): Promise<TransactionState> {
  await native.put(table, { ...key("a"), n: number(1) });
  const tx = await deployment.openEngine().begin({ isolation: "snapshot" });
  expect(await tx.get(table.name, key("a"))).toEqual({ ...key("a"), n: number(1) });
  tx.close();
  return tx.state();
}

test("a process whose registry is older than the table looks at it again", async () => {
  const older = deployment.openEngine();
  await readOne(older, plain, key("any"));
  const table = await deployment.stores.createTable("newer", { access: "mixed" });
  const state = await stateAfterReading(table);
  const tx = await older.resume(state, {});
  tx.put(plain.name, { ...key("a"), n: number(2) });
  await tx.commit({});
  expect(await readOne(older, plain, key("a"))).toEqual({ ...key("a"), n: number(2) });
});

test("also below serializable, what was read must be there still", async () => {
  const table = await deployment.stores.createTable("checked", { access: "mixed" });
  const state = await stateAfterReading(table);
  await native.put(table, { ...key("a"), n: number(5) });
  const tx = await deployment.openEngine().resume(state, {});
  tx.put(plain.name, key("b"));
  expect(await failureOf(tx.commit({}))).toMatchObject({
    code: "conflict",
    detail: { foundBy: "native", key: key("a") },
  });
});

test("what was read of a table that is not mixed any more proves nothing", async () => {
  const table = await deployment.stores.createTable("moved", { access: "mixed" });
  const { mixed, ...state } = await stateAfterReading(table);
  const keys = (mixed?.keys ?? []).map((each) => ({ ...each, table: plain.name }));
  const resumed = deployment.openEngine().resume({ ...state, mixed: { keys, pages: [] } }, {});
  const failure = await failureOf(resumed);
  expect(failure).toBeInstanceOf(ConflictError);
  expect(failure).toMatchObject({ detail: { table: plain.name, on: "table" } });
});
