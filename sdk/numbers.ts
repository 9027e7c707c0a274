/** The option that says how stored numbers come back. */
import { InvalidRequestError } from "../core/errors.ts";
import { isPlainObject } from "./check-options.ts";

/**
 * How stored numbers come back. `"bigint-when-unsafe"` (default): a number, or a bigint where the
 * integer is not safe in a double. `"number"`: always a number; an unsafe integer is an error. A
 * function gets the exact text and returns the value of your choice (`NumberValue.from`, `(text) =>
 * new Big(text)`); what it returns is accepted by writes, too, through its `toString`.
 */
export type Numbers = "number" | "bigint-when-unsafe" | ((text: string) => unknown);

/**
 * What the objects are told by that a number function makes; undefined where it makes none.
 * @throws InvalidRequestError when the function returns something that would not be written as a
 * number.
 */
export function numberPrototype(numbers: Numbers): unknown {
  if (typeof numbers !== "function") return undefined;
  const sample = numbers("0");
  if (typeof sample === "number" || typeof sample === "bigint") return undefined;
  if (typeof sample === "object" && sample !== null && !isPlainObject(sample)) {
    return Object.getPrototypeOf(sample);
  }
  throw new InvalidRequestError(
    "numbers",
    "`numbers` must return a number, a bigint or an instance of a class: " +
      "anything else would change its type when it is written back",
  );
}
