/**
 * Random calls of Kinesis, valid and invalid. Sequence numbers and iterators are the service's own,
 * so calls name records by their number, and a run looks up what each service calls them.
 */
import fc from "fast-check";

/** A place in a shard, as a reader may ask for it. */
export type Start =
  | { readonly kind: "TRIM_HORIZON" | "LATEST" }
  | { readonly kind: "AT_SEQUENCE_NUMBER" | "AFTER_SEQUENCE_NUMBER"; readonly record: number }
  | { readonly kind: "broken"; readonly input: Readonly<Record<string, string>> };

export type KinesisCall =
  | { readonly kind: "put"; readonly input: Readonly<Record<string, unknown>> }
  | { readonly kind: "put-many"; readonly records: readonly Readonly<Record<string, unknown>>[] }
  /** Reads from a place to the end of the shard, in pages. */
  | {
      readonly kind: "read";
      readonly shard: number;
      readonly start: Start;
      readonly limit: number;
    }
  | { readonly kind: "split"; readonly shard: number; readonly at: string }
  | { readonly kind: "merge"; readonly shard: number; readonly with: number }
  | { readonly kind: "shards"; readonly after: number | undefined };

const largest = (2n ** 128n - 1n).toString();
const hashKey = fc.oneof(
  { weight: 6, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map(String) },
  { weight: 2, arbitrary: fc.constantFrom("0", "1", largest, (2n ** 127n).toString()) },
  { weight: 1, arbitrary: fc.constantFrom((2n ** 128n).toString(), "-1", "01", "x") },
);
const data = fc.uint8Array({ maxLength: 8 });
const partitionKey = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom("a", "b", "é", "\u{1F600}", "key") },
  { weight: 1, arbitrary: fc.constantFrom("", "k".repeat(256), "k".repeat(257)) },
);

const entry = fc.record(
  { Data: data, PartitionKey: partitionKey, ExplicitHashKey: hashKey },
  { requiredKeys: ["Data", "PartitionKey"] },
);
const shard = fc.oneof(
  { weight: 8, arbitrary: fc.nat(2) },
  { weight: 2, arbitrary: fc.integer({ min: 3, max: 6 }) },
);

const start: fc.Arbitrary<Start> = fc.oneof(
  fc.constantFrom({ kind: "TRIM_HORIZON" as const }, { kind: "LATEST" as const }),
  fc.record({
    kind: fc.constantFrom("AT_SEQUENCE_NUMBER" as const, "AFTER_SEQUENCE_NUMBER" as const),
    record: fc.nat(20),
  }),
  fc
    .constantFrom(
      { ShardIteratorType: "AT_SEQUENCE_NUMBER" },
      { ShardIteratorType: "AT_SEQUENCE_NUMBER", StartingSequenceNumber: "abc" },
      {
        ShardIteratorType: "AFTER_SEQUENCE_NUMBER",
        StartingSequenceNumber: "12345678901234567890",
      },
      { ShardIteratorType: "LATEST", StartingSequenceNumber: "0" },
      { ShardIteratorType: "NOWHERE" },
      { ShardIteratorType: "AT_TIMESTAMP" },
    )
    .map((input): Start => ({ kind: "broken", input })),
);

export const kinesisCall: fc.Arbitrary<KinesisCall> = fc.oneof(
  { weight: 4, arbitrary: entry.map((input) => ({ kind: "put" as const, input })) },
  {
    weight: 4,
    arbitrary: fc
      .array(entry, { maxLength: 6 })
      .map((records) => ({ kind: "put-many" as const, records })),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("read" as const),
      shard,
      start,
      limit: fc.constantFrom(1, 2, 3, 5, 100, 10_000, 10_000, 0, 10_001),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("split" as const), shard, at: hashKey }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("merge" as const), shard, with: shard }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("shards" as const),
      after: fc.option(shard, { nil: undefined }),
    }),
  },
);
