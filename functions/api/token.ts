/**
 * The token of an interactive transaction: its whole state, signed, so that the server keeps
 * nothing and any instance can take the next call.
 *
 * Layout, as base64url: version (1), key id (8), body, HMAC-SHA-256 (32) over all before it. The
 * key id tells a foreign deployment's token from a tampered one. The body of version 3 is that of a
 * transaction in the first shard, which has never been split or joined; other ones have that of
 * version 4 (token-sharded.ts). Of version 3, big-endian: isolation (1), read timestamp (8),
 * started (8), counts of keys and predicates (4 each), name (16), hashes (8 each), what was read of
 * mixed tables (token-mixed.ts).
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { FrameError, tooLarge } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { LogPosition, ShardNumber, Timestamp } from "../../core/types.ts";
import type { TransactionState } from "../../engine/types.ts";
import { ByteReader } from "../../schemas/byte-reader.ts";
import { ByteWriter } from "../../schemas/byte-writer.ts";
import { ApiProblem } from "./problem.ts";
import { readMixedState, writeMixedState } from "./token-mixed.ts";
import { isolations, readShardedState, writeShardedState } from "./token-sharded.ts";

const versions = { inFirstShard: 3, sharded: 4 } as const;
/** Version and key id. */
const prefixBytes = 9;
const nameAt = 34;
const headBytes = nameAt + 16;
const macBytes = 32;
const hashBytes = 8;
const firstShard = 0 as ShardNumber;
const neverChanged = 0 as LogPosition;

/** Bytes of the secret that every instance of a deployment shares. */
export const tokenSecretBytes = 32;

export type TokenCodec = {
  /** @throws TransactionTooLargeError when no request could carry it. */
  encode(state: TransactionState): string;
  /** @throws ApiProblem `invalid-token` when it was not made by this deployment, or was changed. */
  decode(token: string): TransactionState;
};

export function createTokenCodec(secret: Uint8Array): TokenCodec {
  const keyId = createHash("sha256")
    .update("tidemark rest token")
    .update(secret)
    .digest()
    .subarray(0, 8);
  const sign = (bytes: Uint8Array): Buffer => createHmac("sha256", secret).update(bytes).digest();

  return {
    encode(state) {
      const body = encodeBody(state, keyId);
      const token = Buffer.concat([body, sign(body)]).toString("base64url");
      const limit = { name: "restTokenLengthMax", max: limits.restTokenLengthMax };
      if (token.length <= limit.max) return token;
      const remedy = "read fewer items, pages or mixed tables in one transaction";
      throw tooLarge({ ...limit, actual: token.length }, remedy);
    },
    decode(token) {
      const bytes = Buffer.from(token, "base64url");
      // Base64 has several spellings of the same bytes; only the one that was handed out is taken.
      if (bytes.toString("base64url") !== token) throw invalid("it is not one that was handed out");
      if (bytes.length < prefixBytes + macBytes) throw invalid("it is cut off");
      if (!isKnown(bytes[0])) throw invalid("its version is not known here; begin again");
      if (!timingSafeEqual(bytes.subarray(1, 9), keyId)) {
        throw invalid("it was signed by another deployment; begin again here");
      }
      const body = bytes.subarray(0, -macBytes);
      if (!timingSafeEqual(bytes.subarray(-macBytes), sign(body))) {
        throw invalid("it was changed after it was handed out");
      }
      return decodeBody(body);
    },
  };
}

function isKnown(version: number | undefined): boolean {
  return version === versions.inFirstShard || version === versions.sharded;
}

function encodeBody(state: TransactionState, keyId: Uint8Array): Uint8Array {
  const [part, ...others] = state.parts;
  const isFirst = part?.shard === firstShard && part.changedAt === neverChanged;
  if (isFirst && others.length === 0) return encodeInFirst(state, part, keyId);
  const writer = new ByteWriter();
  writer.u8(versions.sharded);
  writer.bytes(keyId);
  writeShardedState(writer, state);
  return writer.view();
}

function encodeInFirst(
  state: TransactionState,
  { readTimestamp, keys, predicates }: TransactionState["parts"][number],
  keyId: Uint8Array,
): Buffer {
  const hashes = [...keys, ...predicates];
  const body = Buffer.alloc(headBytes + hashes.length * hashBytes);
  body[0] = versions.inFirstShard;
  body.set(keyId, 1);
  body[prefixBytes] = isolations.indexOf(state.isolation);
  body.writeBigUInt64BE(BigInt(readTimestamp), 10);
  body.writeBigUInt64BE(BigInt(state.startedMs), 18);
  body.writeUInt32BE(keys.length, 26);
  body.writeUInt32BE(predicates.length, 30);
  body.write(state.name, nameAt, headBytes - nameAt, "hex");
  hashes.forEach((hash, index) => body.writeBigUInt64BE(hash, headBytes + index * hashBytes));
  const mixed = new ByteWriter();
  writeMixedState(mixed, state.mixed);
  return Buffer.concat([body, mixed.view()]);
}

function decodeBody(body: Buffer): TransactionState {
  try {
    return body[0] === versions.sharded
      ? readShardedState(readerOf(body, prefixBytes))
      : decodeInFirst(body);
  } catch (error) {
    throw error instanceof FrameError ? holdsNone() : error;
  }
}

function decodeInFirst(body: Buffer): TransactionState {
  if (body.length < headBytes) throw holdsNone();
  const isolation = isolations[body[prefixBytes] ?? isolations.length];
  const keyCount = body.readUInt32BE(26);
  const hashCount = keyCount + body.readUInt32BE(30);
  const mixedAt = headBytes + hashCount * hashBytes;
  if (isolation === undefined || body.length < mixedAt) throw holdsNone();
  const hashes = Array.from({ length: hashCount }, (_, index) =>
    body.readBigUInt64BE(headBytes + index * hashBytes),
  );
  const part = {
    ...{ shard: firstShard, changedAt: neverChanged },
    readTimestamp: Number(body.readBigUInt64BE(10)) as Timestamp,
    keys: hashes.slice(0, keyCount),
    predicates: hashes.slice(keyCount),
  };
  return {
    name: body.toString("hex", nameAt, headBytes),
    isolation,
    startedMs: Number(body.readBigUInt64BE(18)),
    parts: [part],
    mixed: readMixedState(readerOf(body, mixedAt)),
  };
}

/** Of a copy: parts of a Buffer would stay parts of it. */
function readerOf(body: Buffer, start: number): ByteReader {
  return new ByteReader(Uint8Array.from(body.subarray(start)));
}

function holdsNone(): ApiProblem {
  return invalid("it does not hold a transaction");
}

function invalid(reason: string): ApiProblem {
  return new ApiProblem("invalid-token", `the transaction token is not valid: ${reason}`, {
    field: "transaction",
  });
}

/** @throws ApiProblem `transaction-closed` */
export function requireYoung({ startedMs }: TransactionState, nowMs: number): void {
  if (nowMs - startedMs <= limits.transactionAgeMsMax) return;
  const seconds = (limits.transactionAgeMsMax / 1000).toString();
  throw new ApiProblem(
    "transaction-closed",
    `the transaction is older than ${seconds} s; begin again, but settle first a commit of it ` +
      "that was not answered",
    { field: "transaction" },
  );
}
