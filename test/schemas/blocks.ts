/** Generators of log blocks, and one of each maker that is small enough to be read. */
import fc from "fast-check";
import { isPlainAbort, outcomes } from "../../core/verdict-kinds.ts";
import type {
  AbortReason,
  BlockMaker,
  KeyHash,
  LogBlock,
  LogPosition,
  Part,
  MakerNumber,
  PayloadLocation,
  PreparedVerdict,
  SequenceNumber,
  ShardNumber,
  Stamp,
  Timestamp,
  TransactionId,
  Verdict,
  WriteHashes,
} from "../../core/types.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const safe = fc.maxSafeNat();
const word64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((hash) => hash as KeyHash);
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
type OwnLocation = PreparedVerdict["payload"];
const location: fc.Arbitrary<OwnLocation> = fc.oneof(
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
export const inline: fc.Arbitrary<Extract<PayloadLocation, { kind: "inline" }>> = fc.record({
  kind: fc.constant("inline" as const),
  bytes: fc.uint8Array({ maxLength: 40 }),
});
export const stamps: fc.Arbitrary<readonly Stamp[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("nonce" as const),
      nonce: fc.uint8Array({ minLength: 16, maxLength: 16 }),
    }),
    fc.record({
      kind: fc.constant("version" as const),
      version: safe.map((version) => version as Timestamp),
    }),
  ),
  { maxLength: 4 },
);
/** In two shards or more, decided by all of them or by a vote. */
export const parts: fc.Arbitrary<readonly Part[]> = fc
  .uniqueArray(fc.nat({ max: 63 }), { minLength: 2, maxLength: 5 })
  .chain((numbers) =>
    fc
      .record({
        froms: fc.array(safe, { minLength: numbers.length, maxLength: numbers.length }),
        stamped: fc.option(
          fc.array(fc.nat({ max: 900 }), { minLength: numbers.length, maxLength: numbers.length }),
          { nil: undefined },
        ),
      })
      .map(({ froms, stamped }) =>
        numbers
          .toSorted((a, b) => a - b)
          .map((shard, i) => ({
            ...{ shard: shard as ShardNumber, from: (froms[i] ?? 0) as Timestamp },
            ...(stamped === undefined ? {} : { stamps: stamped[i] ?? 0 }),
          })),
      ),
  );
/** How far back a block lies: this one, those before, and any. */
const back = fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 2 ** 40 }));
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
const plainReason = fc.constantFrom(...outcomes.filter(isPlainAbort));

type VerdictSeed = {
  readonly id: TransactionId;
  readonly later: number;
  readonly what:
    | {
        readonly kind: "committed" | "prepared";
        readonly checks: readonly KeyHash[];
        readonly writes: WriteHashes[];
        readonly payload: OwnLocation;
        readonly inline: OwnLocation;
      }
    | {
        readonly kind: "part";
        readonly checks: readonly KeyHash[];
        readonly parts: readonly Part[];
        readonly writes: WriteHashes[];
        readonly payload: OwnLocation;
        readonly inline: OwnLocation;
      }
    | {
        readonly kind: "counted";
        readonly back: number;
        readonly before: number;
        readonly stamps: readonly Stamp[] | undefined;
        readonly writes: WriteHashes[];
      }
    | {
        readonly kind: "voted";
        readonly back: number;
        readonly stamps: readonly Stamp[];
        readonly writes: WriteHashes[];
      }
    | { readonly kind: "conflict"; readonly check: number; readonly back: number }
    | { readonly kind: "plain"; readonly reason: { readonly kind: string } }
    | { readonly kind: "stale" }
    | { readonly kind: "busy"; readonly inTheWay: TransactionId };
};
const verdictSeed: fc.Arbitrary<VerdictSeed> = fc.record({
  id: transactionId,
  later: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2 ** 40 })),
  what: fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constantFrom("committed" as const, "prepared" as const),
        checks: fc.array(word64, { maxLength: 4 }),
        writes: fc.array(write, { maxLength: 5 }),
        payload: location,
        inline,
      }),
    },
    fc.record({
      kind: fc.constant("part" as const),
      checks: fc.array(word64, { maxLength: 4 }),
      parts,
      writes: fc.array(write, { maxLength: 3 }),
      payload: location,
      inline,
    }),
    fc.record({
      kind: fc.constant("counted" as const),
      back,
      before: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 2 ** 40 })),
      stamps: fc.option(stamps, { nil: undefined }),
      writes: fc.array(write, { maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant("voted" as const),
      back,
      stamps,
      writes: fc.array(write, { maxLength: 5 }),
    }),
    fc.record({
      kind: fc.constant("conflict" as const),
      check: fc.nat(),
      back: fc.integer({ min: 1, max: 2 ** 40 }),
    }),
    plainReason.map((kind) => ({ kind: "plain" as const, reason: { kind } })),
    fc.constant({ kind: "stale" as const }),
    fc.record({ kind: fc.constant("busy" as const), inTheWay: transactionId }),
  ),
});

function verdictOf(
  { id, what }: VerdictSeed,
  timestamp: Timestamp,
  { position, maker: by }: { readonly position: number; readonly maker: BlockMaker | undefined },
): Verdict {
  switch (what.kind) {
    case "committed":
    case "prepared": {
      const isInline = by !== undefined && what.payload.kind === "stream";
      const payload = isInline ? what.inline : what.payload;
      const { kind, checks, writes } = what;
      if (kind === "committed") return { kind, id, timestamp, writes, payload };
      return { kind, id, timestamp, checks, writes, payload };
    }
    case "part": {
      const { checks, writes } = what;
      const isInline = by !== undefined && what.payload.kind === "stream";
      const own = isInline ? what.inline : what.payload;
      const payload = writes.length === 0 ? ({ kind: "none" } as const) : own;
      return { kind: "prepared", id, timestamp, checks, writes, payload, parts: what.parts };
    }
    case "counted": {
      const at = Math.max(1, position - what.back) as LogPosition;
      const payload = { kind: "prepared", position: at } as const;
      const counts = Math.max(1, timestamp - what.before) as Timestamp;
      const { writes } = what;
      const voted = what.stamps === undefined ? {} : { stamps: what.stamps };
      return {
        ...{ kind: "committed", id, timestamp: counts, placed: timestamp, writes, payload },
        ...voted,
      };
    }
    case "voted": {
      const at = Math.max(1, position - what.back) as LogPosition;
      const payload = { kind: "prepared", position: at } as const;
      const { writes } = what;
      return { kind: "committed", id, timestamp, writes, payload, stamps: what.stamps };
    }
    case "conflict": {
      const conflictTimestamp = Math.max(0, timestamp - what.back) as Timestamp;
      const reason: AbortReason = { kind: "conflict", check: what.check, conflictTimestamp };
      return { kind: "aborted", id, timestamp, reason };
    }
    case "plain":
      return { kind: "aborted", id, timestamp, reason: what.reason as AbortReason };
    case "stale":
      return { kind: "stale", id };
    case "busy":
      return { kind: "busy", id, inTheWay: what.inTheWay };
  }
}

function oldestOpenOf(position: number, openBack: number | undefined): Partial<LogBlock> {
  if (openBack === undefined || position === 1) return {};
  return { oldestOpen: Math.max(1, position - 1 - openBack) as LogPosition };
}

export const block: fc.Arbitrary<LogBlock> = fc
  .record({
    position: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 2 ** 40 })),
    previousTimestamp: fc.integer({ min: 0, max: 2 ** 51 }),
    sequenceNumber,
    requestsDone: fc.oneof(fc.constant("all" as const), fc.integer({ min: 1, max: 4_096 })),
    hasCursor: fc.boolean(),
    arrivalMs: safe,
    rejectedRecords: fc.nat(),
    maker: fc.option(maker, { nil: undefined }),
    openBack: fc.option(back, { nil: undefined }),
    beyond: fc.oneof(fc.constant(0), fc.nat()),
    seeds: fc.array(verdictSeed, { maxLength: 12 }),
  })
  .map(({ seeds, beyond, hasCursor, requestsDone, openBack, ...rest }) => {
    let last = rest.previousTimestamp;
    const verdicts = seeds.map((seed) => {
      if (seed.what.kind !== "stale" && seed.what.kind !== "busy") last += seed.later;
      return verdictOf(seed, last as Timestamp, rest);
    });
    const decided = last > rest.previousTimestamp;
    return {
      position: rest.position as LogPosition,
      previousTimestamp: rest.previousTimestamp as Timestamp,
      throughTimestamp: (last + (decided ? beyond : 0)) as Timestamp,
      cursor: hasCursor ? { sequenceNumber: rest.sequenceNumber, requestsDone } : undefined,
      arrivalMs: rest.arrivalMs,
      rejectedRecords: rest.rejectedRecords,
      ...(rest.maker === undefined ? {} : { maker: rest.maker }),
      ...oldestOpenOf(rest.position, openBack),
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

/** A later one, of an oracle again: what block 9 has prepared is open as it begins. */
export const goldenOfVotes: LogBlock = {
  position: 12 as LogPosition,
  previousTimestamp: 1_700_000_000_000_009 as Timestamp,
  throughTimestamp: 1_700_000_000_000_012 as Timestamp,
  cursor: { sequenceNumber: "301" as SequenceNumber, requestsDone: "all" },
  arrivalMs: 1_700_000_000_000,
  rejectedRecords: 0,
  oldestOpen: 9 as LogPosition,
  verdicts: [
    {
      kind: "prepared",
      id: "00060a24181e40090000000000000001" as TransactionId,
      timestamp: 1_700_000_000_000_010 as Timestamp,
      checks: [0x66n as KeyHash, 0x77n as KeyHash],
      writes: [
        {
          table: 0x11n as KeyHash,
          partition: 0x22n as KeyHash,
          key: 0x22n as KeyHash,
          sortKey: undefined,
        },
      ],
      payload: { kind: "stream", sequenceNumber: "301" as SequenceNumber, requestIndex: 0 },
    },
    {
      kind: "committed",
      id: "00060a24181e40050000000000000002" as TransactionId,
      timestamp: 1_700_000_000_000_012 as Timestamp,
      writes: [
        {
          table: 0x11n as KeyHash,
          partition: 0x88n as KeyHash,
          key: 0x88n as KeyHash,
          sortKey: undefined,
        },
        {
          table: 0x11n as KeyHash,
          partition: 0x99n as KeyHash,
          key: 0x99n as KeyHash,
          sortKey: undefined,
        },
      ],
      payload: { kind: "prepared", position: 9 as LogPosition },
      stamps: [
        { kind: "nonce", nonce: new Uint8Array(16).fill(0xa7) },
        { kind: "version", version: 1_700_000_000_000_003 as Timestamp },
      ],
    },
    {
      kind: "busy",
      id: "00060a24181e40090000000000000003" as TransactionId,
      inTheWay: "00060a24181e40090000000000000001" as TransactionId,
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

export const goldenHexOfVotes = [
  "54420104 7d57ca93 0c 060a24181e4009 03 01 00 04012d 80d095ffbc31 00 03 03",
  "0f 00060a24181e40090000000000000001 00 02 0000000000000066 0000000000000077",
  "00 00 00 01 00 0000000000000011 00 0000000000000022",
  "12 00060a24181e40050000000000000002 01 03",
  "02 00 a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7 01 060a24181e4003",
  "02 00 0000000000000088 00 0000000000000099",
  "13 00060a24181e40090000000000000003 00060a24181e40090000000000000001",
]
  .join("")
  .replaceAll(" ", "");
