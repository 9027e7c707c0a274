/**
 * A move (move-table.ts) on a deployment's own tables. The commit that each settling needs is its
 * caller's: it takes an engine, which stands beside this folder.
 */
import { keyNamesOf } from "../core/attributes.ts";
import { callerEntryKey } from "../core/idempotency-key.ts";
import type { Clock, ControlStore, Random } from "../core/ports.ts";
import { InvalidRequestError } from "../core/errors.ts";
import type { TableDescription } from "../core/types.ts";
import { KeyHashes } from "../schemas/key-hashes.ts";
import { withAwsClients, type AwsClientOptions } from "./clients.ts";
import { createDynamoDb } from "./dynamodb.ts";
import { createDynamoDbControlStore } from "./dynamodb-control-store.ts";
import { moveTable, type MovedIn, type MoveParts, type MoveTask } from "./move-table.ts";
import { deploymentNames } from "./names.ts";
import { registeredTables } from "./register-tables.ts";
import { sweepTable } from "./sweep-table.ts";
import { systemClock, systemRandom } from "./system.ts";

export type { MoveProgress } from "./move-table.ts";

/** Random bytes of a key of the mover's: two never have the same. */
const moveNameBytes = 16;

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
    const shards = (signal: AbortSignal | undefined): Promise<readonly MovedIn[]> =>
      movedIn({ control, random }, signal);
    const sweep: MoveParts["sweep"] = (table, removes, signal) =>
      sweepTable(
        { dynamodb, clock, random },
        { table, removes },
        signal === undefined ? {} : { signal },
      );
    return moveTable({ control, clock, random, shards, commit: options.commit, sweep }, task);
  });
}

type ShardsSeen = Pick<ControlStore, "shards" | "shardMap" | "keyHasher" | "idempotencyTable">;

/** Where a key's entry lies its hash says: keys are drawn until one lies in the shard. */
async function movedIn(
  { control, random }: { readonly control: ShardsSeen; readonly random: Random },
  signal: AbortSignal | undefined,
): Promise<readonly MovedIn[]> {
  const call = signal === undefined ? {} : { signal };
  const [first] = await control.shards(call);
  if (first === undefined) {
    throw new InvalidRequestError("deployment", "the deployment is not provisioned yet");
  }
  const newKey = (): string =>
    `tidemark move ${Buffer.from(random.bytes(moveNameBytes)).toString("hex")}`;
  const map = await control.shardMap(call);
  if (map === undefined || map.entries.length < 2) return [{ shard: first, newKey }];
  const hashes = new KeyHashes(await control.keyHasher(first, call));
  const table = keyNamesOf(control.idempotencyTable);
  return map.entries.map(({ id: shard, number }) => ({
    shard,
    newKey: () => {
      for (;;) {
        const key = newKey();
        const { partition } = hashes.item(table, callerEntryKey(key));
        if (map.at(partition).number === number) return key;
      }
    },
  }));
}
