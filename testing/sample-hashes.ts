/**
 * Hashes and slots under secrets that are none: for what is measured and tested without a control
 * table.
 */
import { hashSecretBytes, KeyHasher } from "../core/key-hash.ts";
import type { Random } from "../core/ports.ts";
import { slotSeedOf, slotSeedWords } from "../core/slot-seed.ts";
import { KeyHashes } from "../schemas/key-hashes.ts";

export const sampleHashSecret = Uint8Array.from({ length: hashSecretBytes }, (_, i) => i);

export const sampleHashes = new KeyHashes(new KeyHasher(sampleHashSecret));

export const sampleSeed = slotSeedOf(
  Uint8Array.from({ length: 4 * slotSeedWords }, (_, i) => 7 * i + 1),
);

export const sampleRandom: Pick<Random, "bytes"> = {
  bytes: (length) => Uint8Array.from({ length }, (_, i) => (13 * i + 5) % 256),
};
