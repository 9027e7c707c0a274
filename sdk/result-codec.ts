/**
 * How the first result of an idempotent transaction is kept, so that a repeat returns it: as an
 * attribute value, by the marshaller's rules. Two things go beyond an item's: no result at all
 * (`undefined`) can be kept, and a bigint or a number object stays what it was instead of being
 * read back as the smallest fitting kind.
 */
import { canonicalNumber } from "../core/decimal.ts";
import { CorruptDataError, InvalidRequestError } from "../core/errors.ts";
import type { AttributeValue } from "../core/types.ts";
import type { ResultCodec } from "../engine/types.ts";
import { marshallValue, type SpecialValue } from "./marshall.ts";
import { type Numbers, numberReader, numberWriter, unmarshallValue } from "./unmarshall.ts";

/** A map with this one attribute stands for a number that is not a JavaScript number. */
const numberTag = "$number";

/**
 * A codec for one call. `normalized` turns the result of the run that committed into what a repeat
 * would return, so that both are equal to the letter.
 */
export type CallCodec<Result> = ResultCodec<Result> & { normalized(result: Result): Result };

export function resultCodec<Result>(numbers: Numbers): CallCodec<Result> {
  const numberObject = numberWriter(numbers);
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
    if (result === undefined) return { M: {} };
    try {
      return { M: { value: marshallValue(result, "result", { special }) } };
    } catch (error) {
      if (!(error instanceof InvalidRequestError)) throw error;
      throw new InvalidRequestError(
        "result",
        `with an idempotency key the result is kept for repeats, and ${error.message}`,
        { cause: error },
      );
    }
  };
  const decode = (kept: AttributeValue): Result => {
    if (!("M" in kept)) throw new CorruptDataError("a kept result is not one of this SDK");
    const value = kept.M["value"];
    // The type is the caller's word: the same key means the same body.
    return (value === undefined ? undefined : read(value, numbers)) as Result;
  };
  return { encode, decode, normalized: (result) => decode(encode(result)) };
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
