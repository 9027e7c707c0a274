/**
 * Transaction ids (docs/protocol.md §2): seven big-endian bytes of the newest timestamp that the
 * maker had seen, then nine of a digest over it and over a proof that the maker keeps to itself; as
 * text 32 lower-case hexadecimal digits. Who shows the proof has made the id.
 */
import { assert } from "../core/assert.ts";
import type { Digest, Random } from "../core/ports.ts";
import type { Timestamp, TransactionId } from "../core/types.ts";
import { malformed, type ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { isTransactionId } from "./transaction-id-text.ts";

export const transactionIdBytes = 16;
/** Bytes of an id behind its timestamp. */
export const transactionIdRandomBytes = 9;
/** Random bytes, as many as the id shows of their digest: no fewer ids for no shorter a search. */
export const transactionIdProofBytes = 9;
/** Keep these digests apart from all others. */
const proofDomain = new TextEncoder().encode("tidemark transaction id\0");
const voteDomain = new TextEncoder().encode("tidemark vote\0");

/** The largest first word: seven bytes hold more than a safe integer does. */
const firstWordMax = 0x1fff_ffff;

/**
 * @param seen the newest timestamp that the maker's tail knows: every decision on the id lies above
 * it.
 */
export function makeTransactionId(seen: Timestamp, random: Uint8Array): TransactionId {
  const isFit =
    Number.isSafeInteger(seen) && seen >= 0 && random.length === transactionIdRandomBytes;
  assert(isFit, "transaction id: takes a timestamp and nine bytes");
  const text = seen.toString(16).padStart(14, "0") + Buffer.from(random).toString("hex");
  return text as TransactionId;
}

/**
 * An id that commits to the proof.
 * @param proof random, and told to nobody before it is needed.
 */
export function transactionIdFor(
  seen: Timestamp,
  proof: Uint8Array,
  digest: Digest,
): TransactionId {
  assert(proof.length === transactionIdProofBytes, "transaction id: takes nine bytes of proof");
  const seed = new Uint8Array(proofDomain.length + 7 + transactionIdProofBytes);
  seed.set(proofDomain);
  let rest: number = seen;
  for (let at = proofDomain.length + 6; at >= proofDomain.length; at -= 1) {
    seed[at] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  seed.set(proof, proofDomain.length + 7);
  return makeTransactionId(seen, digest(seed).subarray(0, transactionIdRandomBytes));
}

/** Of ids that no log has: beyond every timestamp that a log can reach. */
const localTimestamp = Number.MAX_SAFE_INTEGER as Timestamp;

/** Names a transaction that was committed without the log, which tells nothing of it. */
export function localTransactionId(random: Pick<Random, "bytes">): TransactionId {
  return makeTransactionId(localTimestamp, random.bytes(transactionIdRandomBytes));
}

export function isLocalTransactionId(id: TransactionId): boolean {
  return transactionIdTimestamp(id) === localTimestamp;
}

/**
 * What the id of a transaction that will be prepared commits to in place of the proof. Its vote
 * shows this, which whoever reads the stream sees before the commit is installed: so what reports
 * on it show is the proof itself.
 */
export function voteProofOf(proof: Uint8Array, digest: Digest): Uint8Array {
  assert(proof.length === transactionIdProofBytes, "vote: takes nine bytes of proof");
  const seed = new Uint8Array(voteDomain.length + transactionIdProofBytes);
  seed.set(voteDomain);
  seed.set(proof, voteDomain.length);
  return digest(seed).slice(0, transactionIdProofBytes);
}

/** Whether it is the proof that the id was made with. */
export function provesTransactionId(id: TransactionId, proof: Uint8Array, digest: Digest): boolean {
  return transactionIdFor(transactionIdTimestamp(id), proof, digest) === id;
}

/** Where in the log the search for the id's decision begins: above this timestamp. */
export function transactionIdTimestamp(id: TransactionId): Timestamp {
  return Number.parseInt(id.slice(0, 14), 16) as Timestamp;
}

export function writeTransactionId(writer: ByteWriter, id: TransactionId): void {
  // One that readers refuse would take the other requests of its record with it.
  assert(isTransactionId(id), "transaction id: not 32 digits, or from beyond 2^53 - 1");
  for (let word = 0; word < 4; word++) {
    writer.u32(Number.parseInt(id.slice(word * 8, word * 8 + 8), 16));
  }
}

/** @throws FrameError. */
export function readTransactionId(reader: ByteReader): TransactionId {
  const id0 = readFirstIdWord(reader);
  return transactionIdOfWords({ id0, id1: reader.u32(), id2: reader.u32(), id3: reader.u32() });
}

/** The first of an id's four words. @throws FrameError when its timestamp is no safe integer. */
export function readFirstIdWord(reader: ByteReader): number {
  const word = reader.u32();
  if (word > firstWordMax) throw malformed("a transaction id's timestamp exceeds 2^53 - 1");
  return word;
}

/**
 * The id that is about to become text, twice the same memory: a page of the log has thousands, and
 * one native call takes a tenth of the time that digits put together word by word do.
 */
const wordsOfId = new DataView(new ArrayBuffer(transactionIdBytes));
const bytesOfId = Buffer.from(wordsOfId.buffer);

/** An id of four big-endian words, as RequestBatch keeps them. */
export function transactionIdOfWords(words: {
  readonly id0: number;
  readonly id1: number;
  readonly id2: number;
  readonly id3: number;
}): TransactionId {
  wordsOfId.setUint32(0, words.id0);
  wordsOfId.setUint32(4, words.id1);
  wordsOfId.setUint32(8, words.id2);
  wordsOfId.setUint32(12, words.id3);
  return bytesOfId.toString("hex") as TransactionId;
}
