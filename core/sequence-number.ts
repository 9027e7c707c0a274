/**
 * The order of stream positions. Sequence numbers are integers too long for a number; some
 * stand-ins for Kinesis pad them with zeros, which change nothing about their order.
 */
import { CorruptDataError } from "./errors.ts";
import * as limits from "./limits.ts";
import type { SequenceNumber } from "./types.ts";

const zero = 0x30;
const nine = 0x39;

/** Whether the text is a sequence number that cursors and blocks can carry. */
export function isSequenceNumber(text: string): text is SequenceNumber {
  if (text.length === 0 || text.length > limits.sequenceDigitsMax) return false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < zero || code > nine) return false;
  }
  return true;
}

/**
 * As Kinesis and its stand-ins spell them. Some pad with zeros; one spelling per number keeps
 * comparisons by text right.
 */
export function toSequenceNumber(text: string | undefined): SequenceNumber {
  const plain = (text ?? "").replace(/^0+(?=\d)/, "");
  if (!isSequenceNumber(plain)) {
    throw new CorruptDataError(`stream: "${plain.slice(0, 80)}" is no sequence number`);
  }
  return plain;
}

/** Negative, 0 or positive, as `left` is below, equal to or above `right`. */
export function compareSequenceNumbers(left: SequenceNumber, right: SequenceNumber): number {
  const leftStart = leadingZeros(left);
  const rightStart = leadingZeros(right);
  const leftDigits = left.length - leftStart;
  const rightDigits = right.length - rightStart;
  if (leftDigits !== rightDigits) return leftDigits - rightDigits;
  for (let i = 0; i < leftDigits; i++) {
    const difference = left.charCodeAt(leftStart + i) - right.charCodeAt(rightStart + i);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Zeros before the first other digit. The number zero has as many as it has digits. */
export function leadingZeros(sequenceNumber: SequenceNumber): number {
  let at = 0;
  while (at < sequenceNumber.length && sequenceNumber.charCodeAt(at) === zero) at += 1;
  return at;
}
