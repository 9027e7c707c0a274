/** The machine's randomness as a port: cheap numbers for jitter, strong bytes for identifiers. */
import type { Random } from "../core/ports.ts";

/** Web Crypto refuses more at a time. */
const bytesPerCallMax = 65_536;

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: (length) => {
    const bytes = new Uint8Array(length);
    for (let start = 0; start < length; start += bytesPerCallMax) {
      globalThis.crypto.getRandomValues(bytes.subarray(start, start + bytesPerCallMax));
    }
    return bytes;
  },
};
