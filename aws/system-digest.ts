/** The machine's SHA-256 as a port. */
import { createHash } from "node:crypto";
import type { Digest } from "../core/ports.ts";

export const systemDigest: Digest = (bytes) => createHash("sha256").update(bytes).digest();
