/** Bounds of a look at a deployment; those of the product itself are in core/limits.ts. */
import { baseTakeOverMsDefault } from "../core/limits.ts";

/** Blocks that one look at a log reads: some seconds of a busy one, and a few MB. */
export const blocksMax = 10_000;
/** Blocks of one query of the log; a page of DynamoDB's has 1 MB. */
export const pageBlocksMax = 100;
/** Payloads that are read to find the names of keys. */
export const payloadsMax = 500;
/** Losers and winners that are remembered of one key. */
export const duelsMax = 5;
/** The most of any list that can be asked for. */
export const rowsMax = 1_000;
/** Records of the stream looked at for one that nobody has decided. */
export const streamRecordsMax = 100;
/** Open BASE transactions that are looked at; the rest is counted. */
export const basesMax = 5_000;
/** Open BASE transactions that hold one item; the rest is counted. */
export const holdersMax = 100;
/** For so long, about: what strangers have asked for with may be slow to read. */
export const basesLookMs = 10_000;
/** Two looks of a runner that takes over as late as by default. */
export const baseLeftMs = 2 * baseTakeOverMsDefault;
/** Characters of an item in one line of text. */
export const itemTextMax = 160;
/** From which age on of what is not installed somebody should look, and act. */
export const lagWarningMs = 10_000;
export const lagBadMs = 60_000;
/** How long a record may wait for the oracle. */
export const undecidedRecordMs = 10_000;
/** How long a transaction may be open: replay sees to those of 5 s, in a quiet log every 30 s. */
export const openWarningMs = 60_000;
/** Difference between this machine's clock and the store's: a signature allows for five minutes. */
export const skewWarningMs = 2_000;
export const skewBadMs = 4 * 60_000;
/** How long ago the reaper may have run last, which on AWS comes every ten minutes. */
export const reaperWarningMs = 30 * 60_000;
/** Feeds that are looked at, each by some reads of every log. */
export const feedsMax = 200;
/** Names of feeds, removed ones too, that are looked up for these. */
export const feedNamesMax = 2_000;
/** Blocks that are read for the first commit that a feed has not come to: of aborts, say. */
export const feedBlocksMax = 1_000;
/**
 * How far a feed may be behind: one that a schedule wakes once a minute has had its turn several
 * times. From the second on it nears what a stream keeps that keeps a day.
 */
export const feedBehindWarningMs = 5 * 60_000;
export const feedBehindBadMs = 12 * 3_600_000;
