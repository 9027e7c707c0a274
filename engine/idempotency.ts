/**
 * Exactly once by key: the transaction reads and writes an entry for the key in the same commit as
 * everything else, so a repeat finds the first result, and of two at once one conflicts and then
 * finds it.
 */
import { attribute } from "../core/attributes.ts";
import { CorruptDataError, InvalidRequestError } from "../core/errors.ts";
import { callerEntryKey } from "../core/idempotency-key.ts";
import { valueSizeBytes } from "../core/item-size.ts";
import * as limits from "../core/limits.ts";
import { utf8Length } from "../core/utf8.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { isTransactionId } from "../schemas/transaction-id-text.ts";
import type { Attempt, AttemptTimes } from "./attempts/attempt.ts";
import type { AttemptServices } from "./attempts/attempt-services.ts";
import type { CommitName } from "./committing/commit-under-way.ts";
import type { Receipt } from "./types.ts";

export type EarlierCommit = { readonly result: AttributeValue; readonly receipt: Receipt };

/** The commit that stands under the entry; either way the entry is in the read set now. */
export async function readEntry(
  { ports }: AttemptServices,
  { context }: Attempt,
  entryKey: Item,
): Promise<IdempotencyEntry | undefined> {
  const { clock, control } = ports;
  const item = await context.getCommitted(control.idempotencyTable, entryKey);
  const table = control.idempotencyTable.name;
  return readIdempotencyItem(item, { table, key: entryKey, nowMs: clock.nowMs() });
}

/** As `readEntry`, with the result that was recorded, and a receipt. */
export async function findEarlier(
  services: AttemptServices,
  attempt: Attempt,
  once: { readonly entryKey: Item; readonly times: AttemptTimes },
): Promise<EarlierCommit | undefined> {
  const { context } = attempt;
  const { clock, control, items } = services.ports;
  const entry = await readEntry(services, attempt, once.entryKey);
  if (entry === undefined) return undefined;
  const table = control.idempotencyTable;
  const { version } = await items.get(table, once.entryKey, services.call.options);
  const receipt = {
    transactionId: entry.transactionId,
    commitTimestamp: version,
    place: entry.place,
    readTimestamp: context.readTimestamp,
    attempts: once.times.attempts,
    consumed: { ...services.call.consumption },
    phases: {
      retryMs: once.times.retryMs,
      bodyMs: clock.monotonicMs() - once.times.beganMs,
      certifyMs: 0,
      installMs: 0,
    },
    // Its other writes may still be on their way; replay or their readers finish them.
    installed: false,
    replayed: true,
  };
  return { result: entry.result, receipt };
}

/**
 * Buffers the entry that the commit writes. One that is certified under another's id must tell
 * `named`, which corrects the entry: a repeat's receipt names a transaction that the log knows.
 * @throws InvalidRequestError when the result is too large to keep.
 */
export function recordResult(
  services: AttemptServices,
  { context, id }: Attempt,
  { entryKey: key, result }: { readonly entryKey: Item; readonly result: AttributeValue },
): { readonly named: (name: CommitName) => void } {
  const { clock, control } = services.ports;
  const table = control.idempotencyTable;
  const nowMs = clock.nowMs();
  const itemOf = (name: CommitName): Item => idempotencyItem(key, { ...name, result }, nowMs);
  // mutant: effect-without-entry
  context.putInto(table, itemOf({ transactionId: id, place: 0 }));
  return {
    named: (name) => {
      // mutant: effect-without-entry
      // mutant: entry-of-an-unknown-id
      context.writes.set(table, key, itemOf(name));
    },
  };
}

type IdempotencyEntry = CommitName & { readonly result: AttributeValue };

/**
 * The entry of a caller's key.
 * @throws InvalidRequestError for an empty or overlong one.
 */
export function idempotencyEntryKey(idempotencyKey: string): Item {
  const bytes = utf8Length(idempotencyKey);
  if (bytes === 0 || bytes > limits.idempotencyKeyBytesMax) {
    throw new InvalidRequestError(
      "idempotencyKey",
      `an idempotency key has 1 to ${limits.idempotencyKeyBytesMax} bytes in UTF-8; got ${bytes}`,
    );
  }
  return callerEntryKey(idempotencyKey);
}

/**
 * The entry that a commit writes.
 * @throws InvalidRequestError when the result is too large to keep.
 */
function idempotencyItem(key: Item, entry: IdempotencyEntry, nowMs: number): Item {
  const bytes = valueSizeBytes(entry.result);
  if (bytes > limits.idempotencyResultBytesMax) {
    throw new InvalidRequestError(
      "result",
      `the result takes ${bytes} bytes; with an idempotency key at most ` +
        `${limits.idempotencyResultBytesMax} can be kept: return less`,
    );
  }
  const expiresAt = Math.floor(nowMs / 1000) + limits.idempotencyRetentionSeconds;
  return {
    ...key,
    transactionId: { S: entry.transactionId },
    place: { N: entry.place.toString() },
    result: entry.result,
    expiresAt: { N: expiresAt.toString() },
  };
}

/**
 * Undefined when there is no entry, or it has expired and only its removal is late.
 * @throws CorruptDataError for one that no transaction of ours has written.
 */
function readIdempotencyItem(
  item: Item | undefined,
  { table, key, nowMs }: { readonly table: string; readonly key: Item; readonly nowMs: number },
): IdempotencyEntry | undefined {
  if (item === undefined) return undefined;
  const expiresAt = attribute(item, "expiresAt");
  const transactionId = attribute(item, "transactionId");
  const place = attribute(item, "place") ?? { N: "0" };
  const result = attribute(item, "result");
  if (
    expiresAt === undefined ||
    !("N" in expiresAt) ||
    transactionId === undefined ||
    !("S" in transactionId) ||
    !isTransactionId(transactionId.S) ||
    !("N" in place) ||
    result === undefined
  ) {
    throw new CorruptDataError(
      `the idempotency entry ${JSON.stringify(key)} of table ${table} lacks its attributes, or ` +
        "has others: nothing of Tidemark has written it. Find out who has, and delete the item; " +
        "or use another idempotency key",
    );
  }
  if (Number(expiresAt.N) * 1000 <= nowMs) return undefined;
  return { transactionId: transactionId.S, place: Number(place.N), result };
}
