/** Sums and differences of DynamoDB's numbers, exact up to 38 significant digits. */
import { decimalText, requireDecimal, type Decimal } from "../core/decimal.ts";
import * as limits from "../core/limits.ts";
import { numberOverflow } from "./attribute-values.ts";
import { invalid } from "./refusals.ts";

/**
 * Both are canonical texts, and so is the result.
 * @throws ServiceError when the result is no number of DynamoDB's.
 */
export function addNumbers(a: string, b: string): string {
  return sum(requireDecimal(a), requireDecimal(b));
}

export function subtractNumbers(a: string, b: string): string {
  const subtrahend = requireDecimal(b);
  return sum(requireDecimal(a), { ...subtrahend, negative: !subtrahend.negative });
}

function sum(a: Decimal, b: Decimal): string {
  // The power of ten of the last digit of either.
  const scale = Math.min(lastDigitExponent(a), lastDigitExponent(b));
  const total = scaled(a, scale) + scaled(b, scale);
  if (total === 0n) return "0";
  const negative = total < 0n;
  const written = (negative ? -total : total).toString();
  const digits = written.replace(/0+$/, "");
  const exponent = scale + written.length - 1;
  if (exponent > limits.numberExponentMax) throw numberOverflow();
  if (exponent < limits.numberExponentMin) {
    throw invalid(
      "Number underflow. Attempting to store a number with magnitude smaller than supported range",
    );
  }
  if (digits.length > limits.numberDigitsMax) {
    throw invalid("Attempting to store more than 38 significant digits in a Number");
  }
  return decimalText({ negative, digits, exponent });
}

function lastDigitExponent({ digits, exponent }: Decimal): number {
  return digits === "" ? 0 : exponent - digits.length + 1;
}

function scaled(decimal: Decimal, scale: number): bigint {
  if (decimal.digits === "") return 0n;
  const magnitude = BigInt(decimal.digits) * 10n ** BigInt(lastDigitExponent(decimal) - scale);
  return decimal.negative ? -magnitude : magnitude;
}
