/**
 * Fills the control table of a deployment whose tables, and stream if it has one, exist already, as
 * Terraform leaves them: each shard's entry and first watermark, and the registry of user tables.
 * Repeatable; a second run moves no watermark.
 */
import type { Clock, Random } from "../core/ports.ts";
import type { ShardId } from "../core/types.ts";
import { withAwsClients, type AwsClientOptions } from "./clients.ts";
import { deploymentNames } from "./names.ts";
import { adoptTables, type AdoptedTable } from "./register-tables.ts";
import { fulfilStreamWish, type StreamWish } from "./stream-wish.ts";
import { systemClock, systemRandom } from "./system.ts";

export type ControlTableOptions = AwsClientOptions & {
  readonly deployment: string;
  readonly tables: readonly AdoptedTable[];
  /** Default true. */
  readonly stream?: StreamWish | undefined;
  /** For how long `"closing"` waits until the stream is drained. */
  readonly drainMs?: number | undefined;
  /** As of `provisionDeployment`. */
  readonly shards?: number | undefined;
  /** How long history is kept on tables that have one. */
  readonly historyRetentionMs: number;
  readonly clock?: Clock | undefined;
  /** For the secret of each new shard. */
  readonly random?: Random | undefined;
};

export type FilledControlTable = {
  readonly shards: readonly ShardId[];
  readonly tables: readonly string[];
};

/**
 * Tables that are registered and not named here stay registered: commits that touch them may still
 * be on their way.
 * @throws InvalidRequestError when a table is missing, or is registered with another key; or when
 *   the deployment is to be one of tables alone, and its stream is in use.
 * @throws StoreError when a call fails.
 */
export async function fillControlTable(options: ControlTableOptions): Promise<FilledControlTable> {
  const names = deploymentNames(options.deployment);
  const { clock = systemClock, random = systemRandom } = options;
  return withAwsClients(options, async (clients) => {
    const { control } = await fulfilStreamWish(
      { clients, names, clock, random },
      {
        wish: options.stream,
        drainMs: options.drainMs,
        shards: options.shards,
      },
    );
    await control.retainHistory(options.historyRetentionMs);
    const { client: dynamodb } = await clients.dynamodb();
    // Whoever fills it has no right to read items: docs/adoption.md says who looks.
    const unseen = options.tables.map((table) => ({ ...table, look: "none" as const }));
    const tables = await adoptTables({ ...options, dynamodb }, unseen);
    return { shards: await control.shards(), tables: tables.map(({ name }) => name) };
  });
}
