/**
 * The token of an interactive transaction: its whole state, signed, so that the server keeps
 * nothing and any instance can take the next call.
 *
 * Layout, big-endian, as base64url: version (1), key id (8), isolation (1), read timestamp (8),
 * started (8), counts of keys and predicates (4 each), name (16), hashes (8 each), what was read of
 * mixed tables (token-mixed.ts), HMAC-SHA-256 (32) over all before it. The key id tells a foreign
 * deployment's token from a tampered one.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { FrameError, tooLarge } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Timestamp } from "../../core/types.ts";
import type { TransactionState } from "../../engine/types.ts";
import { ByteReader } from "../../schemas/byte-reader.ts";
import { ByteWriter } from "../../schemas/byte-writer.ts";
import { ApiProblem } from "./problem.ts";
import { readMixedState, writeMixedState } from "./token-mixed.ts";

const version = 3;
const nameAt = 34;
const headBytes = nameAt + 16;
const macBytes = 32;
const hashBytes = 8;
const isolations = ["serializable", "snapshot"] as const;

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
      const remedy = "read fewer items of mixed tables, or pages, in one transaction";
      throw tooLarge({ ...limit, actual: token.length }, remedy);
    },
    decode(token) {
      const bytes = Buffer.from(token, "base64url");
      // Base64 has several spellings of the same bytes; only the one that was handed out is taken.
      if (bytes.toString("base64url") !== token) throw invalid("it is not one that was handed out");
      if (bytes.length < headBytes + macBytes) throw invalid("it is cut off");
      if (bytes[0] !== version) throw invalid("its version is not known here; begin again");
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

function encodeBody(state: TransactionState, keyId: Uint8Array): Buffer {
  const hashes = [...state.keys, ...state.predicates];
  const body = Buffer.alloc(headBytes + hashes.length * hashBytes);
  body[0] = version;
  body.set(keyId, 1);
  body[9] = isolations.indexOf(state.isolation);
  body.writeBigUInt64BE(BigInt(state.readTimestamp), 10);
  body.writeBigUInt64BE(BigInt(state.startedMs), 18);
  body.writeUInt32BE(state.keys.length, 26);
  body.writeUInt32BE(state.predicates.length, 30);
  body.write(state.name, nameAt, headBytes - nameAt, "hex");
  hashes.forEach((hash, index) => body.writeBigUInt64BE(hash, headBytes + index * hashBytes));
  const mixed = new ByteWriter();
  writeMixedState(mixed, state.mixed);
  return Buffer.concat([body, mixed.view()]);
}

function decodeBody(body: Buffer): TransactionState {
  const isolation = isolations[body[9] ?? isolations.length];
  const keyCount = body.readUInt32BE(26);
  const hashCount = keyCount + body.readUInt32BE(30);
  const mixedAt = headBytes + hashCount * hashBytes;
  if (isolation === undefined || body.length < mixedAt) throw holdsNone();
  const hashes = Array.from({ length: hashCount }, (_, index) =>
    body.readBigUInt64BE(headBytes + index * hashBytes),
  );
  return {
    name: body.toString("hex", nameAt, headBytes),
    isolation,
    readTimestamp: Number(body.readBigUInt64BE(10)) as Timestamp,
    startedMs: Number(body.readBigUInt64BE(18)),
    keys: hashes.slice(0, keyCount),
    predicates: hashes.slice(keyCount),
    // A copy: parts of a Buffer would stay parts of it.
    mixed: decodeMixed(new ByteReader(Uint8Array.from(body.subarray(mixedAt)))),
  };
}

function decodeMixed(reader: ByteReader): TransactionState["mixed"] {
  try {
    return readMixedState(reader);
  } catch (error) {
    throw error instanceof FrameError ? holdsNone() : error;
  }
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
