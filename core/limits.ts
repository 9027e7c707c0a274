/**
 * Every bound of the system, in one place. A bound that is a user's to meet is enforced with a
 * typed error that names it; a bound that is ours is asserted. Sizes in bytes, times as named.
 *
 * Imported as a namespace (`import * as limits`), so that a bundler puts the numbers in place of
 * the names. How the bounds must relate is a test (test/core/limits.test.ts): nothing can change
 * them at run time.
 */

// --- A call: its transaction, its idempotency key ---
/** Keys read plus keys written. */
export const transactionKeysMax = 10_000;
export const payloadBytesMax = 16 * 1024 * 1024;
export const tablesPerTransactionMax = 255;
export const transactionAgeMsMax = 60_000;
/** The deadline of a call that names none. One of its own is at most a transaction's age. */
export const deadlineMsDefault = 30_000;
/** Runs of a transaction's body: unless a caller asks for another number, and the most. */
export const attemptsDefault = 10;
export const attemptsMax = 1_000;
/** Runs in vain that a payload tells of, of all its transactions together: no more are counted. */
export const earlierAttemptsMax = 65_535;
/** 1 January 2000 in microseconds. A moment below it was meant as milliseconds. */
export const momentMicrosMin = 946_684_800_000_000;
/** How far beyond this machine's clock `asOf` may lie: other clocks may be so much ahead. */
export const asOfAheadMsMax = 60_000;
export const idempotencyKeyBytesMax = 512;
export const idempotencyResultBytesMax = 300 * 1024;
export const idempotencyRetentionSeconds = 24 * 3600;
/**
 * How long after its arrival an entry may end: the clock that reckoned it may be wrong by a
 * day, and still nobody makes an entry that stands for ever.
 */
export const idempotencyExpirySecondsMax = 3 * idempotencyRetentionSeconds;

// --- Items: DynamoDB's own bounds, and what Tidemark adds ---
/** DynamoDB's own, by its own way of counting (core/item-size.ts), reserved attributes included. */
export const itemBytesMax = 400 * 1024;
/** What the attributes that Tidemark adds to an item (`_v`, `_f`, `_b`) may take of that. */
export const reservedAttributeBytes = 64;
export const attributeNameBytesMax = 65_535;
/** DynamoDB's own, of a table's name and of a key attribute's. */
export const nameBytesMax = 255;
/** DynamoDB's numbers: significant digits, and powers of ten at which the first of them stands. */
export const numberDigitsMax = 38;
export const numberExponentMax = 125;
export const numberExponentMin = -130;
/** DynamoDB nests documents at most this deep. */
export const itemDepthMax = 32;
export const partitionKeyBytesMax = 2048;
export const sortKeyBytesMax = 1024;

// --- Over the wire: records of the stream (Kinesis) ---
export const recordBytesMax = 1024 * 1024 - 256;
export const recordsPerPutMax = 500;
export const putBytesMax = 5 * 1024 * 1024 - 64 * 1024;
/**
 * PutRecords calls of a process under way at once: the second keeps the stream busy while the first
 * one's answer travels.
 */
export const putsMax = 2;
/** GetRecords calls of one read; pages may be empty although records follow. */
export const streamReadCallsMax = 32;
/** Digits of a sequence number: as many as blocks leave room for. Kinesis uses 56. */
export const sequenceDigitsMax = 128;
export const requestsPerRecordMax = 4_096;
/** Commits that one record, or one block of a client's, says are installed. */
export const installedReportsMax = 512;
/** Kinesis keeps no record longer (infra/terraform checks `retention_hours` against it). */
export const streamRetentionMsMax = 7 * 24 * 3600_000;

// --- Over the wire: spilled payloads ---
/** A request whose frame would be larger spills its payload to the log table. */
export const inlineRequestBytesMax = 512 * 1024;
export const spillChunkBytesMax = 384 * 1024;
export const spillChunksMax = 64;
export const spillConcurrencyMax = 8;
/** SHA-256, of a spilled payload: nobody can make other chunks of the same. */
export const digestBytes = 32;

// --- Over the wire: blocks of the log (DynamoDB) ---
/** A block's encoded bytes: leaves room below 400 KB for the item's other attributes. */
export const blockBytesMax = 390 * 1024;
export const blockVerdictsMax = 16_384;
/**
 * Requests, checks and writes that are looked at for one block: some hundredths of a second, after
 * which the oracle looks at its deadline again. No transaction has more.
 */
export const blockStepsMax = 128 * 1024;
/** Encoded sort keys up to here travel in the block; of a longer one only the hash does. */
export const blockSortKeyBytesMax = 64;
/** Names of tables whose hashes are kept; beyond it they are forgotten and worked out again. */
export const hashedTablesMax = 1_024;
/** Stream retention plus a day: a block outlives every record that it decides. */
export const logRetentionSeconds = 8 * 24 * 3600;
/**
 * A block that is missing in the middle of a log, and ended so long ago, has expired; a younger one
 * cannot have, whatever the clock of who looks.
 */
export const logExpiredAgeMsMin = (logRetentionSeconds - 3_600) * 1_000;

// --- Clocks, installs and tombstones (docs/protocol.md §7, Deletes) ---
/** How far the clock of an application's machine may be off: as far as AWS takes its signatures. */
export const clientClockErrorMsMax = 5 * 60_000;
/**
 * The same for AWS's own machines: the stream's arrival times, and functions. They follow a time
 * service and are off by milliseconds.
 */
export const awsClockErrorMsMax = 40_000;
/**
 * How far behind the store's clock the time of an express commit may lie: one that is less certain
 * goes by the stream. No decision relies on it; `asOf` and expiry do.
 */
export const storeClockErrorMsMax = 2_000;
/** How long AWS accepts a signature. */
export const signatureMsMax = 5 * 60_000;
/** An install is signed at most this long after its installer learned that it is missing. */
export const installSignMsMax = 10_000;
/** Longest that an acknowledged client may go on installing its own commit after sending it. */
export const ownInstallMsMax = 60_000;
export const tombstoneGraceMs = 15 * 60_000;

// --- Reads in the past (core/history.ts) ---
/** A process may go by what it has read of the registry for so long. */
export const registryMsMax = 60_000;
/**
 * By how much tombstones outlive the oldest moment that a reader may ask for. Its clock may
 * be slow when it begins, and it may go on for its age; the arrival time that dates a delete, the
 * reaper that saw the watermark pass it, and the one that removes it have a clock each.
 */
export const readerMarginMs = transactionAgeMsMax + clientClockErrorMsMax + 3 * awsClockErrorMsMax;
/**
 * How far back `asOf` may reach on a table without history: what was deleted earlier cannot be told
 * from what never was.
 */
export const asOfWithoutHistoryMsMax = tombstoneGraceMs - readerMarginMs;
/** By how much a superseded version outlives it: the process that saves it may be slow as well. */
export const versionMarginMs = readerMarginMs + clientClockErrorMsMax;
/** A change of what is kept is signed at most this long after the time that it is reckoned from. */
export const registryChangeSignMsMax = 10_000;
/**
 * After a change of what is kept, everybody knows of it: the change itself may be signed late, and
 * come as late as its signature lives, and the clocks of its sender and of the reaper may be off.
 */
export const historyChangeMs =
  registryChangeSignMsMax +
  signatureMsMax +
  registryMsMax +
  transactionAgeMsMax +
  clientClockErrorMsMax +
  awsClockErrorMsMax;
export const historyRetentionMsDefault = 60 * 60_000;
/** Longer than any transaction may read at one timestamp, and than an installer may be delayed. */
export const historyRetentionMsMin = 15 * 60_000;
export const historyRetentionMsMax = 35 * 24 * 3600_000;

// --- Functions ---
/**
 * An invocation that still waits for a call is given up this long before Lambda would end its
 * process.
 */
export const invocationMarginMs = 500;
/** Lambda's own, of the JSON of an event and of an answer. */
export const invocationPayloadBytesMax = 6 * 1024 * 1024;

// --- The oracle: certification ---
/** The end of the year 2199, in microseconds: a block dated later leaves the log no timestamps. */
export const timestampMax = 7_258_118_400_000_000;
/** The end of the year 9999, of a wall clock: of what comes later no date can be told. */
export const momentMsMax = 253_402_300_799_999;
/** Stream time that the index looks back; a request older than that is answered `stale`. */
export const certificationWindowMicros = 10_000_000;
/**
 * At 24 bytes an entry, the most, a function of 1 GB holds them, also while the index moves to a
 * larger table.
 */
export const indexEntriesMax = 16 * 1024 * 1024;
/**
 * Key, partition and table. Writes of one table share an entry for it, and an item without a sort
 * key is its partition: they count in full all the same, so that a decision's weight follows from
 * the log alone.
 */
export const indexEntriesPerWriteMax = 3;
/**
 * What a decided id counts for among them: it takes 64 bytes, and half as much again while the ring
 * grows. Nothing but probes, while stream time stands still, fill 4 million places, 256 MB.
 */
export const decidedIdWeight = 4;

/**
 * How far above a log's own time what its client says of a transaction with parts may count: as far
 * as the time of AWS's machines may be apart, and less than would keep readers waiting. Whoever
 * looks at the other logs finds the rest.
 */
export const partAheadMicrosMax = 10_000_000;

// --- Shards (docs/adr/0015-many-shards.md) ---
export const shardsMax = 64;

/** A shard that is being joined to its neighbour: pace of looking for its end, some puts away. */
export const handoverPauseMs = 20;
/** How long that is waited for without a word, and then how often replay is woken. */
export const handoverPatienceMs = 500;
export const handoverWakeMs = 2_000;

/** How long an operator waits for the end of a shard that is closing; replay goes on with it. */
export const joinMsMax = 60_000;
/** As `ownInstallPatienceMs`, of a log that is closing: everybody who writes there waits. */
export const joinInstallPatienceMs = 100;

/** Numbers of shards, none given twice, so that no two logs have one name: a byte in formats. */
export const shardNumbersMax = 256;
/** Blocks of another log that one look for what became of a transaction reads. */
export const otherLogBlocksMax = 10_000;
/** Between two looks of a reader of the past whether a quiet log has come so far. */
export const reachPauseMs = 100;

// --- The oracle: its function ---
/** Tries of one step (rebuild, read payloads, append) before the batch is left for redelivery. */
export const oracleTriesMax = 8;
/**
 * Puts of one step that find their position taken: others go on, and so does the oracle, since a
 * redelivery would only come later than the next put.
 */
export const oracleLossesMax = 64;
export const oracleBackoffMsMin = 20;
export const oracleBackoffMsMax = 1_000;
/**
 * With less than this left of the invocation, no block is certified, and nothing of a rebuild done.
 */
export const oracleReserveMs = 1_000;
/** The oracle looks no longer than that, about, at other logs for what a batch asks to settle. */
export const oracleSettlingMsMax = 2_000;
/** How old the oracle's copy of the registry of tables may be when a batch begins. */
export const oracleRegistryAgeMsMax = 10_000;
/**
 * A payload that does not fit the registry makes the oracle read it again: so often at once, since
 * several tables may be made one after the other, and then once in this time.
 */
export const oracleRegistryReadsMax = 10;
export const oracleRegistryReadMsMin = 1_000;
/**
 * Pages of the log, of 1 MB each, that a warm oracle folds to catch up. Further behind, a rebuild
 * reads no more than that, and begins where the window does.
 */
export const oracleCatchUpPagesMax = 3;
/** Blocks asked for at once when an oracle is rebuilt. */
export const rebuildPageBlocksMax = 100;
/**
 * What a rebuild folds at most. While the stream's time moves, a window has no more: a block takes
 * some milliseconds to append, and a shard carries 1 MB/s. When it stands still, the floor rises
 * over the rest, so that a cold oracle begins to work within one invocation.
 */
export const rebuildBlocksMax = 10_000;
export const rebuildBytesMax = 64 * 1024 * 1024;
/** Spilled payloads read at the same time, and held at the same time for certification. */
export const spilledReadsMax = 8;
export const spilledHeldMax = 64;
export const spilledHeldBytesMax = 64 * 1024 * 1024;

// --- Replay (functions/replay) ---
/** Payload bytes at which replay installs what it has loaded, before it loads the next block. */
export const replayChunkBytes = 8 * 1024 * 1024;
/**
 * Verdicts between two advances of the watermark; with the bytes, that bounds memory, and what a
 * crash repeats.
 */
export const replayChunkVerdictsMax = 2_000;
/** Records fetched ahead, on the guess that the next payloads lie in the next records. */
export const replayReadAheadRecordsMax = 100;
/** Replay leaves a missing write to its own client until the commit is so old. */
export const ownInstallPatienceMs = 1_000;
/**
 * Keys of which replay remembers where the log ahead of it writes them last: 28 to 56 B each, so up
 * to 112 MB. What lies beyond, it reads again for each chunk that has to know.
 */
export const replayAheadKeysMax = 2_000_000;
/** Longest that a client keeps house at a time, where clients do; then another has its turn. */
export const houseTurnMsMax = 20_000;
/** Time that replay keeps back from its invocation to return what is unfinished. */
export const replayReserveMs = 2_000;

// --- Reaper (functions/reaper) ---
export const watermarkSamplesMax = 512;
export const reaperRemovalsMax = 50_000;
export const reaperConcurrencyMax = 32;
/** Time left before the invocation's deadline at which no new removal begins. */
export const reaperStopMs = 5_000;
/** Failures kept in a report; more are the same story. */
export const reaperFailuresMax = 20;

// --- Clients: what they send, and what they wait for ---
/** Silence after which a stored request is sent again: its record may have been lost. */
export const silenceMsMax = 5_000;
/** Undecided requests that a process knows to be its own; of older ones it forgets that. */
export const sentRequestsMax = 10_000;
/**
 * Pages of the log, 1 MB each, that one question for an outcome reads before it has to be asked
 * again, and the shortest time between two of them in one process: a third of the reads that one
 * partition of DynamoDB gives, so that nobody who makes up ids keeps others from the log.
 */
export const outcomePagesMax = 16;
export const searchPageMsMin = 250;
/** Ids of which a process remembers how far the log has been searched. */
export const searchesKeptMax = 1_000;
/** CloudWatch's own, of one metric. */
export const metricDimensionsMax = 30;
/** A missing table is looked for again at most this often, so that a typo costs no call per use. */
export const registryReloadMsMin = 1_000;
/** How long an embedded stack may take to say where its parts are. */
export const discoveryTimeoutMs = 5_000;

// --- Clients: express commits (docs/adr/0013) ---
/** Refused puts in a row after which a process goes by the stream, unless most tries conflict. */
export const expressLossesMax = 16;
/** How many of those in line put at a time while the log has room; on a busy one it is one. */
export const expressContendersMax = 4;
/** Looks for the next block under way at once: more would only ask a slow log oftener. */
export const expressLooksMax = 8;
/** Newcomers that were beaten again and again spread over at most 2^n turns. */
export const expressSpreadDoublingsMax = 3;
/** How many processes take turns on a busy log: the stream serves more of them sooner. */
export const expressMakersMax = 9;
/** For how long a process that has put a block is taken to stand in line again. */
export const expressMakersMs = 2_000;
/** Write units of blocks in the window: of the 1,000 a second that a partition gives. */
export const expressUnitsMax = 700;
/** Of the ends of tries, those by conflicts, from which on the stream only makes more of them. */
export const expressContendedShare = 0.5;
/**
 * How much of the log's time others' blocks may take. Above the first it is busy: one process puts
 * at a time, and where they are more than `expressMakersMax` they go by the stream. Below the
 * second it is calm, and nobody waits.
 */
export const expressBusyShareMax = 0.5;
export const expressCalmShareMax = 0.25;
/** How far back a process looks for that, and the blocks and makers that it remembers. */
export const expressWindowMs = 1_000;
export const expressBlocksMax = 512;
/**
 * How long there must have been room in the log before a process comes back. Who has to leave soon
 * after that waits twice as long the next time: to try costs refused puts.
 */
export const expressCalmMsMin = 3_000;
export const expressCalmMsMax = 60_000;
/** Longest wait before a put, for which the stream would have committed. */
export const expressWaitMsMax = 250;
/**
 * How long a process waits for the answer to an express block before it asks the log: many times
 * what a put takes. Who waits behind it goes by the stream then.
 */
export const expressAnswerMsMax = 250;
/**
 * How long after its tail was read an express block may be signed. With the time that AWS accepts
 * a signature it must be far below the log's retention, and a live process never comes near it.
 */
export const expressTailAgeMsMax = 60_000;
/** A lone writer goes by a tail so old; how many times longer nobody else must have committed. */
export const expressUnaskedMsMax = 10_000;
export const expressUnaskedShareMin = 10;
/**
 * How old the copy of the registry may be by which a client commits express: as old as an oracle's.
 * It is read again in the background at half that age, so that no commit waits for it.
 */
export const expressRegistryMsMax = 10_000;
/** Puts of the block that closes or opens the stream, each behind one that has come before it. */
export const streamSwitchTriesMax = 1_000;
/** How often one looks whether a closed stream is drained. */
export const streamDrainLookMs = 1_000;
/** How long a local stack waits for that as it starts without its stream. */
export const stackDrainMsMax = 60_000;
/** How long commits go by the stream after the log's table has throttled, or refused, a block. */
export const expressThrottledMs = 1_000;
export const expressDeniedMs = 10 * 60_000;

// --- Clients: the tail, reads and installs ---
/** Up to so many entries a tail is small: what would leave it is not worth a look. */
export const tailSmallEntriesMax = 256;
/**
 * Blocks, verdicts and writes that a process's tail holds: 300 to 600 B each, by whether the table
 * has a sort key; so up to 600 MB. Beyond it the process reads on when replay has installed some.
 */
export const tailEntriesMax = 1_000_000;
/** Answers of the store about Tidemark's own records that a process remembers of each shard. */
export const rememberedAnswersMax = 4_096;
/** Of each of them, as items are counted. */
export const rememberedAnswerBytesMax = 8 * 1024;
/** Bytes of payloads in the tail's blocks that count as one more entry. */
export const tailEntryBytes = 512;
/** Payloads of others' blocks that a process keeps decoded, by their encoded size. */
export const blockValuesBytesMax = 4 * 1024 * 1024;
/** Log reads under way at once; a second one lets a newcomer start before the first is back. */
export const tailRefreshesMax = 2;
/**
 * Of a tail that was complete so long ago the watermark is asked whether it has gone on: blocks may
 * have expired unread. Far below the shortest life of a block.
 */
export const tailAsleepMsMax = 3_600_000;
/** Tries of one read before a pending write is installed by the reader. */
export const pendingReadTriesMax = 6;
/**
 * Reads of one key, or of one page, until what is committed there must have been found installed;
 * with the pauses between them that takes seconds. What has not come to rest by then will not soon:
 * installs stand still, or the page is under very frequent writes. The error says so.
 */
export const readTriesMax = 40;
export const pageTriesMax = 40;
/**
 * Reads of the shards' entries until they fit together: each is read by itself, so that a fork and
 * a join that are entered meanwhile may be seen in part. Two reads in a row hardly ever meet that.
 */
export const mapReadTriesMax = 4;
/**
 * How long a page waits for the watermark before its reader installs by itself: replay is a second
 * behind when all is well.
 */
export const watermarkWaitMsMax = 2_500;
/**
 * How long a reader waits for replay to set aside a write that no table takes. Replay leaves it to
 * its client for a second, and looks at it with its next batch.
 */
export const deadLetterWaitMsMax = 10_000;
export const installConcurrencyMax = 64;
/** Commits of others that a process finishes at once: a shard gives few reads a second. */
export const finishConcurrencyMax = 4;
/** Installed writes above the watermark that a process remembers; about 100 B each. */
export const installedCommitsMax = 10_000;
/** Tries of one write whose item changes between being read and being written. */
export const installTriesMax = 12;
/** Of these, how many wait for the owner of an earlier commit; then its install is done here. */
export const earlierInstallPatienceTries = 5;
/**
 * Times that an install for somebody else may come too late to be signed before its reader gives
 * up.
 */
export const lateInstallTriesMax = 3;

// --- REST; chains; BASE transactions; feeds; splits; native operations ---
export * from "./rest-limits.ts";
export * from "./base-limits.ts";
export * from "./chaining-limits.ts";
export * from "./feed-limits.ts";
export * from "./split-limits.ts";
export * from "./native-limits.ts";

// --- Calls of AWS (aws/) ---
/** Tries of one call inside the AWS SDK, the first included: by itself, and the most to ask for. */
export const callTriesDefault = 4;
export const callTriesMax = 100;
/** Timeout of one try. One longer than a transaction may live serves no purpose. */
export const callTimeoutMsDefault = 5_000;
export const callTimeoutMsMax = 60_000;
export const connectTimeoutMs = 2_000;
/** Keep-alive connections per client. */
export const socketsMax = 256;
/** DynamoDB's own, for one BatchGetItem. */
export const batchGetKeysMax = 100;
export const batchGetConcurrencyMax = 8;
/** Rounds of one batch in which the store handed every key back unread. */
export const batchGetTriesMax = 8;
export const backoffMsBase = 25;
export const backoffMsMax = 1_000;
/** Web Crypto refuses more at a time. */
export const randomBytesPerCallMax = 65_536;

// --- Tables of a deployment (aws/) ---
/**
 * DynamoDB's item limit less room for names and numbers; a larger version entry is cut in parts.
 */
export const versionPartBytesMax = 380 * 1024;
/** Tombstones of one block are cut into items of at most this size, as estimated. */
export const tombstoneItemBytesMax = 256 * 1024;
/** A dead letter keeps the item it could not install up to this size. */
export const deadLetterItemBytesMax = 256 * 1024;
/** Characters of a dead letter's reason: enough for any message, beside the item it keeps. */
export const deadLetterReasonLengthMax = 2_048;
export const deploymentNameLengthMax = 64;
/** How long a new table or stream may take to become usable. */
export const provisionWaitMsMax = 120_000;
/** Pages (up to 1 MB, 128 read units) looked through before a table comes under Tidemark. */
export const adoptionLookPagesMax = 4;
/**
 * Tries of one change of the registry of tables: it gives way to changes by others, and begins anew
 * where it was held up until it was too late to sign it.
 */
export const registryChangeTriesMax = 8;
