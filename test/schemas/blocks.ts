/** Generators of log blocks, and one of each maker that is small enough to be read. */
import fc from "fast-check";
import { isPlainAbort, outcomes } from "../../core/verdict-kinds.ts";
import type {
  AbortReason,
  BlockMaker,
  KeyHash,
  LogBlock,
  LogPosition,
  MakerNumber,
  PreparedVerdict,
  SequenceNumber,
  Stamp,
  Timestamp,
  TransactionId,
  Verdict,
  Version,
  WriteHashes,
} from "../../core/types.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const safe = fc.maxSafeNat();
export const word64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((hash) => hash as KeyHash);
const transactionId = fc
  .tuple(fc.integer({ min: 0, max: 0x1fff_ffff }), fc.bigInt({ min: 0n, max: 2n ** 96n - 1n }))
  .map(
    ([first, rest]) =>
      (first.toString(16).padStart(8, "0") + rest.toString(16).padStart(24, "0")) as TransactionId,
  );
const sequenceNumber = fc.oneof(
  fc.constantFrom("0", "00", "1", "49590338271490256608559692538361571095921575989136588898"),
  fc.bigInt({ min: 0n, max: 10n ** 60n }).map((value) => value.toString()),
  fc.bigInt({ min: 0n, max: 999n }).map((value) => `000${value.toString()}`),
) as fc.Arbitrary<SequenceNumber>;

/** Three of them have the same low word. */
const tables = [1n, 2n, 2n ** 32n + 1n, 2n ** 33n + 1n, 2n ** 40n, 2n ** 64n - 1n] as KeyHash[];
const table = fc.constantFrom(...tables);
export const write: fc.Arbitrary<WriteHashes> = fc.oneof(
  fc.record({ table, key: word64 }).map(({ table: name, key }) => ({
    table: name,
    partition: key,
    key,
    sortKey: undefined,
  })),
  fc
    .record({ table, partition: word64, sortKey: fc.uint8Array({ minLength: 1, maxLength: 64 }) })
    .map((hashes) => ({ ...hashes, key: sampleHashes.sortKey(hashes.partition, hashes.sortKey) })),
  fc
    .record({ table, partition: word64, key: word64, sortKey: fc.constant(undefined) })
    .filter(({ partition, key }) => partition !== key),
);
const location: fc.Arbitrary<PreparedVerdict["payload"]> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("stream" as const),
      sequenceNumber,
      requestIndex: fc.nat({ max: 3 }),
    }),
  },
  fc.record({
    kind: fc.constant("spilled" as const),
    chunks: fc.nat(),
    byteLength: safe,
    digest: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  }),
);
export const inline: fc.Arbitrary<PreparedVerdict["payload"]> = fc.record({
  kind: fc.constant("inline" as const),
  bytes: fc.uint8Array({ maxLength: 40 }),
});
/** Its commits' payloads lie inline, where they do not lie in an oracle's. */
export const maker: fc.Arbitrary<BlockMaker> = fc.record({
  number: fc.nat({ max: 0xffff_ffff }).map((number) => number as MakerNumber),
  installed: fc
    .array(
      fc.record({
        later: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2 ** 40 })),
        proof: fc.uint8Array({ minLength: 9, maxLength: 9 }),
      }),
      { maxLength: 5 },
    )
    .map((reports) => {
      let at = 0;
      return reports.map(({ later, proof }) => ({ timestamp: (at += later) as Timestamp, proof }));
    }),
});
export const stamp: fc.Arbitrary<Stamp> = fc.oneof(
  fc
    .uint8Array({ minLength: 16, maxLength: 16 })
    .map((nonce) => ({ kind: "nonce" as const, nonce })),
  safe.map((version) => ({ kind: "version" as const, version: version as Version })),
);
const plainReason = fc.constantFrom(...outcomes.filter(isPlainAbort));

type VerdictSeed = {
  readonly id: TransactionId;
  readonly later: number;
  readonly what:
    | {
        readonly kind: "committed";
        readonly writes: WriteHashes[];
        readonly payload: PreparedVerdict["payload"];
        readonly inline: PreparedVerdict["payload"];
      }
    | {
        readonly kind: "prepared";
        readonly checks: KeyHash[];
        readonly writes: WriteHashes[];
        readonly payload: PreparedVerdict["payload"];
        readonly inline: PreparedVerdict["payload"];
      }
    | {
        readonly kind: "voted";
        readonly writes: WriteHashes[];
        readonly back: number;
        readonly stamps: Stamp[];
      }
    | { readonly kind: "busy"; readonly inTheWay: TransactionId }
    | { readonly kind: "conflict"; readonly check: number; readonly back: number }
    | { readonly kind: "plain"; readonly reason: { readonly kind: string } }
    | { readonly kind: "stale" };
};
const verdictSeed: fc.Arbitrary<VerdictSeed> = fc.record({
  id: transactionId,
  later: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2 ** 40 })),
  what: fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("committed" as const),
        writes: fc.array(write, { maxLength: 5 }),
        payload: location,
        inline,
      }),
    },
    fc.record({
      kind: fc.constant("prepared" as const),
      checks: fc.array(word64, { maxLength: 5 }),
      writes: fc.array(write, { maxLength: 5 }),
      payload: location,
      inline,
    }),
    fc.record({
      kind: fc.constant("voted" as const),
      writes: fc.array(write, { maxLength: 5 }),
      back: fc.nat({ max: 300 }),
      stamps: fc.array(stamp, { maxLength: 5 }),
    }),
    fc.record({ kind: fc.constant("busy" as const), inTheWay: transactionId }),
    fc.record({
      kind: fc.constant("conflict" as const),
      check: fc.nat(),
      back: fc.integer({ min: 1, max: 2 ** 40 }),
    }),
    plainReason.map((kind) => ({ kind: "plain" as const, reason: { kind } })),
    fc.constant({ kind: "stale" as const }),
  ),
});

function verdictOf(
  { id, what }: VerdictSeed,
  timestamp: Timestamp,
  { maker: by, position }: Pick<LogBlock, "maker" | "position">,
): Verdict {
  switch (what.kind) {
    case "committed": {
      const isInline = by !== undefined && what.payload.kind === "stream";
      const payload = isInline ? what.inline : what.payload;
      return { kind: "committed", id, timestamp, writes: what.writes, payload };
    }
    case "prepared": {
      const isInline = by !== undefined && what.payload.kind === "stream";
      const payload = isInline ? what.inline : what.payload;
      return { kind: "prepared", id, timestamp, checks: what.checks, writes: what.writes, payload };
    }
    case "voted": {
      const { writes, stamps, back } = what;
      const at = Math.max(1, position - back) as LogPosition;
      const payload = { kind: "prepared", position: at } as const;
      return { kind: "committed", id, timestamp, writes, payload, stamps };
    }
    case "busy":
      return { kind: "busy", id, inTheWay: what.inTheWay };
    case "conflict": {
      const conflictTimestamp = Math.max(0, timestamp - what.back) as Timestamp;
      const reason: AbortReason = { kind: "conflict", check: what.check, conflictTimestamp };
      return { kind: "aborted", id, timestamp, reason };
    }
    case "plain":
      return { kind: "aborted", id, timestamp, reason: what.reason as AbortReason };
    case "stale":
      return { kind: "stale", id };
  }
}

export const block: fc.Arbitrary<LogBlock> = fc
  .record({
    position: fc.integer({ min: 1, max: 2 ** 40 }),
    previousTimestamp: fc.integer({ min: 0, max: 2 ** 51 }),
    sequenceNumber,
    requestsDone: fc.oneof(fc.constant("all" as const), fc.integer({ min: 1, max: 4_096 })),
    hasCursor: fc.boolean(),
    arrivalMs: safe,
    rejectedRecords: fc.nat(),
    maker: fc.option(maker, { nil: undefined }),
    openBack: fc.option(fc.integer({ min: 1, max: 2 ** 30 }), { nil: undefined }),
    beyond: fc.oneof(fc.constant(0), fc.nat()),
    seeds: fc.array(verdictSeed, { maxLength: 12 }),
  })
  .map(({ seeds, beyond, hasCursor, requestsDone, openBack, ...rest }) => {
    let last = rest.previousTimestamp;
    const position = rest.position as LogPosition;
    const by = rest.maker === undefined ? { position } : { position, maker: rest.maker };
    const verdicts = seeds.map((seed) => {
      if (seed.what.kind !== "stale" && seed.what.kind !== "busy") last += seed.later;
      return verdictOf(seed, last as Timestamp, by);
    });
    const oldestOpen = (position - (openBack ?? position)) as LogPosition;
    const decided = last > rest.previousTimestamp;
    return {
      position,
      previousTimestamp: rest.previousTimestamp as Timestamp,
      throughTimestamp: (last + (decided ? beyond : 0)) as Timestamp,
      cursor: hasCursor ? { sequenceNumber: rest.sequenceNumber, requestsDone } : undefined,
      arrivalMs: rest.arrivalMs,
      rejectedRecords: rest.rejectedRecords,
      ...(rest.maker === undefined ? {} : { maker: rest.maker }),
      ...(oldestOpen > 0 ? { oldestOpen } : {}),
      verdicts,
    };
  });

/** One of each kind of verdict of an oracle, small enough to be read. */
export const golden: LogBlock = {
  position: 7 as LogPosition,
  previousTimestamp: 1_700_000_000_000_000 as Timestamp,
  throughTimestamp: 1_700_000_000_000_003 as Timestamp,
  cursor: { sequenceNumber: "300" as SequenceNumber, requestsDone: 5 },
  arrivalMs: 1_700_000_000_000,
  rejectedRecords: 1,
  verdicts: [
    {
      kind: "committed",
      id: "000000000000000100000000000000aa" as TransactionId,
      timestamp: 1_700_000_000_000_001 as Timestamp,
      writes: [
        {
          table: 0x11n as KeyHash,
          partition: 0x22n as KeyHash,
          key: 0x22n as KeyHash,
          sortKey: undefined,
        },
        {
          table: 0x33n as KeyHash,
          partition: 0x44n as KeyHash,
          key: sampleHashes.sortKey(0x44n as KeyHash, Uint8Array.of(0xc1, 0x61)),
          sortKey: Uint8Array.of(0xc1, 0x61),
        },
      ],
      payload: {
        kind: "stream",
        sequenceNumber: "255" as SequenceNumber,
        requestIndex: 0,
      },
    },
    {
      kind: "aborted",
      id: "000000000000000100000000000000bb" as TransactionId,
      timestamp: 1_700_000_000_000_002 as Timestamp,
      reason: {
        kind: "conflict",
        check: 3,
        conflictTimestamp: 1_700_000_000_000_001 as Timestamp,
      },
    },
    { kind: "stale", id: "000000000000000100000000000000cc" as TransactionId },
    {
      kind: "committed",
      id: "000000000000000100000000000000dd" as TransactionId,
      timestamp: 1_700_000_000_000_003 as Timestamp,
      writes: [
        {
          table: 0x33n as KeyHash,
          partition: 0x44n as KeyHash,
          key: 0x55n as KeyHash,
          sortKey: undefined,
        },
      ],
      payload: { kind: "stream", sequenceNumber: "255" as SequenceNumber, requestIndex: 3 },
    },
  ],
};

/** The block after it, of a client. */
export const goldenOfClient: LogBlock = {
  position: 8 as LogPosition,
  previousTimestamp: golden.throughTimestamp,
  throughTimestamp: 1_700_000_000_000_005 as Timestamp,
  cursor: golden.cursor,
  arrivalMs: 1_700_000_000_000,
  rejectedRecords: 0,
  maker: {
    number: 0xdecade01 as MakerNumber,
    installed: [
      { timestamp: 1_700_000_000_000_001 as Timestamp, proof: new Uint8Array(9).fill(0x5a) },
      { timestamp: 1_700_000_000_000_003 as Timestamp, proof: new Uint8Array(9).fill(0xa5) },
    ],
  },
  verdicts: [
    {
      kind: "committed",
      id: "000000000000000100000000000000ee" as TransactionId,
      timestamp: 1_700_000_000_000_005 as Timestamp,
      writes: [],
      payload: { kind: "inline", bytes: Uint8Array.of(0xab, 0xcd) },
    },
  ],
};

export function withMaker(change: Partial<BlockMaker>): LogBlock {
  const number = 1 as MakerNumber;
  return { ...goldenOfClient, maker: { number, installed: [], ...change } };
}

export const goldenHex = [
  "54420100 7d57ca93 07 060a24181e4000 03 02 00 04012c 05 80d095ffbc31 01 04",
  "02 000000000000000100000000000000aa 00 00 032d 00",
  "02 00 0000000000000011 00 0000000000000022",
  "01 0000000000000033 01 0000000000000044 02 c161",
  "05 000000000000000100000000000000bb 00 03 00",
  "0a 000000000000000100000000000000cc",
  "00 000000000000000100000000000000dd 00",
  "01 01 0000000000000044 00 0000000000000055",
]
  .join("")
  .replaceAll(" ", "");

export const goldenHexOfClient = [
  "54420103 7d57ca93 08 060a24181e4003 02 02 00 04012c 05 80d095ffbc31 00",
  "decade01 02 060a24181e4001 5a5a5a5a5a5a5a5a5a 02 a5a5a5a5a5a5a5a5a5",
  "01 04 000000000000000100000000000000ee 01 02 abcd 00",
]
  .join("")
  .replaceAll(" ", "");
