/**
 * Payloads too large for a record: cut into chunks for the log table, and put together again with
 * proof.
 */
import { FrameError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { Digest } from "../core/ports.ts";
import type { PayloadSource } from "../core/types.ts";

type SpilledSource = Extract<PayloadSource, { kind: "spilled" }>;

/**
 * The chunks, each at most `limits.spillChunkBytesMax`, and the reference that the request carries.
 */
export function spillPayload(
  bytes: Uint8Array,
  digest: Digest,
): {
  readonly chunks: readonly Uint8Array[];
  readonly source: SpilledSource;
} {
  const chunks: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; start += limits.spillChunkBytesMax) {
    chunks.push(bytes.subarray(start, start + limits.spillChunkBytesMax));
  }
  const source = {
    kind: "spilled",
    chunks: chunks.length,
    byteLength: bytes.length,
    digest: digest(bytes),
  } as const;
  return { chunks, source };
}

/** @throws FrameError when the chunks are not the bytes that the reference was made of. */
export function joinSpilledChunks(
  chunks: readonly Uint8Array[],
  expected: Pick<SpilledSource, "byteLength" | "digest">,
  digest: Digest,
): Uint8Array {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (length !== expected.byteLength) {
    throw new FrameError(
      "malformed",
      `spilled payload: ${length} bytes, expected ${expected.byteLength}`,
    );
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  const found = digest(bytes);
  if (!expected.digest.every((byte, i) => byte === found[i])) {
    throw new FrameError("malformed", "spilled payload: its digest differs");
  }
  return bytes;
}
