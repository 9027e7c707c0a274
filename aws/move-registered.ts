/**
 * A move (move-table.ts) on a deployment's own tables. The commit that each settling needs is its
 * caller's: it takes an engine, which stands beside this folder.
 */
import type { Clock, Random } from "../core/ports.ts";
import { InvalidRequestError } from "../core/errors.ts";
import type { TableDescription } from "../core/types.ts";
import { withAwsClients, type AwsClientOptions } from "./clients.ts";
import { createDynamoDb } from "./dynamodb.ts";
import { createDynamoDbControlStore } from "./dynamodb-control-store.ts";
import { moveTable, type MoveParts, type MoveTask } from "./move-table.ts";
import { deploymentNames } from "./names.ts";
import { registeredTables } from "./register-tables.ts";
import { sweepTable } from "./sweep-table.ts";
import { systemClock, systemRandom } from "./system.ts";

export type { MoveProgress } from "./move-table.ts";

export type MoveOptions = AwsClientOptions & {
  readonly deployment: string;
  readonly commit: MoveParts["commit"];
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
};

/** @throws as moveTable; InvalidRequestError where there is no such deployment. */
export async function moveRegistered(
  options: MoveOptions,
  task: MoveTask,
): Promise<TableDescription> {
  // Says so where there is no deployment.
  await registeredTables(options);
  const { clock = systemClock, random = systemRandom } = options;
  const { controlTable } = deploymentNames(options.deployment);
  return withAwsClients(options, async (clients) => {
    const dynamodb = createDynamoDb(clients.dynamodb);
    const control = createDynamoDbControlStore({ dynamodb, clock, table: controlTable });
    const [shard, ...others] = await control.shards();
    if (shard === undefined) {
      throw new InvalidRequestError("deployment", "the deployment is not provisioned yet");
    }
    if (others.length > 0) {
      const remedy =
        task.to === "mixed"
          ? "register it as mixed before it is used"
          : "take it out and register it anew (docs/adoption.md, Out again)";
      throw new InvalidRequestError(
        "deployment",
        `the deployment has ${1 + others.length} shards, and a table is moved on one only; ` +
          remedy,
      );
    }
    const sweep: MoveParts["sweep"] = (table, removes, signal) =>
      sweepTable(
        { dynamodb, clock, random },
        { table, removes },
        signal === undefined ? {} : { signal },
      );
    return moveTable({ control, clock, random, shard, commit: options.commit, sweep }, task);
  });
}
