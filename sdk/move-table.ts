/**
 * Moves a table from one access to the other, for `tidemark/tables`: what is done stands in
 * aws/move-table.ts; here is the client that commits for it.
 */
import { moveRegistered, type MoveProgress } from "../aws/move-registered.ts";
import { UnavailableError } from "../core/errors.ts";
import type { TableAccess, TableDescription, Timestamp } from "../core/types.ts";
import type { ClientOptions } from "./client-options.ts";
import { createClient, target } from "./connect.ts";

export type MoveTask = {
  readonly name: string;
  readonly access: TableAccess;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: MoveProgress) => void) | undefined;
};

export async function move(options: ClientOptions, task: MoveTask): Promise<TableDescription> {
  const { deployment, region, endpoint, dynamodb, kinesis } = await target(options);
  const { credentials, callTriesMax, callTimeoutMs, clock, random } = options;
  // By the stream, if there is one: its records wake replay. Without one a schedule would.
  const client = createClient({ ...options, commit: "stream", housekeeping: true });
  try {
    const where = { deployment, region, endpoint, dynamodb, kinesis };
    return await moveRegistered(
      { ...where, credentials, callTriesMax, callTimeoutMs, clock, random, commit },
      { table: task.name, to: task.access, signal: task.signal, onProgress: task.onProgress },
    );
  } finally {
    await client.close();
  }

  /** Of an entry under a key that nobody uses again. */
  async function commit(
    idempotencyKey: string,
    signal: AbortSignal | undefined,
  ): Promise<Timestamp> {
    const given = { idempotencyKey, ...(signal === undefined ? {} : { signal }) };
    const { receipt } = await client.transact(given, () => Promise.resolve(null));
    if (receipt.commitTimestamp === undefined) {
      throw new UnavailableError("the mover's own commit was answered without a timestamp");
    }
    return receipt.commitTimestamp;
  }
}
