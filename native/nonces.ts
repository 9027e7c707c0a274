/**
 * Nonces of the writes of one call. A try is not told from an earlier one of the same call by the
 * store, and its copy may come late: so each has nonces of its own, put into the request before it
 * is signed. Not where a token makes the tries one: then they must be the same.
 */
import * as limits from "../core/limits.ts";
import { SipHash, sipKeyBytes } from "../core/sip-hash.ts";

export type Bytes = (length: number) => Uint8Array;
/** Random bytes for many nonces at once: asking for them is what takes time. */
export function inStock(bytes: Bytes): Bytes {
  const stockBytes = 64 * limits.nonceBytes;
  let stock: Uint8Array = new Uint8Array();
  let used = 0;
  return (length) => {
    if (used + length > stock.length) {
      stock = bytes(Math.max(stockBytes, length));
      used = 0;
    }
    used += length;
    return stock.slice(used - length, used);
  };
}

/** A request's, by the version of the AWS SDK. */
type Body = string | Uint8Array;

export class Nonces {
  readonly #bytes: Bytes;
  #made: Uint8Array[] = [];
  #first: Body | undefined;

  constructor(bytes: Bytes) {
    this.#bytes = bytes;
  }

  next(): Uint8Array {
    const nonce = this.#bytes(limits.nonceBytes);
    this.#made.push(nonce);
    return nonce;
  }

  /** Those of an earlier request of the call. */
  forget(): void {
    this.#made = [];
  }

  /** The next try is the first one of a request. */
  begin(): void {
    this.#first = undefined;
  }

  /** What a try sends in place of `body`: of the same length. */
  forTry(body: Body): Body {
    const first = this.#first;
    if (first === undefined) {
      this.#first = body;
      return body;
    }
    const others = this.#made.map((nonce) => [nonce, this.#bytes(limits.nonceBytes)] as const);
    if (typeof first === "string") {
      return others.reduce((text, [old, fresh]) => text.replace(base64(old), base64(fresh)), first);
    }
    const bytes = new Uint8Array(first);
    const text = new TextDecoder("latin1").decode(first);
    for (const [old, fresh] of others) {
      const at = text.indexOf(base64(old));
      if (at >= 0) bytes.set(new TextEncoder().encode(base64(fresh)), at);
    }
    return bytes;
  }
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/**
 * The nonce of a part of a transaction whose caller names a token: DynamoDB answers a repeat by it
 * only if the repeat is the same, this attribute included. The order of members does not count, nor
 * that of a set.
 */
export function tokenNonce(token: string, part: unknown): Uint8Array {
  return digestOf(new TextEncoder().encode(JSON.stringify([token, part], canonical)));
}

/** Bytes as their digest: as an array of numbers they would be many times as long. */
function canonical(this: unknown, name: string, value: unknown): unknown {
  // A `Buffer` would make itself an object.
  const own = (this as Readonly<Record<string, unknown>>)[name];
  if (own instanceof Uint8Array) return { bytes: base64(digestOf(own)) };
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const isSet = name === "SS" || name === "NS" || name === "BS";
    return isSet ? value.map(memberText).sort() : value;
  }
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function memberText(member: unknown): string {
  return member instanceof Uint8Array ? base64(digestOf(member)) : String(member);
}

/** As long as a nonce. */
function digestOf(bytes: Uint8Array): Uint8Array {
  const digest = new Uint8Array(limits.nonceBytes);
  const view = new DataView(digest.buffer);
  for (const half of [0, 1]) {
    const hash = new SipHash(new Uint8Array(sipKeyBytes).fill(half + 1));
    hash.hash(bytes, 0, bytes.length);
    view.setInt32(half * 8, hash.high);
    view.setInt32(half * 8 + 4, hash.low);
  }
  return digest;
}
