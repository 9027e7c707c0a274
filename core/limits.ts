/**
 * Every bound of the system, in one place. A bound that is a user's to meet is enforced with a
 * typed error that names it; a bound that is ours is asserted. Sizes in bytes, times as named.
 */
import { assert } from "./assert.ts";

export const limits = {
  // --- A transaction (DESIGN §8) ---
  /** Keys read plus keys written. */
  transactionKeysMax: 10_000,
  payloadBytesMax: 16 * 1024 * 1024,
  /** DynamoDB's own, by its own way of counting (core/item-size.ts), reserved attributes included. */
  itemBytesMax: 400 * 1024,
  transactionAgeMsMax: 60_000,
  /** What the attributes that Tidemark adds to an item (`_v`, `_f`, `_b`) may take of that. */
  reservedAttributeBytes: 64,
  attributeNameBytesMax: 65_535,
  /** DynamoDB nests documents at most this deep. */
  itemDepthMax: 32,
  partitionKeyBytesMax: 2048,
  sortKeyBytesMax: 1024,
  tablesPerTransactionMax: 255,
  idempotencyKeyBytesMax: 512,
  idempotencyResultBytesMax: 300 * 1024,

  // --- Stream (Kinesis) ---
  recordBytesMax: 1024 * 1024 - 256,
  recordsPerPutMax: 500,
  putBytesMax: 5 * 1024 * 1024 - 64 * 1024,
  requestsPerRecordMax: 4_096,
  /** A request whose frame would be larger spills its payload to the log table. */
  inlineRequestBytesMax: 512 * 1024,
  spillChunkBytesMax: 384 * 1024,
  spillChunksMax: 64,

  // --- Log (DynamoDB) ---
  /** Of a block's encoded bytes; leaves room below 400 KB for the item's other attributes. */
  blockBytesMax: 390 * 1024,
  blockVerdictsMax: 16_384,
  /** Encoded sort keys up to here travel in the block; of a longer one only the hash does. */
  blockSortKeyBytesMax: 64,
  /** Stream retention plus a day: a block outlives every record that it decides. */
  logRetentionSeconds: 8 * 24 * 3600,

  // --- Certification ---
  /** Stream time that the index looks back; a request older than that is answered `stale`. */
  certificationWindowMicros: 10_000_000,
  /** At 22 bytes an entry a function of 1 GB holds them, also while the index moves to a larger table. */
  indexEntriesMax: 16 * 1024 * 1024,

  // --- Oracle function ---
  /** Tries of one step (rebuild, read payloads, append) before the batch is left for redelivery. */
  oracleTriesMax: 8,
  oracleBackoffMsMin: 20,
  oracleBackoffMsMax: 1_000,
  /** No append is begun with less than this left of the invocation. */
  oracleReserveMs: 1_000,
  /** Blocks asked for at once when an oracle is rebuilt. */
  rebuildPageBlocksMax: 100,
  /** Spilled payloads read at the same time, and held at the same time for certification. */
  spilledReadsMax: 8,
  spilledHeldMax: 64,
  spilledHeldBytesMax: 64 * 1024 * 1024,

  // --- Installing and removing (DESIGN §2, Deletes) ---
  /** An install is signed at most this long after its installer learned that it is missing. */
  installSignMsMax: 10_000,
  /** How long AWS accepts a signature. */
  signatureMsMax: 5 * 60_000,
  /** Longest that an acknowledged client may go on installing its own commit after sending it. */
  ownInstallMsMax: 60_000,
  tombstoneGraceMs: 15 * 60_000,
  historyRetentionMsDefault: 60 * 60_000,
  /** Longer than any transaction may read at one timestamp, and than an installer may be delayed. */
  historyRetentionMsMin: 15 * 60_000,
  historyRetentionMsMax: 35 * 24 * 3600_000,
  /**
   * How far back `asOf` may reach on a table without history. Beyond the grace of tombstones an item that was deleted
   * since cannot be told from one that never was; half of it leaves room for clocks that differ.
   */
  asOfWithoutHistoryMsMax: 7 * 60_000,
  idempotencyRetentionSeconds: 24 * 3600,

  /** Payload bytes at which replay installs what it has loaded, before it loads the next block. */
  replayChunkBytes: 8 * 1024 * 1024,
  /** Time that replay keeps back from its invocation to return what is unfinished. */
  replayReserveMs: 2_000,

  // --- SDK ---
  installConcurrencyMax: 64,
  /** Tries of one read before a pending write is installed by the reader. */
  pendingReadTriesMax: 6,
  /** How long an embedded stack may take to say where its parts are. */
  discoveryTimeoutMs: 5_000,

  // --- REST ---
  /** Of a request's body. As base64 it stays below the 6 MB that Lambda takes per event. */
  restRequestBytesMax: 4 * 1024 * 1024,
  /** Of an answer's body as it stands, escaped, in Lambda's own answer of at most 6 MB. */
  restResponseBytesMax: 5_500_000,
  /** Nesting of a request's JSON: twice an item's own depth in typed form, and the request around it. */
  restJsonDepthMax: 80,
  /** Queries and scans in one request; each is one page of at most 1 MB. */
  restPagesPerRequestMax: 20,
  restPageItemsMax: 1_000,
  /** Printable ASCII. */
  restIdempotencyKeyLengthMax: 256,
  /** Values of one `in` comparison, and attributes of one condition. */
  restComparandsMax: 100,
  /** A request is answered by then: HTTP APIs give up on their integration after 30 s. */
  restDeadlineMs: 25_000,
  /** Time kept between the engine's own deadline and the answer, and the answer and Lambda's time-out. */
  restDeadlineMarginMs: 750,

  // --- AWS adapters (aws/) ---
  deploymentNameLengthMax: 64,
  /** Tries of one call inside the AWS SDK, the first included. */
  callTriesMax: 4,
  callTimeoutMsDefault: 5_000,
  connectTimeoutMs: 2_000,
  /** Keep-alive connections per client. */
  socketsMax: 256,
  /** DynamoDB's own, for one BatchGetItem. */
  batchGetKeysMax: 100,
  batchGetConcurrencyMax: 8,
  /** Rounds of one batch in which the store handed every key back unread. */
  batchGetTriesMax: 8,
  backoffMsBase: 25,
  backoffMsMax: 1_000,
  spillConcurrencyMax: 8,
  /** GetRecords calls of one read; pages may be empty although records follow. */
  streamReadCallsMax: 32,
  /** DynamoDB's item limit less room for names and numbers; a larger version entry is cut in parts. */
  versionPartBytesMax: 380 * 1024,
  /** Tombstones of one block are cut into items of at most this size, as estimated. */
  tombstoneItemBytesMax: 256 * 1024,
  /** A dead letter keeps the item it could not install up to this size. */
  deadLetterItemBytesMax: 256 * 1024,
  /** How long a new table or stream may take to become usable. */
  provisionWaitMsMax: 120_000,

  // --- Reaper (functions/reaper) ---
  watermarkSamplesMax: 512,
  reaperRemovalsMax: 50_000,
  reaperConcurrencyMax: 32,
  /** Time left before the invocation's deadline at which no new removal begins. */
  reaperStopMs: 5_000,
} as const;

assert(
  limits.tombstoneGraceMs >
    limits.installSignMsMax + limits.ownInstallMsMax + 2 * limits.signatureMsMax,
  "limits: a tombstone must outlive every install that could resurrect its item",
);
assert(
  limits.asOfWithoutHistoryMsMax + limits.signatureMsMax < limits.tombstoneGraceMs,
  "limits: a read in the past must meet the tombstones of later deletes",
);
assert(
  limits.spillChunkBytesMax * limits.spillChunksMax >= limits.payloadBytesMax,
  "limits: the largest payload must fit its chunks",
);
assert(limits.inlineRequestBytesMax <= limits.recordBytesMax, "limits: an inline request fits");
assert(
  limits.spilledHeldBytesMax >= limits.payloadBytesMax,
  "limits: the largest spilled payload can be held",
);
