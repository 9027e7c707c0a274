/**
 * Digests of what items hold, for who has read them and comes back without them (interactive
 * transactions over mixed tables). Of canonical encodings, so equal exactly where contents are the
 * same (core/item-content.ts), as far as 128 bits of SHA-256 tell.
 */
import type { Digest } from "../core/ports.ts";
import type { Item } from "../core/types.ts";
import { encodeItem } from "./attribute-value.ts";

/** Who could make two contents with one digest has done 2^64 steps. */
export const contentDigestBytes = 16;

/** Keep these digests apart from all others, and from each other. */
const itemDomain = new TextEncoder().encode("tidemark content\0");
const rowsDomain = new TextEncoder().encode("tidemark rows\0");

/** @param content without reserved attributes; undefined: nothing is there. */
export function contentDigest(content: Item | undefined, digest: Digest): Uint8Array {
  // No item's encoding is empty.
  const bytes = content === undefined ? new Uint8Array() : encodeItem(content);
  return digestOf(itemDomain, [bytes], digest);
}

/** Of rows in their order. */
export function rowsDigest(contents: readonly Item[], digest: Digest): Uint8Array {
  const each = contents.map((content) => contentDigest(content, digest));
  return digestOf(rowsDomain, each, digest);
}

function digestOf(domain: Uint8Array, parts: readonly Uint8Array[], digest: Digest): Uint8Array {
  return digest(Buffer.concat([domain, ...parts])).subarray(0, contentDigestBytes);
}
