/** How a BASE transaction is called: by its handler's name and its id, and both in one. */

import type { Random } from "../../core/ports.ts";

/** Of a call that may be given up. */
export type Signalled = { readonly signal?: AbortSignal | undefined };

export type NamedBase = { readonly name: string; readonly id: string };

/** In one: names have no slash. */
export function baseOf({ name, id }: NamedBase): string {
  return `${name}/${id}`;
}

export function partsOf(base: string): NamedBase {
  const at = base.indexOf("/");
  // A stranger's row may have any key.
  if (at < 0) return { name: "", id: base };
  return { name: base.slice(0, at), id: base.slice(at + 1) };
}

/** Of the token by which those that do the same at once are told apart. */
const tokenBytes = 16;

export function newToken(random: Pick<Random, "bytes">): string {
  return Buffer.from(random.bytes(tokenBytes)).toString("base64url");
}
