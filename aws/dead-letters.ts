/** Dead letters as an operator reads them (docs/operations.md, Dead letters). */
import { CorruptDataError, FrameError } from "../core/errors.ts";
import type { DeadLetter } from "../core/ports.ts";
import type { Item, ShardId, Timestamp, TransactionId } from "../core/types.ts";
import { decodeItem } from "../schemas/attribute-value-reading.ts";
import { createControlReads, lastKeyOf } from "./control-table.ts";
import type { ClientDynamoDb } from "./dynamodb.ts";
import { bytesOf, corrupt, has, textOf, type Stored } from "./stored-attributes.ts";

export type FoundLetter = Omit<DeadLetter, "item">;

/** The oldest ones of a shard, at most so many. */
export async function readDeadLetters(
  { dynamodb, table }: { readonly dynamodb: ClientDynamoDb; readonly table: string },
  shard: ShardId,
  lettersMax: number,
): Promise<readonly FoundLetter[]> {
  const control = createControlReads(dynamodb, table);
  const found: FoundLetter[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await control.page({ pk: `dead-letters#${shard}`, after });
    for (const item of page.items) found.push(letterOf(shard, item));
    after = lastKeyOf(page.items);
    const isEnough = found.length >= lettersMax;
    if (page.complete || after === undefined || isEnough) return found.slice(0, lettersMax);
  }
}

function letterOf(shard: ShardId, item: Item): FoundLetter {
  const stored = { what: `dead letter of ${shard}`, item };
  const [, timestamp, id] = /^(\d{16})#([0-9a-f]{32})#/.exec(textOf(stored, "sk")) ?? [];
  if (timestamp === undefined || id === undefined) throw corrupt(stored, "sk");
  return {
    shard,
    timestamp: Number(timestamp) as Timestamp,
    id: id as TransactionId,
    table: textOf(stored, "table"),
    key: has(stored, "key") ? decodedKey(stored) : {},
    reason: textOf(stored, "reason"),
  };
}

function decodedKey(stored: Stored): Item {
  try {
    return decodeItem(bytesOf(stored, "key"));
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    throw new CorruptDataError(`${stored.what}: its key does not decode`, { cause: error });
  }
}
