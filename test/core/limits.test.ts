/** How the bounds must relate, for each to mean what core/limits.ts says of it. */
import { expect, test } from "vitest";
import * as limits from "../../core/limits.ts";

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
  const latestMs = limits.signatureMsMax + limits.oracleRegistryAgeMsMax;
  const clocksMs = limits.clientClockErrorMsMax + limits.awsClockErrorMsMax;
  expect(limits.historyChangeMs).toBeGreaterThan(latestMs + clocksMs);
});

test("what is kept changes for the reaper only when nobody reads by what was kept before", () => {
  const { registryMsMax, transactionAgeMsMax, signatureMsMax } = limits;
  const latestReadMs = signatureMsMax + registryMsMax + transactionAgeMsMax;
  const clocksMs = limits.clientClockErrorMsMax + limits.awsClockErrorMsMax;
  expect(limits.historyChangeMs).toBeGreaterThanOrEqual(latestReadMs + clocksMs);
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
  expect(limits.restTokenLengthMax * 10).toBeLessThan(limits.restRequestBytesMax);
});

test("the longest cursor of a page is one that a request may carry", () => {
  const { partitionKeyBytesMax, sortKeyBytesMax } = limits;
  const keyBytes = 6 * 2 * (partitionKeyBytesMax + sortKeyBytesMax);
  const nameBytes = 6 * 4 * 255 + 100;
  expect(Math.ceil((keyBytes + nameBytes) / 3) * 4).toBeLessThanOrEqual(limits.restCursorLengthMax);
});
