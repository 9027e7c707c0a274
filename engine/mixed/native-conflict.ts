/** The conflict of a transaction with what stands in a mixed table by now. */
import { ConflictError } from "../../core/errors.ts";
import type { KeyRead, PredicateRead } from "../../core/transaction-reads.ts";

export function nativeConflict(read: KeyRead | PredicateRead): ConflictError {
  const on = "on" in read ? read.on : "key";
  const what = on === "key" ? "an item" : `a row under a ${on}`;
  return new ConflictError(
    `${what} of table "${read.table ?? ""}" is not as this transaction has read it`,
    { table: read.table, key: read.key, version: undefined, on, foundBy: "native" },
  );
}
