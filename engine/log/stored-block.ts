/** Blocks as the log stores them. */
import { CorruptDataError, FrameError } from "../../core/errors.ts";
import type { StoredBlock } from "../../core/ports.ts";
import type { LogBlock } from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";

/** @throws CorruptDataError */
export function decodeBlock(stored: StoredBlock, hashes: KeyHashes): LogBlock {
  try {
    return decodeLogBlock(stored.bytes, stored.position, hashes);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    throw new CorruptDataError(
      `block ${stored.position} of the log does not decode: ${error.message}`,
      { cause: error },
    );
  }
}
