/** Hashes under a secret that is none: for what is measured and tested without a control table. */
import { hashSecretBytes } from "../core/key-hash.ts";
import { KeyHashes } from "../schemas/key-hashes.ts";

export const sampleHashSecret = Uint8Array.from({ length: hashSecretBytes }, (_, i) => i);

export const sampleHashes = new KeyHashes(sampleHashSecret);
