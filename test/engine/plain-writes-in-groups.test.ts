/**
 * A plain write after the commit of transactions that went as one: that one of them has read the
 * item with a version counts for all (docs/protocol.md §7, Plain writes).
 */
import { expect, test } from "vitest";
import { createClientEngine } from "../../engine/client-engine.ts";
import { type HeldProcess, heldProcess } from "./held-process.ts";

async function committedElsewhere(app: HeldProcess, id: string, n: number): Promise<void> {
  const { deployment, world } = app.cloud;
  const process = world.startProcess("foreign", { exact: true });
  const foreign = createClientEngine(deployment.clientPortsOf(process), { commit: "stream" });
  await foreign.transact({}, (tx) => {
    tx.put("items", { id: { S: id }, n: { N: n.toString() } });
    return Promise.resolve();
  });
}

test.each([1, 2, 3])("replay leaves a plain write that came after %i of them", async (members) => {
  const app = await heldProcess();
  const { cloud } = app;
  const places: string[] = [];
  await cloud.run(async () => {
    await committedElsewhere(app, "b", 10);
    await cloud.clock.sleep(120_000);
    // An undecided commit in front, so that the next ones gather behind it.
    app.holdNextPut();
    const front = app.increment("a");
    await app.heldPut;
    const raise = async (also: readonly string[]): Promise<string> => {
      const { receipt } = await app.engine.transact({ ack: "certified" }, async (tx) => {
        for (const id of also) await app.numberOf(tx, id);
        const n = (await app.numberOf(tx, "b")) + 1;
        tx.put("items", { id: { S: "b" }, n: { N: n.toString() } });
      });
      return `${receipt.transactionId ?? ""} ${receipt.place.toString()}`;
    };
    const raised = [raise(["a"])];
    for (let i = 1; i < members; i += 1) {
      await cloud.clock.sleep(100);
      raised.push(raise([]));
    }
    await cloud.clock.sleep(100);
    // Its installs never come: the process dies right after the commit.
    app.holdInstalls();
    app.releasePut();
    places.push(...(await Promise.all(raised)));
    front.catch(() => undefined);
    const Item = { id: { S: "b" }, n: { N: "100" } };
    cloud.world.dynamodb.execute("PutItem", { TableName: "items", Item });
    await cloud.clock.sleep(120_000);
  });
  expect(new Set(places.map((place) => place.split(" ")[0])).size).toBe(1);
  expect(app.rows()["b"]).toBe(100);
});
