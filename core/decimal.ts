/**
 * DynamoDB's numbers: decimals of up to 38 significant digits whose first digit stands at a power
 * of ten between -130 and 125. They are handled as text, so nothing is rounded. Every number has
 * one canonical text, the one that DynamoDB itself answers with: plain digits without exponent,
 * plus sign, leading or trailing zeros, or negative zero.
 */
import { InvalidRequestError } from "./errors.ts";
import * as limits from "./limits.ts";

/** `±d.ddd × 10^exponent`; `digits` neither begins nor ends with 0, and is empty for zero. */
export type Decimal = {
  readonly negative: boolean;
  readonly digits: string;
  readonly exponent: number;
};

/** Why a text is not a DynamoDB number. */
export type NumberFault = "not-a-number" | "too-many-digits" | "overflow" | "underflow";

const spelling = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+))?$/;
const plainInteger = /^(?:0|-?[1-9]\d{0,14})$/;
const zero: Decimal = { negative: false, digits: "", exponent: 0 };

/** Reads any spelling that DynamoDB takes: `1.0`, `+1`, `007`, `.5`, `1e0`, `-0`. */
export function parseDecimal(text: string): Decimal | NumberFault {
  const match = spelling.exec(text);
  if (match === null) return "not-a-number";
  const whole = match[2] ?? "";
  const fraction = match[3] ?? match[4] ?? "";
  const written = whole + fraction;
  let first = 0;
  while (written.charCodeAt(first) === 0x30) first += 1;
  if (first === written.length) return zero;
  let end = written.length;
  while (written.charCodeAt(end - 1) === 0x30) end -= 1;

  // An exponent with more digits than a double holds becomes infinite, which the range refuses.
  const exponent = whole.length - 1 - first + Number(match[5] ?? "0");
  if (exponent > limits.numberExponentMax) return "overflow";
  if (exponent < limits.numberExponentMin) return "underflow";
  if (end - first > limits.numberDigitsMax) return "too-many-digits";
  return { negative: match[1] === "-", digits: written.slice(first, end), exponent };
}

/**
 * The canonical text of a number in any spelling.
 * @param field names the input in the error.
 * @throws InvalidRequestError naming the limit.
 */
export function canonicalNumber(text: string, field = "N"): string {
  if (plainInteger.test(text)) return text;
  return decimalText(requireDecimal(text, field));
}

/** @throws InvalidRequestError naming the limit. */
export function requireDecimal(text: string, field = "N"): Decimal {
  const decimal = parseDecimal(text);
  if (typeof decimal === "string") {
    throw new InvalidRequestError(field, `${field}: ${numberFaultMessage(decimal)}`);
  }
  return decimal;
}

/** What is wrong and what would be right, in words. */
function numberFaultMessage(fault: NumberFault): string {
  switch (fault) {
    case "not-a-number":
      return "not a decimal number; write digits such as -12.5 or 1.5e3";
    case "too-many-digits":
      return `more than ${limits.numberDigitsMax} significant digits; round it or store text`;
    case "overflow":
      return `magnitude of 1E+${limits.numberExponentMax + 1} or more; DynamoDB ends below that`;
    case "underflow":
      return `magnitude below 1E${limits.numberExponentMin}; DynamoDB ends there, write 0 instead`;
  }
}

export function decimalText({ negative, digits, exponent }: Decimal): string {
  if (digits === "") return "0";
  const sign = negative ? "-" : "";
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const wholeDigits = exponent + 1;
  if (digits.length <= wholeDigits) return sign + digits.padEnd(wholeDigits, "0");
  return `${sign}${digits.slice(0, wholeDigits)}.${digits.slice(wholeDigits)}`;
}

/** Negative, zero or positive. @throws InvalidRequestError for a text that is no number. */
export function compareNumbers(a: string, b: string): number {
  return compareDecimals(requireDecimal(a), requireDecimal(b));
}

export function compareDecimals(a: Decimal, b: Decimal): number {
  const signA = signOf(a);
  const signB = signOf(b);
  if (signA !== signB) return signA - signB;
  const magnitude =
    a.exponent !== b.exponent
      ? a.exponent - b.exponent
      : a.digits === b.digits
        ? 0
        : a.digits < b.digits
          ? -1
          : 1;
  return magnitude === 0 ? 0 : signA * magnitude;
}

/**
 * The safe integer that a canonical text stands for, or undefined for a fraction or one outside
 * ±(2^53 - 1).
 */
export function safeInteger(canonical: string): number | undefined {
  if (canonical.length > 17 || canonical.includes(".")) return undefined;
  const value = Number(canonical);
  return Number.isSafeInteger(value) ? value : undefined;
}

/**
 * Whether ASCII `bytes[start, end)` is the canonical text of a number that is not a safe integer
 * (those have a shorter encoding). Allocates nothing.
 */
export function isCanonicalLongNumber(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] === minus ? start + 1 : start;
  let wholeEnd = first;
  while (wholeEnd < end && isDigit(bytes[wholeEnd])) wholeEnd += 1;
  if (wholeEnd === first || (wholeEnd < end && bytes[wholeEnd] !== dot)) return false;
  for (let i = wholeEnd + 1; i < end; i++) if (!isDigit(bytes[i])) return false;
  const wholeDigits = wholeEnd - first;
  const leadingZero = bytes[first] === digitZero;
  if (wholeEnd === end) {
    if (leadingZero || wholeDigits > limits.numberExponentMax + 1) return false;
    let last = end - 1;
    while (bytes[last] === digitZero) last -= 1;
    if (last + 1 - first > limits.numberDigitsMax) return false;
    return wholeDigits > 16 || (wholeDigits === 16 && isAboveSafe(bytes, first));
  }
  // A fraction: at least one digit after the point, the last of them not 0.
  if (wholeEnd + 1 >= end || bytes[end - 1] === digitZero) return false;
  if (!leadingZero) return end - first - 1 <= limits.numberDigitsMax;
  if (wholeDigits > 1) return false;
  let significant = wholeEnd + 1;
  while (bytes[significant] === digitZero) significant += 1;
  return (
    significant - wholeEnd <= -limits.numberExponentMin &&
    end - significant <= limits.numberDigitsMax
  );
}

const minus = 0x2d;
const dot = 0x2e;
const digitZero = 0x30;
const largestSafe = Number.MAX_SAFE_INTEGER.toString();

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** Whether sixteen digits stand for more than 2^53 - 1. */
function isAboveSafe(bytes: Uint8Array, first: number): boolean {
  for (let i = 0; i < largestSafe.length; i++) {
    const difference = (bytes[first + i] ?? 0) - largestSafe.charCodeAt(i);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

function signOf({ negative, digits }: Decimal): number {
  return digits === "" ? 0 : negative ? -1 : 1;
}

/**
 * The canonical text of the exact sum.
 * @param field names the input in the error.
 * @throws InvalidRequestError when the sum has more digits than DynamoDB stores.
 */
export function addNumbers(a: string, b: string, field: string): string {
  const terms = [requireDecimal(a, field), requireDecimal(b, field)];
  const scale = Math.min(...terms.map(({ exponent, digits }) => exponent - digits.length + 1));
  let total = 0n;
  for (const { negative, digits, exponent } of terms) {
    const zeros = exponent - digits.length + 1 - scale;
    const term = BigInt(digits === "" ? "0" : digits + "0".repeat(zeros));
    total += negative ? -term : term;
  }
  return canonicalNumber(`${total.toString()}e${scale.toString()}`, field);
}
