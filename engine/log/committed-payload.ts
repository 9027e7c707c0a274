/**
 * What a committed transaction writes, out of the encoded bytes. Apart from where these lie
 * (payload-loader.ts): whoever reads from a client's block has them already.
 */
import { assert } from "../../core/assert.ts";
import { CorruptDataError, FrameError, TransactionError } from "../../core/errors.ts";
import { validateItem, validateKey } from "../../core/item-validation.ts";
import type { CommittedVerdict, Payload } from "../../core/types.ts";
import { decodePayload } from "../../schemas/payload-reading.ts";
import { describeTable } from "../installing/payload-writes.ts";

/** @throws CorruptDataError when the bytes are no payload, or one that no oracle would commit. */
export function payloadOf(verdict: CommittedVerdict, bytes: Uint8Array): Payload {
  // A part that only reads has none.
  if (verdict.placed !== undefined && verdict.writes.length === 0)
    return { tables: [], writes: [] };
  const payload = decodeOrCorrupt(verdict, () => decodePayload(bytes));
  // What lies in the stream an oracle has scanned; what a client commits by itself, nobody.
  if (verdict.payload.kind !== "stream") refuseUninstallable(verdict, payload);
  return payload;
}

/**
 * Only a client that is not ours makes a block with such a payload. It is nobody's to read, and its
 * writes become dead letters.
 */
function refuseUninstallable(verdict: CommittedVerdict, { tables, writes }: Payload): void {
  const isCounted = writes.length === verdict.writes.length;
  if (!isCounted) throw damaged(verdict, "it does not write what its verdict says");
  try {
    for (const write of writes) {
      const table = tables[write.table];
      assert(table !== undefined, "a payload's writes name its tables");
      const described = describeTable(table, write.key);
      if (write.item === undefined) validateKey(described, write.key);
      else validateItem(described, write.item);
    }
  } catch (error) {
    if (!(error instanceof TransactionError)) throw error;
    throw damaged(verdict, error.message);
  }
}

function damaged({ id }: CommittedVerdict, why: string): CorruptDataError {
  return new CorruptDataError(`the payload of transaction ${id} is damaged: ${why}`);
}

/** @throws CorruptDataError for what does not decode. */
export function decodeOrCorrupt<T>({ id }: Pick<CommittedVerdict, "id">, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    throw new CorruptDataError(
      `the payload of transaction ${id} does not decode: ${error.message}`,
      { cause: error },
    );
  }
}
