/**
 * What is installed is what was certified: chunks lie where every read-write client may put others.
 */
import { expect, test } from "vitest";
import { systemDigest } from "../../aws/system-digest.ts";
import * as limits from "../../core/limits.ts";
import { joinSpilledChunks, spillPayload } from "../../schemas/spill.ts";

const payload = Uint8Array.from({ length: limits.spillChunkBytesMax + 1_000 }, (_, i) => i % 251);

test("a payload comes back from its chunks", () => {
  const { chunks, source } = spillPayload(payload, systemDigest);
  expect(chunks.map(({ length }) => length)).toEqual([limits.spillChunkBytesMax, 1_000]);
  expect(source.digest).toHaveLength(limits.digestBytes);
  expect(joinSpilledChunks(chunks, source, systemDigest)).toEqual(payload);
});

test.each([0, limits.spillChunkBytesMax, payload.length - 1])(
  "other bytes at %i are not what the reference was made of",
  (at) => {
    const { chunks, source } = spillPayload(payload.slice(), systemDigest);
    const chunk = chunks[at < limits.spillChunkBytesMax ? 0 : 1];
    const place = at % limits.spillChunkBytesMax;
    if (chunk !== undefined) chunk[place] = (chunk[place] ?? 0) ^ 1;
    expect(() => joinSpilledChunks(chunks, source, systemDigest)).toThrow("its digest differs");
  },
);
