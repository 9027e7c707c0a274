/**
 * What idempotency entries of the control table look like (docs/protocol.md §1), in one place for
 * the three that have to agree on it: the engine makes them, the oracle admits payloads that write
 * them, replay installs them.
 */
import type { Item } from "./types.ts";

export const idempotencyPrefix = "idempotency#";
/** Sort keys: of an entry of a caller's key, and of one of a transaction carried on as data. */
export const idempotencySorts = { caller: "-", detached: "detached" } as const;

/** What an entry has beside its key. */
export const idempotencyAttributes = ["transactionId", "place", "result", "expiresAt"] as const;

/** The entry of a caller's key, whose length the engine has checked. */
export function callerEntryKey(idempotencyKey: string): Item {
  return entryKey(idempotencyKey, idempotencySorts.caller);
}

/** The entry of a transaction that is carried on as data; no caller's key can be the same. */
export function detachedEntryKey(name: string): Item {
  return entryKey(name, idempotencySorts.detached);
}

function entryKey(name: string, sort: string): Item {
  return { pk: { S: `${idempotencyPrefix}${name}` }, sk: { S: sort } };
}

/** Whether a key of the control table is an entry's. More than the prefix: no name is empty. */
export function isIdempotencyKey(partition: string, sort: string): boolean {
  return (
    partition.startsWith(idempotencyPrefix) &&
    partition.length > idempotencyPrefix.length &&
    (Object.values(idempotencySorts) as readonly string[]).includes(sort)
  );
}
