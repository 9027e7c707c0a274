/**
 * A plain writer takes away what a commit has just put over a commit of a dead client, while replay
 * leaves that one to its client. Directed steps, since a run's clients write nothing past Tidemark:
 *
 *   a batch of replay's      filler ── first, by a process that dies
 *   meanwhile                          second, installed ── plain delete
 *   replay                             looks: nothing is there
 *   its next batch                                            second, and the report of it
 *
 * The row may be gone in the end, or the second one's: never the first one's. How far into a batch
 * the first one comes differs from row to row, so that in some of them its batch ends in between.
 */
import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import * as limits from "../../core/limits.ts";
import { functionSettings } from "../../functions/shared/settings.ts";
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import type { CalmStage } from "../calm-stage.ts";
import { WorkloadFinding, type Client } from "./workload.ts";

const taken = defineTable<{ readonly by: string }, { readonly row: string }>("taken", {
  key: "row",
});
/** No judge may wonder at it: its rows go without a commit. */
export const takenTable = testTable("taken", { partitionKey: "row" });

const rowCount = 8;
const { windowSeconds } = functionSettings.replay.mapping;

export async function takeAway(stage: CalmStage): Promise<void> {
  const { cloud } = stage;
  const writer = stage.client("overwriter");
  for (let i = 0; i < rowCount; i += 1) {
    const row = `taken-${i.toString()}`;
    await cloud.settled();
    await put(writer, "filler", "overwriter");
    await cloud.clock.sleep(((i + 1) / (rowCount + 1)) * windowSeconds * 1_000);
    const { client, died } = stage.dying(`first writer of ${row}`);
    void put(client, row, "first");
    await died;
    await cloud.clock.sleep(limits.ownInstallPatienceMs * 0.4);
    await put(writer, row, "second");
    await cloud.dynamodb.send(
      new DeleteItemCommand({ TableName: takenTable.name, Key: { row: { S: row } } }),
    );
    // Takes the report along.
    await put(writer, "filler", "overwriter");
    await cloud.settled();
    const [found] = cloud.rows(taken).filter((each) => each.row === row);
    if (found?.by === "first") throw new WorkloadFinding(`I9: ${row} is the first one's again`);
  }
}

async function put(client: Client, row: string, by: string): Promise<void> {
  await client.transact({ ack: "installed" }, (tx) => {
    tx.put(taken, { row, by });
    return Promise.resolve();
  });
}
