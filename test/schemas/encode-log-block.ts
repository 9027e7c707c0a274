/** Blocks of tests that make them without an oracle, under the sample secret if none is named. */
import type { LogBlock } from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import * as encoding from "../../schemas/log-block-encoding.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

export function encodeLogBlock(block: LogBlock, hashes: KeyHashes = sampleHashes): Uint8Array {
  return encoding.encodeLogBlock(block, hashes);
}
