/**
 * Sequence numbers in the form that Kinesis gives them: decimal texts of 56 digits that carry the
 * shard and its time of creation, and grow within a shard with every record.
 *
 * As hexadecimal digits, most significant first: 2, seconds of the shard's creation (9), index of
 * the shard modulo 16 (1), count of the record (16), zeros (2), seconds of the record (9), index of
 * the shard (8), 2.
 */

export type SequenceParts = {
  readonly shardIndex: number;
  /** Seconds since the epoch. */
  readonly shardCreatedSeconds: number;
  readonly count: bigint;
  readonly seconds: number;
};

/** The count that ends a closed shard's range: above every record's. */
export const endingCount = 0x7fff_ffff_ffff_ffffn;
const pattern = /^2([0-9a-f]{9})([0-9a-f])([0-9a-f]{16})00([0-9a-f]{9})([0-9a-f]{8})2$/;

export function sequenceNumber(parts: SequenceParts): string {
  const hex = (value: number | bigint, digits: number): string =>
    value.toString(16).padStart(digits, "0");
  return BigInt(
    "0x2" +
      hex(parts.shardCreatedSeconds, 9) +
      hex(parts.shardIndex % 16, 1) +
      hex(parts.count, 16) +
      "00" +
      hex(parts.seconds, 9) +
      hex(parts.shardIndex, 8) +
      "2",
  ).toString();
}

/** Undefined for a text that is no sequence number of a stream. */
export function parseSequenceNumber(text: string): SequenceParts | undefined {
  if (!/^\d{1,128}$/.test(text)) return undefined;
  const match = pattern.exec(BigInt(text).toString(16));
  const [, created, , count, seconds, shard] = match ?? [];
  if (created === undefined || count === undefined) return undefined;
  return {
    shardIndex: Number.parseInt(shard ?? "", 16),
    shardCreatedSeconds: Number.parseInt(created, 16),
    count: BigInt(`0x${count}`),
    seconds: Number.parseInt(seconds ?? "", 16),
  };
}
