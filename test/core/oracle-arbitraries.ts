/** Streams for property tests: few keys, so that they conflict, and copies of earlier requests. */
import fc from "fast-check";
import type { RequestKind, Stamp, TransactionId, Version } from "../../core/types.ts";
import {
  hash,
  id,
  keyOf,
  simpleWrite,
  type TestRecord,
  type TestRequest,
  type TestWrite,
} from "./oracle-harness.ts";

/** First arrival; its microseconds lie just above the harness's `startTimestamp`. */
const firstArrivalMs = 1_000_001;
const sortedTable = hash(2_000_000);

const sortedWrite = fc
  .record({
    partition: fc.integer({ min: 50, max: 52 }),
    sortKey: fc.uint8Array({ minLength: 1, maxLength: 70 }),
  })
  .map(({ partition, sortKey }): TestWrite => ({
    table: sortedTable,
    partition: hash(partition),
    sortKey,
  }));

const write: fc.Arbitrary<TestWrite> = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 12 }).map((key) => simpleWrite(key)) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 3 }).map((key) => simpleWrite(key, 2)) },
  { weight: 1, arbitrary: sortedWrite },
);

/** Keys, partitions and now and then a whole table. */
const check = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 12 }).map((key) => hash(key)) },
  { weight: 2, arbitrary: fc.integer({ min: 50, max: 52 }).map((partition) => hash(partition)) },
  { weight: 1, arbitrary: fc.constantFrom(hash(1_000_002), sortedTable) },
);

type RequestSeed = {
  readonly kind: RequestKind;
  readonly age: number;
  /** Of a vote or an abort: on the id of the prepared one that many before it, if there is one. */
  readonly on: number;
  readonly isForged: boolean;
  readonly checks: readonly ReturnType<typeof hash>[];
  readonly writes: readonly TestWrite[];
  readonly isSnapshot: boolean;
  readonly spilled: TestRequest["spilled"];
  readonly tableFault: TestRequest["tableFault"];
  /** Above 0: a copy of the request that many before it. */
  readonly copyOf: number;
};

const requestSeed: fc.Arbitrary<RequestSeed> = fc.record({
  kind: fc.oneof(
    { weight: 9, arbitrary: fc.constant("commit" as const) },
    { weight: 1, arbitrary: fc.constant("abort" as const) },
    { weight: 2, arbitrary: fc.constant("prepare" as const) },
    { weight: 2, arbitrary: fc.constant("vote" as const) },
  ),
  age: fc.oneof(fc.integer({ min: 1, max: 4_000 }), fc.integer({ min: 1, max: 40_000 })),
  on: fc.integer({ min: 1, max: 4 }),
  isForged: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  checks: fc.array(check, { maxLength: 4 }),
  writes: fc.array(write, { maxLength: 4 }),
  isSnapshot: fc.boolean(),
  spilled: fc.oneof(
    { weight: 12, arbitrary: fc.constant(undefined) },
    fc.constantFrom("read" as const, "unreadable" as const, "too-large" as const),
  ),
  tableFault: fc.oneof(
    { weight: 12, arbitrary: fc.constant(undefined) },
    fc.constantFrom("unknown" as const, "differs" as const),
  ),
  copyOf: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 30 })),
});

const recordSeed = fc.record({
  // Arrivals may step back, and then lie behind what is decided.
  laterMs: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 4 }) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 60 }) },
    { weight: 1, arbitrary: fc.integer({ min: -30, max: -1 }) },
  ),
  gap: fc.bigInt({ min: 1n, max: 2n ** 70n }),
  rejected: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
  requests: fc.array(requestSeed, { maxLength: 8 }),
});

/**
 * A stream of honest clients: `checkedTo` lies below the arrival of a request's first copy, and a
 * copy is the same bytes.
 */
export function streams(recordsMax: number): fc.Arbitrary<readonly TestRecord[]> {
  return fc.array(recordSeed, { maxLength: recordsMax }).map((seeds) => {
    const sent: TestRequest[] = [];
    let arrivalMs = firstArrivalMs;
    let sequence = 10n ** 20n;
    return seeds.map((seed) => {
      arrivalMs += seed.laterMs;
      sequence += seed.gap;
      if (seed.rejected) return { sequence, arrivalMs, requests: [], rejected: true };
      const requests = seed.requests.map((request) => {
        const made = sent.at(-request.copyOf);
        if (request.copyOf > 0 && made !== undefined) return made;
        const prepared = sent.filter(({ kind }) => kind === "prepare").at(-request.on);
        const n = sent.length;
        const fresh = freshRequest(prepared, request, { n, arrivalMs });
        sent.push(fresh);
        return fresh;
      });
      return { sequence, arrivalMs, requests };
    });
  });
}

/** What each install of such a transaction is to replace; the same in each vote on the id. */
function stampsOf(voted: TransactionId): readonly Stamp[] {
  const n = Number.parseInt(voted.slice(-4), 16);
  const nonce = { kind: "nonce", nonce: new Uint8Array(16).fill(n % 256) } as const;
  const version = { kind: "version", version: (n * 1_000) as Version } as const;
  return [nonce, version].slice(n % 3);
}

/** @param prepared one that may be open. */
function freshRequest(
  prepared: TestRequest | undefined,
  seed: RequestSeed,
  { n, arrivalMs }: { readonly n: number; readonly arrivalMs: number },
): TestRequest {
  const checkedTo = arrivalMs * 1000 - seed.age;
  const { isForged } = seed;
  if (seed.kind === "vote") {
    const open = prepared?.id ?? id(n);
    return { id: open, kind: "vote", checkedTo, isForged, stamps: stampsOf(open) };
  }
  if (seed.kind === "abort" && prepared !== undefined && !isForged) {
    // An honest one does not ask beyond what it has searched: no decision on the id lies there.
    return { id: prepared.id, kind: "abort", checkedTo: prepared.checkedTo };
  }
  if (seed.kind === "abort") return { id: id(n), kind: "abort", checkedTo };
  const { writes, spilled, tableFault, isSnapshot } = seed;
  return {
    id: id(n),
    kind: seed.kind,
    isolation: isSnapshot ? "snapshot" : "serializable",
    checkedTo,
    checks: isSnapshot ? writes.map(keyOf) : seed.checks,
    writes,
    ...(spilled === undefined ? {} : { spilled }),
    ...(tableFault === undefined ? {} : { tableFault }),
  };
}
