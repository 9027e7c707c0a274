/**
 * Clients that meet what another has prepared and left, on real stores, by either way: they settle
 * it and go on, and their bodies do not run again (docs/protocol.md §3, What is prepared).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TableDescription } from "../../../core/types.ts";
import type { EngineTransaction } from "../../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../../harness/local-deployment.ts";
import { preparing, sendRequest, verdictOn, voterAt } from "../../harness/voters.ts";
import { key, number, readOne } from "../../integration/support.ts";

let deployment: LocalDeployment;
let table: TableDescription;
let n = 0;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  table = await deployment.stores.createTable("rows");
});
afterAll(() => deployment.stop());

describe.each(["stream", "express"] as const)("by %s", (commit) => {
  /** A client whose tail knows the log. */
  async function client() {
    const engine = deployment.openEngine({ commit });
    await engine.transact({}, (tx) => {
      tx.put(table.name, key(`first ${commit}`));
      return Promise.resolve();
    });
    return engine;
  }

  async function voter() {
    n += 1;
    return voterAt(deployment.stores, n);
  }

  test("I4: who writes what is about to be written has it voted down first", async () => {
    const { stores } = deployment;
    const engine = await client();
    const left = await voter();
    let bodies = 0;
    const { receipt } = await engine.transact({}, async (tx) => {
      bodies += 1;
      tx.put(table.name, { ...left.item, n: number(100) });
      // Behind its back: the log, and not the client, knows what stands in the way.
      if (bodies === 1) await sendRequest(stores, preparing(table, left));
    });
    expect(bodies).toBe(1);
    const { verdict: prepared } = await verdictOn(stores, left.id, { above: 0 as never });
    expect(prepared.kind).toBe("prepared");
    const { verdict } = await verdictOn(stores, left.id, { above: prepared.timestamp });
    expect(verdict).toMatchObject({ kind: "aborted", reason: { kind: "probed" } });
    expect(receipt.commitTimestamp).toBeGreaterThan(verdict.timestamp);
    const name = key(`prepared ${n.toString()}`);
    expect(await readOne(engine, table, name)).toMatchObject({ n: number(100) });
  });

  test("I4: who has many in his way has them voted down together", async () => {
    const { stores } = deployment;
    const engine = await client();
    const left = [await voter(), await voter(), await voter(), await voter(), await voter()];
    for (const each of left) await sendRequest(stores, preparing(table, each));
    const body = (tx: EngineTransaction) => {
      for (const { item } of left) tx.put(table.name, { ...item, n: number(100) });
      return Promise.resolve();
    };
    // One after the other they would take 5 s: each is met with more patience than the last.
    const { receipt } = await engine.transact({ deadlineMs: 4_000, attemptsMax: 1 }, body);
    for (const { id } of left) {
      const { verdict: prepared } = await verdictOn(stores, id, { above: 0 as never });
      const { verdict } = await verdictOn(stores, id, { above: prepared.timestamp });
      expect(verdict).toMatchObject({ kind: "aborted", reason: { kind: "probed" } });
      expect(receipt.commitTimestamp).toBeGreaterThan(verdict.timestamp);
    }
  });

  test("I4: who has read it runs again once a vote has committed it", async () => {
    const { stores } = deployment;
    const engine = await client();
    const voting = await voter();
    const name = key(`prepared ${n.toString()}`);
    const read: unknown[] = [];
    await engine.transact({}, async (tx) => {
      const found = await tx.get(table.name, name);
      read.push(found?.["n"]);
      tx.put(table.name, { ...key(`copy ${n.toString()}`), n: found?.["n"] ?? number(0) });
      if (read.length > 1) return;
      const { verdict } = await sendRequest(stores, preparing(table, voting));
      const { id, proof } = voting;
      await sendRequest(stores, { id, kind: "vote", vote: { proof, stamps: [] } });
      expect(verdict.kind).toBe("prepared");
    });
    expect(read).toEqual([undefined, voting.item["n"]]);
  });

  test("I4: what touches nothing of it does not wait", async () => {
    const { stores } = deployment;
    const engine = await client();
    const left = await voter();
    const { verdict: prepared } = await sendRequest(stores, preparing(table, left));
    await engine.transact({}, (tx) => {
      tx.put(table.name, key(`other ${n.toString()}`));
      return Promise.resolve();
    });
    // Nobody has decided it; it is asked for, which does.
    expect(await engine.outcome(left.id)).toMatchObject({ kind: "aborted" });
    expect(prepared.kind).toBe("prepared");
  });
});
