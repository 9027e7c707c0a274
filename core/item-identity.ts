/**
 * What tells the states of an item of a mixed table apart: its nonce, else its version, else it is
 * bare; or it is absent (docs/adr/0014-native-operations.md, Items). Nonces and versions never come
 * again, so what replaces a certain one replaces nothing that was written later. For transactions
 * and for native writers beside them. Paper: Mediator §4.2, which has a server's clock instead.
 */
import {
  attribute,
  fenceAttribute,
  markAttribute,
  nonceAttribute,
  versionAttribute,
} from "./attributes.ts";
import { CorruptDataError } from "./errors.ts";
import * as limits from "./limits.ts";
import { versionOf } from "./stored-version.ts";
import type { Item, Stamp, TransactionId } from "./types.ts";
import { compareBytes } from "./utf8.ts";

export type Identity = Stamp | { readonly kind: "bare" } | { readonly kind: "absent" };

/** @throws CorruptDataError when a reserved attribute is not what it has to be. */
export function identityOf(item: Item | undefined): Identity {
  if (item === undefined) return { kind: "absent" };
  const nonce = bytesOf(item, nonceAttribute, limits.nonceBytes);
  if (nonce !== undefined) return { kind: "nonce", nonce };
  if (attribute(item, versionAttribute) === undefined) return { kind: "bare" };
  return { kind: "version", version: versionOf(item) };
}

/** One that never comes again, whoever writes the item. */
export function isCertain(identity: { readonly kind: string }): identity is Stamp {
  return identity.kind === "nonce" || identity.kind === "version";
}

export function sameIdentity(a: Identity, b: Identity): boolean {
  if (a.kind === "nonce") return b.kind === "nonce" && compareBytes(a.nonce, b.nonce) === 0;
  if (a.kind === "version") return b.kind === "version" && a.version === b.version;
  return a.kind === b.kind;
}

/**
 * Whose fence stands on the item, whether it bars or not (core/fence.ts).
 * @throws CorruptDataError when `_f` is there and is no id.
 */
export function fenceOf(item: Item): TransactionId | undefined {
  const bytes = bytesOf(item, fenceAttribute, limits.fenceBytes);
  if (bytes === undefined) return undefined;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("") as TransactionId;
}

/** An id as `_f` holds it. */
export function fenceBytesOf(id: TransactionId): Uint8Array {
  return Uint8Array.from({ length: limits.fenceBytes }, (_, i) =>
    Number.parseInt(id.slice(2 * i, 2 * i + 2), 16),
  );
}

/** Whether it was made to hold a place, whatever native writers have made of it since. */
export function isMarked(item: Item): boolean {
  const mark = attribute(item, markAttribute);
  return mark !== undefined && "BOOL" in mark && mark.BOOL;
}

function bytesOf(item: Item, name: string, length: number): Uint8Array | undefined {
  const value = attribute(item, name);
  if (value === undefined) return undefined;
  if ("B" in value && value.B.length === length) return value.B;
  throw new CorruptDataError(`an item's ${name} is not ${length} bytes; the attribute is reserved`);
}
