/**
 * Hashes of tables, partitions and keys: 64 bits of SipHash-1-3 under the shard's hash secret,
 * chained table → partition → key (docs/protocol.md §2), so that one index serves keys and
 * predicates. A collision may abort a transaction needlessly; it never commits one wrongly, and
 * nobody who does not know the key can make one.
 *
 * Paper: Centiman §3 validates by key; a hash keeps requests and the index small.
 */
import { assert } from "./assert.ts";
import { SipHash, sipKeyBytes } from "./sip-hash.ts";
import type { KeyHash, Lineage, ShardNumber } from "./types.ts";

/** Each kind of hash has a key of its own, made of the shard's, which keeps the kinds apart. */
export const hashKinds = { table: 1, partition: 2, key: 3 } as const;
/** Names the key without telling it. */
const fingerprintKind = 0;

export const hashSecretBytes = sipKeyBytes;

/**
 * A reusable scratch for hashing without allocation. `high` and `low` hold the last hash as
 * two's-complement words (`>>> 0` makes them unsigned).
 */
export class KeyHasher {
  high = 0;
  low = 0;
  /**
   * Tells the key and the shard in 32 bits, unsigned: records and blocks carry it, so that neither
   * is mixed up.
   */
  readonly fingerprint: number;
  /** The shard that it names. */
  readonly shard: ShardNumber;
  /** The shard's past in others. */
  readonly lineage: Lineage;
  readonly #root: SipHash;
  readonly #byKind: readonly SipHash[];

  /**
   * @param key 16 secret bytes, which the deployment was made with: the same for all its shards.
   * @param shard whose requests and blocks the fingerprint is to name.
   */
  constructor(key: Uint8Array, shard = 0 as ShardNumber, lineage: Lineage = []) {
    assert(key.length === hashSecretBytes, "a hash secret has 16 bytes");
    this.shard = shard;
    this.lineage = lineage;
    const root = new SipHash(key);
    this.#root = root;
    const none = new SipHash(new Uint8Array(hashSecretBytes));
    this.#byKind = [none, ...Object.values(hashKinds).map((kind) => keyOf(root, kind))];
    this.fingerprint = this.fingerprintOf(shard);
  }

  /** What names another shard under the same key. */
  fingerprintOf(shard: ShardNumber): number {
    // That of the first shard is as it was before there were others.
    const named = shard === 0 ? [fingerprintKind] : [fingerprintKind, shard];
    this.#root.hash(Uint8Array.from(named), 0, named.length);
    return this.#root.low >>> 0;
  }

  /** Hashes `bytes[start, end)`. */
  hash(kind: number, bytes: Uint8Array, start: number, end: number): void {
    const sip = this.#of(kind);
    sip.hash(bytes, start, end);
    this.high = sip.high;
    this.low = sip.low;
  }

  /** Hashes the eight bytes of the current hash, followed by `bytes[start, end)`. */
  chain(kind: number, bytes: Uint8Array, start: number, end: number): void {
    const sip = this.#of(kind);
    sip.chain(this.high, this.low, bytes, start, end);
    this.high = sip.high;
    this.low = sip.low;
  }

  /** Continues from a hash computed earlier. */
  set(high: number, low: number): void {
    this.high = high | 0;
    this.low = low | 0;
  }

  /** The last hash as the rest of the system spells it. */
  keyHash(): KeyHash {
    return keyHash(this.high, this.low);
  }

  #of(kind: number): SipHash {
    const sip = this.#byKind[kind];
    assert(sip !== undefined, "a hash is of a known kind");
    return sip;
  }
}

/** Two words as one 64-bit hash. */
export function keyHash(high: number, low: number): KeyHash {
  return ((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)) as KeyHash;
}

/** The kind's own key: the hashes of its number followed by 0 and by 1, lowest byte first. */
function keyOf(root: SipHash, kind: number): SipHash {
  const key = new Uint8Array(hashSecretBytes);
  const words = new DataView(key.buffer);
  for (const half of [0, 1]) {
    root.hash(Uint8Array.of(kind, half), 0, 2);
    words.setInt32(8 * half, root.low, true);
    words.setInt32(8 * half + 4, root.high, true);
  }
  return new SipHash(key);
}
