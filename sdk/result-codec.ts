/**
 * How the first result of an idempotent transaction is kept, so that a repeat returns it: as an
 * attribute value, by the marshaller's rules. Two things go beyond an item's: no result at all
 * (`undefined`) can be kept, and a bigint or a number object stays what it was instead of being
 * read back as the smallest fitting kind. Beside it stands a digest of the request that it answers,
 * if the caller gives one: a repeat is told from another request that reuses the key.
 */
import { systemDigest } from "../aws/system-digest.ts";
import { canonicalNumber } from "../core/decimal.ts";
import {
  CorruptDataError,
  IdempotencyKeyReusedError,
  InvalidRequestError,
} from "../core/errors.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import type { ResultCodec } from "../engine/types.ts";
import { numberTag } from "../schemas/kept-value.ts";
import { marshallValue, type SpecialValue } from "./marshall.ts";
import { numberReader, numberWriter, unmarshallValue } from "./unmarshall.ts";
import { type Numbers } from "./numbers.ts";

/**
 * A codec for one call. `normalized` turns the result of the run that committed into what a repeat
 * would return, so that both are equal to the letter.
 */
export type CallCodec<Result> = ResultCodec<Result> & { normalized(result: Result): Result };

/**
 * @param request what the call is for, anything that an item can hold; undefined is compared with
 * nothing.
 * @param path what messages call it: the input of a BASE transaction is kept in the same way.
 * @throws InvalidRequestError for a request that no item can hold.
 */
export function resultCodec<Result>(
  numbers: Numbers,
  request?: unknown,
  path: "result" | "input" = "result",
): CallCodec<Result> {
  const numberObject = numberWriter(numbers);
  const asked = request === undefined ? undefined : digestOf(request, numberObject);
  const beside: Item = asked === undefined ? {} : { request: { B: asked } };
  const special: SpecialValue = (value, path) => {
    if (typeof value === "bigint") {
      return { M: { [numberTag]: { N: canonicalNumber(value.toString(), path) } } };
    }
    if (Object.hasOwn(value, numberTag)) {
      throw new InvalidRequestError("result", `${path} has the reserved attribute ${numberTag}`);
    }
    const number = numberObject?.(value, path);
    return number === undefined ? undefined : { M: { [numberTag]: number } };
  };
  const encode = (result: Result): AttributeValue => {
    if (result === undefined) return { M: beside };
    try {
      return { M: { value: marshallValue(result, path, { special }), ...beside } };
    } catch (error) {
      if (!(error instanceof InvalidRequestError)) throw error;
      throw new InvalidRequestError(
        path,
        `the ${path} is kept for repeats, of an idempotency key or a BASE transaction, and ` +
          error.message,
        { cause: error },
      );
    }
  };
  const decode = (kept: AttributeValue): Result => {
    if (!("M" in kept)) {
      throw new CorruptDataError(
        "what is kept under this `idempotencyKey` is no result of this SDK: something else has " +
          "written it. Delete the key's entry in the control table, or use another key",
      );
    }
    requireSameRequest(kept.M["request"], asked);
    const value = kept.M["value"];
    // The type is the caller's word: the same key means the same body.
    return (value === undefined ? undefined : read(value, numbers)) as Result;
  };
  return { encode, decode, normalized: (result) => decode(encode(result)) };
}

/** A call that names no request, before or now, takes the caller's word that it is the same. */
function requireSameRequest(kept: AttributeValue | undefined, asked: Uint8Array | undefined): void {
  if (kept === undefined || !("B" in kept) || asked === undefined) return;
  // mutant: other-request-answered
  if (Buffer.compare(kept.B, asked) === 0) return;
  throw new IdempotencyKeyReusedError(
    "an earlier transaction under this `idempotencyKey` was for another `idempotencyRequest`; " +
      "use a new key for each request",
  );
}

/** Equal for requests that are stored as equal items, whatever the order of names and members. */
function digestOf(request: unknown, special: SpecialValue | undefined): Uint8Array {
  const context = special === undefined ? {} : { special };
  const value = marshallValue(request, "idempotencyRequest", context);
  const text = JSON.stringify(value, (name, member: unknown): unknown => {
    // In a stored value an array of this name can only be a set's.
    if (Array.isArray(member)) return /^[SNB]S$/u.test(name) ? member.map(String).sort() : member;
    if (typeof member !== "object" || member === null) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return systemDigest(Buffer.from(text));
}

function read(value: AttributeValue, numbers: Numbers): unknown {
  if ("L" in value) return value.L.map((member) => read(member, numbers));
  if (!("M" in value)) return unmarshallValue(value, numberReader("bigint-when-unsafe"));
  const tagged = value.M[numberTag];
  if (tagged !== undefined && "N" in tagged) {
    return typeof numbers === "function" ? numbers(tagged.N) : BigInt(tagged.N);
  }
  return Object.fromEntries(
    Object.entries(value.M).map(([name, member]) => [name, read(member, numbers)]),
  );
}
