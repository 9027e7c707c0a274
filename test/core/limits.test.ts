/** How the bounds must relate, for each to mean what core/limits.ts says of it. */
import { expect, test } from "vitest";
import { itemSizeBytes, itemWeightBytes } from "../../core/item-size.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue } from "../../core/types.ts";
import { functionSettings } from "../../functions/shared/settings.ts";
import { gatewayRequestBytesMax } from "../../localstack/limits.ts";

test("a tombstone outlives every install that could resurrect its item", () => {
  const { installSignMsMax, ownInstallMsMax, signatureMsMax } = limits;
  const latestInstallMs = installSignMsMax + ownInstallMsMax + 2 * signatureMsMax;
  expect(limits.tombstoneGraceMs).toBeGreaterThan(latestInstallMs);
});

test("a reader ends before the tombstones that it may have to meet are removed", () => {
  // Twice the age: a reader learns of its age before a read and after it.
  expect(2 * limits.transactionAgeMsMax).toBeLessThan(limits.tombstoneGraceMs);
});

test("a read in the past meets the tombstones of later deletes, by slow and wrong clocks", () => {
  const { transactionAgeMsMax, clientClockErrorMsMax, awsClockErrorMsMax } = limits;
  // The reader begins with a slow clock and goes on for its age; the delete was dated, seen and
  // removed by three clocks of AWS.
  const latestReadMs = clientClockErrorMsMax + transactionAgeMsMax + 3 * awsClockErrorMsMax;
  expect(limits.readerMarginMs).toBeGreaterThanOrEqual(latestReadMs);
  const { asOfWithoutHistoryMsMax: plain, historyRetentionMsMin: kept } = limits;
  expect(plain + limits.readerMarginMs).toBeLessThanOrEqual(limits.tombstoneGraceMs);
  expect(kept + limits.readerMarginMs).toBeGreaterThanOrEqual(limits.tombstoneGraceMs);
});

test("a table on its way goes on when nobody goes by the state before", () => {
  // Blocks that come after a commit of the mover's: certified by a copy that is younger.
  const { oracleRegistryAgeMsMax, expressRegistryMsMax, transactionAgeMsMax } = limits;
  expect(limits.accessCommitsMs).toBeGreaterThan(
    Math.max(oracleRegistryAgeMsMax, expressRegistryMsMax),
  );
  // Of a table on its way, copies are as young as those.
  expect(limits.accessReadsMs).toBeGreaterThan(expressRegistryMsMax + transactionAgeMsMax);
  // Plain installs, as above; native calls and local commits of who has an old copy.
  const { registryMsMax, signatureMsMax, clientClockErrorMsMax, accessGuardMs } = limits;
  expect(accessGuardMs).toBeGreaterThanOrEqual(limits.tombstoneGraceMs);
  const latestLocalMs = registryMsMax + transactionAgeMsMax;
  expect(accessGuardMs).toBeGreaterThan(latestLocalMs + signatureMsMax + clientClockErrorMsMax);
});

test("a stale snapshot, too, is younger than what tombstones allow", () => {
  const oldestMs = 2 * limits.transactionAgeMsMax;
  expect(oldestMs).toBeLessThan(limits.asOfWithoutHistoryMsMax);
});

test("a superseded version outlives every reader of it, saved by a slow clock", () => {
  const { transactionAgeMsMax, clientClockErrorMsMax } = limits;
  const latestReadMs = transactionAgeMsMax + 2 * clientClockErrorMsMax;
  expect(limits.versionMarginMs).toBeGreaterThanOrEqual(latestReadMs);
});

test("commits without history end before a history that is switched on begins", () => {
  // The oracle refuses what does not fit the registry, and may hold an older one for so long.
  const changedMs = limits.registryChangeSignMsMax + limits.signatureMsMax;
  const latestMs = changedMs + limits.oracleRegistryAgeMsMax;
  const clocksMs = limits.clientClockErrorMsMax + limits.awsClockErrorMsMax;
  expect(limits.historyChangeMs).toBeGreaterThan(latestMs + clocksMs);
});

test("what is kept changes for the reaper only when nobody reads by what was kept before", () => {
  const { registryMsMax, transactionAgeMsMax, signatureMsMax, registryChangeSignMsMax } = limits;
  const changedMs = registryChangeSignMsMax + signatureMsMax;
  const latestReadMs = changedMs + registryMsMax + transactionAgeMsMax;
  const clocksMs = limits.clientClockErrorMsMax + limits.awsClockErrorMsMax;
  expect(limits.historyChangeMs).toBeGreaterThanOrEqual(latestReadMs + clocksMs);
});

test("a retention is lengthened before anything is reaped that its beginning promises", () => {
  // Until the change stands the reaper goes by the shorter one; AWS's clocks are off as above.
  const { registryChangeSignMsMax, signatureMsMax, awsClockErrorMsMax } = limits;
  const changedMs = registryChangeSignMsMax + signatureMsMax;
  expect(limits.readerMarginMs).toBeGreaterThanOrEqual(changedMs + 3 * awsClockErrorMsMax);
});

test("the largest payload fits its chunks", () => {
  const chunksBytes = limits.spillChunkBytesMax * limits.spillChunksMax;
  expect(chunksBytes).toBeGreaterThanOrEqual(limits.payloadBytesMax);
});

test("the largest request that does not spill fits a record", () => {
  expect(limits.inlineRequestBytesMax).toBeLessThanOrEqual(limits.recordBytesMax);
});

test("the largest spilled payload can be held for certification", () => {
  expect(limits.spilledHeldBytesMax).toBeGreaterThanOrEqual(limits.payloadBytesMax);
});

test("a function stops by itself before its invocation is given up", () => {
  const { invocationMarginMs, oracleReserveMs, reaperStopMs, replayReserveMs } = limits;
  expect(invocationMarginMs).toBeLessThan(Math.min(oracleReserveMs, replayReserveMs, reaperStopMs));
});

test("transactions that are certified as one never need to be spilled for it", () => {
  const keysBytes = 8 * limits.transactionKeysMax;
  const largest = 2 * limits.chainedBytesMax + keysBytes;
  expect(largest).toBeLessThan(limits.inlineRequestBytesMax);
});

test("a turn at a contended item is waited for no longer than a transaction may live", () => {
  expect(limits.turnWaitMsMax).toBeLessThan(limits.transactionAgeMsMax / 100);
});

test("the largest token of a transaction is one that a request may carry", () => {
  const bytes = 128 + 8 * limits.transactionKeysMax;
  expect(Math.ceil(bytes / 3) * 4).toBeLessThanOrEqual(limits.restTokenLengthMax);
  // Of a mixed table: its number, a short key's bytes, the bytes read and their digest.
  const mixedBytes = 128 + (1 + 35 + 4 + 16) * limits.transactionKeysMax;
  expect(Math.ceil(mixedBytes / 3) * 4).toBeLessThanOrEqual(limits.restTokenLengthMax);
  expect(limits.restTokenLengthMax * 5).toBeLessThan(limits.restRequestBytesMax);
});

test("what a transaction has read of mixed tables is read again within a function's memory", () => {
  const { itemBytesMax, recalledAtOnceMax, recalledBytesMax, pagesAgainAtOnceMax } = limits;
  // A list of nulls takes most: two bytes each, by DynamoDB's rule.
  const nulls = { pk: { S: "" }, list: { L: Array<AttributeValue>(1_000).fill({ NULL: true }) } };
  const factor = itemWeightBytes(nulls) / itemSizeBytes(nulls);
  const page = 1024 * 1024;
  const atOnce = Math.max(recalledAtOnceMax * itemBytesMax, pagesAgainAtOnceMax * page);
  const functionBytes = functionSettings.api.memoryMb * 1024 * 1024;
  expect(recalledBytesMax + factor * atOnce).toBeLessThan(functionBytes / 2);
});

test("the longest cursor of a page is one that a request may carry", () => {
  const { partitionKeyBytesMax, sortKeyBytesMax } = limits;
  const keyBytes = 6 * 2 * (partitionKeyBytesMax + sortKeyBytesMax);
  const nameBytes = 6 * 4 * 255 + 100;
  expect(Math.ceil((keyBytes + nameBytes) / 3) * 4).toBeLessThanOrEqual(limits.restCursorLengthMax);
});

test("what is asked for when nothing is said may also be asked for", () => {
  expect(limits.attemptsDefault).toBeLessThanOrEqual(limits.attemptsMax);
  expect(limits.callTriesDefault).toBeLessThanOrEqual(limits.callTriesMax);
  expect(limits.callTimeoutMsDefault).toBeLessThanOrEqual(limits.callTimeoutMsMax);
  const { historyRetentionMsMin: min, historyRetentionMsMax: max } = limits;
  expect(limits.historyRetentionMsDefault).toBeGreaterThanOrEqual(min);
  expect(limits.historyRetentionMsDefault).toBeLessThanOrEqual(max);
});

test("what BASE transactions have held can be told of any past that is kept", () => {
  const pastMs = limits.historyRetentionMsMax + limits.readerMarginMs;
  expect(limits.baseSeenRetentionSeconds * 1_000).toBeGreaterThan(pastMs);
  expect(limits.baseRetentionSeconds).toBeLessThanOrEqual(limits.baseSeenRetentionSeconds);
});

test("nothing that a call waits for outlasts the call, nor a call a transaction", () => {
  const { deadlineMsDefault, transactionAgeMsMax } = limits;
  const { callTimeoutMsDefault, courtesyMsMax, discoveryTimeoutMs, turnWaitMsMax } = limits;
  const waits = [callTimeoutMsDefault, courtesyMsMax, discoveryTimeoutMs, turnWaitMsMax];
  expect(Math.max(...waits, limits.watermarkWaitMsMax)).toBeLessThan(deadlineMsDefault);
  expect(deadlineMsDefault).toBeLessThanOrEqual(transactionAgeMsMax);
  expect(limits.callTimeoutMsMax).toBeLessThanOrEqual(transactionAgeMsMax);
  expect(limits.restDeadlineMs).toBeLessThanOrEqual(transactionAgeMsMax);
  expect(limits.connectTimeoutMs).toBeLessThan(callTimeoutMsDefault);
});

test("a request can be sent again several times while its caller is still there", () => {
  expect(4 * limits.silenceMsMax).toBeLessThan(limits.deadlineMsDefault);
});

test("a reader helps before it gives up", () => {
  expect(limits.pendingReadTriesMax).toBeLessThan(limits.readTriesMax);
  expect(limits.earlierInstallPatienceTries).toBeLessThan(limits.installTriesMax);
  expect(limits.lateInstallTriesMax).toBeLessThan(limits.readTriesMax);
});

test("a page waits longer for the watermark than replay leaves a commit to its client", () => {
  expect(limits.watermarkWaitMsMax).toBeGreaterThan(2 * limits.ownInstallPatienceMs);
  expect(limits.ownInstallPatienceMs).toBeLessThan(limits.ownInstallMsMax);
});

test("what is stored as one item fits an item", () => {
  const { itemBytesMax, deadLetterItemBytesMax, deadLetterReasonLengthMax } = limits;
  expect(limits.blockBytesMax).toBeLessThan(itemBytesMax);
  expect(limits.spillChunkBytesMax).toBeLessThan(itemBytesMax);
  expect(limits.versionPartBytesMax).toBeLessThan(itemBytesMax);
  expect(limits.tombstoneItemBytesMax).toBeLessThan(itemBytesMax);
  expect(limits.idempotencyResultBytesMax).toBeLessThan(itemBytesMax);
  // Three bytes a character, and the key.
  const { partitionKeyBytesMax, sortKeyBytesMax } = limits;
  const besides = 3 * deadLetterReasonLengthMax + partitionKeyBytesMax + sortKeyBytesMax;
  expect(deadLetterItemBytesMax + besides).toBeLessThan(itemBytesMax);
});

test("bodies of REST fit the events of Lambda, with room for what goes with them", () => {
  const { invocationPayloadBytesMax, restRequestBytesMax, restResponseBytesMax } = limits;
  const headersBytes = 64 * 1024;
  const base64Bytes = Math.ceil(restRequestBytesMax / 3) * 4;
  expect(base64Bytes + headersBytes).toBeLessThan(invocationPayloadBytesMax);
  expect(restResponseBytesMax + headersBytes).toBeLessThan(invocationPayloadBytesMax);
  // What is too large for us is told by us, not by the gateway.
  expect(restRequestBytesMax).toBeLessThan(gatewayRequestBytesMax);
});

test("the largest record fits a call, and the log outlives the stream", () => {
  expect(limits.recordBytesMax).toBeLessThanOrEqual(limits.putBytesMax);
  expect(limits.logRetentionSeconds * 1000).toBeGreaterThan(limits.streamRetentionMsMax);
});

test("no block is taken for expired that a wrong clock alone makes that old", () => {
  const { logRetentionSeconds, logExpiredAgeMsMin, clientClockErrorMsMax } = limits;
  expect(logExpiredAgeMsMin + 2 * clientClockErrorMsMax).toBeLessThan(1_000 * logRetentionSeconds);
});

test("a page of a rebuild is less than a rebuild may fold", () => {
  const pageBytes = limits.rebuildPageBlocksMax * limits.blockBytesMax;
  expect(pageBytes).toBeLessThanOrEqual(limits.rebuildBytesMax);
  expect(limits.rebuildPageBlocksMax).toBeLessThanOrEqual(limits.rebuildBlocksMax);
});

test("one client's connections suffice for what a process does at a time", () => {
  const { installConcurrencyMax, batchGetConcurrencyMax, spillConcurrencyMax } = limits;
  const calls = installConcurrencyMax + batchGetConcurrencyMax + spillConcurrencyMax;
  const { putsMax, tailRefreshesMax } = limits;
  expect(calls + putsMax + tailRefreshesMax).toBeLessThan(limits.socketsMax);
});

test("no express block comes so late that the log has let go of the one at its position", () => {
  const { expressTailAgeMsMax, signatureMsMax, awsClockErrorMsMax, logRetentionSeconds } = limits;
  const latestPutMs = expressTailAgeMsMax + signatureMsMax + 2 * awsClockErrorMsMax;
  expect(10 * latestPutMs).toBeLessThan(1_000 * logRetentionSeconds);
});
