/** The machine's randomness as a port: cheap numbers for jitter, strong bytes for identifiers. */
import * as limits from "../core/limits.ts";
import type { Random } from "../core/ports.ts";

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: (length) => {
    const bytes = new Uint8Array(length);
    for (let start = 0; start < length; start += limits.randomBytesPerCallMax) {
      globalThis.crypto.getRandomValues(
        bytes.subarray(start, start + limits.randomBytesPerCallMax),
      );
    }
    return bytes;
  },
};
