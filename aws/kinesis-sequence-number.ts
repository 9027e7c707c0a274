/** Sequence numbers as Kinesis and its stand-ins spell them. */
import { CorruptDataError } from "../core/errors.ts";
import { isSequenceNumber } from "../core/sequence-number.ts";
import type { SequenceNumber } from "../core/types.ts";

/** Some stand-ins pad with zeros; one spelling per number keeps comparisons by text right. */
export function toSequenceNumber(text: string | undefined): SequenceNumber {
  const plain = (text ?? "").replace(/^0+(?=\d)/, "");
  if (!isSequenceNumber(plain)) {
    throw new CorruptDataError(`stream: "${plain.slice(0, 80)}" is no sequence number`);
  }
  return plain;
}
