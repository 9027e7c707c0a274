/**
 * What a call leaves behind, how its caller ends it, and reads of the past where nothing keeps it.
 */
import { getEventListeners } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../aws/system.ts";
import { CommitUnknownError, SnapshotTooOldError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { TableDescription } from "../../core/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { deleteAll, failureOf, key, number, putAll } from "./support.ts";

let deployment: LocalDeployment;
let table: TableDescription;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  table = await deployment.stores.createTable("calls");
});

afterAll(() => deployment.stop());

test("leaves nothing on a signal that lives as long as its process; warns of no leak", async () => {
  const warnings: string[] = [];
  const note = (warning: Error): void => {
    if (warning.name.startsWith("MaxListeners")) warnings.push(warning.message);
  };
  process.on("warning", note);
  const shutdown = new AbortController();
  const engine = deployment.openEngine();
  for (let i = 0; i < 20; i += 1) {
    await engine.transact({ signal: shutdown.signal }, async (tx) => {
      await Promise.all(
        Array.from({ length: 20 }, (_, at) => tx.get(table.name, key(`a${at.toString()}`))),
      );
      tx.put(table.name, { ...key("left"), n: number(i) });
    });
  }
  const open = await engine.begin({ isolation: "serializable", signal: shutdown.signal });
  await open.get(table.name, key("left"));
  open.close();
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  expect(getEventListeners(shutdown.signal, "abort")).toEqual([]);
  expect(warnings).toEqual([]);
});

test("a transaction without a closure ends reads and commit at its caller's signal", async () => {
  const engine = deployment.openEngine();
  const reading = new AbortController();
  const first = await engine.begin({ isolation: "serializable", signal: reading.signal });
  reading.abort(new Error("given up"));
  await expect(first.get(table.name, key("a"))).rejects.toThrow("given up");
  first.close();

  await deployment.oracle.stop();
  const second = await engine.begin({ isolation: "serializable" });
  second.put(table.name, { ...key("undecided"), n: number(1) });
  const committing = new AbortController();
  const failure = failureOf(second.commit({ signal: committing.signal }));
  // It is sent off by then, on a busy machine, too: before that it would not be unknown.
  setTimeout(() => {
    committing.abort();
  }, 2_000);
  try {
    expect(await failure).toBeInstanceOf(CommitUnknownError);
  } finally {
    await deployment.oracle.start();
  }
});

test("I8: asOf without history never takes a reaped delete for no item at all", async () => {
  const writer = deployment.openEngine();
  const deleted = key("deleted since");
  const stood = await putAll(writer, table, [{ ...deleted, n: number(1) }]);
  const gone = await deleteAll(writer, table, [deleted]);
  // Sixteen minutes later the reaper has been there.
  await deployment.stores.ports.items.removeTombstone({
    table: table.name,
    key: deleted,
    version: gone.commitTimestamp ?? stood.readTimestamp,
  });
  const clock = {
    ...systemClock,
    nowMs: () => systemClock.nowMs() + limits.tombstoneGraceMs + 60_000,
  };
  const later = deployment.openEngine({ ports: { clock } });
  const asOf = stood.commitTimestamp ?? stood.readTimestamp;
  const reads = [
    () => later.snapshot({ asOf }, (snapshot) => snapshot.get(table.name, deleted)),
    () => later.snapshot({ asOf }, (s) => s.batchGet([{ table: table.name, key: deleted }])),
    () => later.snapshot({ asOf }, (snapshot) => snapshot.scanPage(table.name, {}, {})),
  ];
  for (const read of reads) expect(await failureOf(read())).toBeInstanceOf(SnapshotTooOldError);
});
