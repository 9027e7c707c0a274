/**
 * How one shard stands: where its log ends, how far it is installed, what went on lately, what is
 * open, and by what they leave behind, whether its functions work.
 */
import { readDeadLetters } from "../aws/dead-letters.ts";
import { createClientDynamoDb } from "../aws/dynamodb.ts";
import { OpenTransactions } from "../core/open-transactions.ts";
import type { StreamRecord } from "../core/ports.ts";
import { compareSequenceNumbers } from "../core/sequence-number.ts";
import type { LogPosition, StreamCursor, Timestamp, TransactionId } from "../core/types.ts";
import { decodeCommitRecord, fingerprintOfRecord } from "../schemas/commit-record-reading.ts";
import * as limits from "./limits.ts";
import { ifAllowed, type Allowed } from "./allowed.ts";
import type { Deployment, ShardLog } from "./deployment.ts";
import { blocksAfter, newestBlocks, type ReadBlock } from "./log-reading.ts";
import { oldestAgeMs, tallied, type Tally } from "./tally.ts";

export type OpenPart = {
  readonly id: TransactionId;
  /** When it was prepared. */
  readonly since: Timestamp;
  readonly position: LogPosition;
  readonly writes: number;
  /** In how many shards it is. */
  readonly parts: number;
};

export type LogEnd = {
  readonly position: LogPosition;
  readonly timestamp: Timestamp;
  readonly cursor: StreamCursor | undefined;
};

/** Records of the stream that nobody has decided. */
export type Undecided = { readonly records: number; readonly oldestMs: number };

export type ShardState = {
  readonly log: ShardLog;
  /** Undefined: its log is empty, or its newest block does not decode. */
  readonly end: LogEnd | undefined;
  readonly watermark: { readonly position: LogPosition; readonly timestamp: Timestamp } | undefined;
  /** Blocks behind the watermark, and the age of the oldest of them. */
  readonly waiting: { readonly blocks: number; readonly oldestMs: number };
  readonly tally: Tally;
  readonly open: readonly OpenPart[];
  /** More of the log would have to be read to know what is open. */
  readonly openIsPartial: boolean;
  /** Of the first block that is none. */
  readonly fault: string | undefined;
  readonly deadLetters: Allowed<number>;
  /** Undefined without a stream, and where no record was ever decided. */
  readonly undecided: Allowed<Undecided> | undefined;
  /** When the reaper last looked; undefined: never, or it is not to be seen. */
  readonly reapedMs: Allowed<number | undefined>;
};

/** So many of the oldest blocks are looked at for one that tells when it was put. */
const datedAmong = 8;

export type StateRequest = { readonly windowMs: number; readonly nowMs: number };

export function shardStates(
  deployment: Deployment,
  request: StateRequest,
): Promise<readonly ShardState[]> {
  return Promise.all(deployment.logs.map((log) => shardState(deployment, log, request)));
}

async function shardState(
  deployment: Deployment,
  log: ShardLog,
  { windowMs, nowMs }: StateRequest,
): Promise<ShardState> {
  const { control } = deployment.ports;
  const sinceMs = nowMs - windowMs;
  // The watermark first: it never lies ahead of a log that is read after it.
  const watermark = await control.readWatermark(log.shard);
  const recent = await newestBlocks(deployment.ports.log, log, {
    blocksMax: limits.blocksMax,
    until: ({ block }) => block !== undefined && block.throughTimestamp / 1_000 < sinceMs,
  });
  const [newest] = recent;
  const end = newest?.block === undefined ? undefined : endOf(newest.position, newest.block);
  const [waiting, open, deadLetters, undecided, samples] = await Promise.all([
    waitingBlocks(deployment, log, { after: watermark?.position, newest, nowMs }),
    openParts(deployment, log, newest),
    ifAllowed(() => deadLetterCount(deployment, log)),
    deployment.registry.streamless === true || end === undefined
      ? undefined
      : ifAllowed(() => undecidedRecords(deployment, log, { end, nowMs })),
    ifAllowed(() => control.watermarkSamples(log.shard)),
  ]);
  return {
    log,
    end,
    watermark,
    waiting,
    tally: tallied(recent, { sinceMs, nowMs }),
    ...open,
    fault: recent.find(({ fault }) => fault !== undefined)?.fault,
    deadLetters,
    undecided,
    reapedMs: samples === "denied" ? samples : samples.at(-1)?.observedMs,
  };
}

function endOf(
  position: LogPosition,
  { throughTimestamp, cursor }: { throughTimestamp: Timestamp; cursor: StreamCursor | undefined },
): LogEnd {
  return { position, timestamp: throughTimestamp, cursor };
}

async function waitingBlocks(
  { ports }: Deployment,
  log: ShardLog,
  {
    after,
    newest,
    nowMs,
  }: {
    readonly after: LogPosition | undefined;
    readonly newest: ReadBlock | undefined;
    readonly nowMs: number;
  },
): Promise<ShardState["waiting"]> {
  const blocks = (newest?.position ?? 0) - (after ?? 0);
  if (blocks <= 0) return { blocks: 0, oldestMs: 0 };
  const oldest = await blocksAfter(ports.log, log, {
    after: after ?? (0 as LogPosition),
    blocksMax: Math.min(blocks, datedAmong),
  });
  return { blocks, oldestMs: oldestAgeMs(oldest, nowMs) };
}

/** A header names the oldest block with what is open where it begins: from there all is known. */
async function openParts(
  { ports }: Deployment,
  log: ShardLog,
  newest: ReadBlock | undefined,
): Promise<Pick<ShardState, "open" | "openIsPartial">> {
  if (newest?.block === undefined) return { open: [], openIsPartial: newest !== undefined };
  const from = newest.block.oldestOpen ?? newest.position;
  const after = (from - 1) as LogPosition;
  const blocks = await blocksAfter(ports.log, log, { after, blocksMax: limits.blocksMax });
  const open = new OpenTransactions();
  for (const { block } of blocks) {
    for (const verdict of block?.verdicts ?? []) open.fold(verdict, block?.position ?? after);
    open.mark();
  }
  const last = blocks.at(-1)?.position ?? after;
  const isDamaged = blocks.some(({ block }) => block === undefined);
  return {
    openIsPartial: last < newest.position || isDamaged,
    open: Array.from(open.all(), ({ prepared, position }) => ({
      id: prepared.id,
      since: prepared.timestamp,
      position,
      writes: prepared.writes.length,
      parts: prepared.parts?.length ?? 1,
    })),
  };
}

async function deadLetterCount({ ports, clients }: Deployment, log: ShardLog): Promise<number> {
  const where = {
    dynamodb: createClientDynamoDb(clients.dynamodb),
    table: ports.names.controlTable,
  };
  return (await readDeadLetters(where, log.shard, limits.rowsMax)).length;
}

/** Others may share the Kinesis shard: a record names its log by its fingerprint. */
async function undecidedRecords(
  { ports }: Deployment,
  log: ShardLog,
  { end, nowMs }: { readonly end: LogEnd; readonly nowMs: number },
): Promise<Undecided> {
  const { cursor } = end;
  if (cursor === undefined) return { records: 0, oldestMs: 0 };
  const recordsMax = limits.streamRecordsMax;
  const read = await ports.stream.read(log.shard, cursor.sequenceNumber, { recordsMax });
  const records = read.kind === "found" ? read.records : [];
  const behind = records.filter(
    (record) =>
      isBehind(record, cursor) && fingerprintOfRecord(record.data) === log.hashes.fingerprint,
  );
  const oldest = behind[0]?.arrivalMs ?? nowMs;
  return { records: behind.length, oldestMs: Math.max(0, nowMs - oldest) };
}

function isBehind({ sequenceNumber, data }: StreamRecord, cursor: StreamCursor): boolean {
  const order = compareSequenceNumbers(sequenceNumber, cursor.sequenceNumber);
  if (order !== 0) return order > 0;
  return cursor.requestsDone !== "all" && decodeCommitRecord(data).length > cursor.requestsDone;
}
