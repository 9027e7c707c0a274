/**
 * Which tables BASE transactions may use, and where these are recorded
 * (docs/adr/0017-base-transactions.md).
 *
 * Whoever reads or writes such a table looks whether an open BASE transaction holds the item. So it
 * may be used by steps only once nobody goes by an older copy of the registry.
 */
import { InvalidRequestError } from "./errors.ts";
import * as limits from "./limits.ts";
import { baseRecordsSuffix } from "./own-tables.ts";
import type { Item, TableDescription, Timestamp, WantedTable } from "./types.ts";

const controlSuffix = "-control";

/** The key of the table that holds locks and records. */
export const baseRecordsKeys = {
  partitionKey: { name: "pk", type: "S" },
  sortKey: { name: "sk", type: "S" },
} as const;

/** By when the store may drop what has ended. */
export const baseExpiryAttribute = "expiresAt";

/** From when on, by wall clock, the store may drop it by itself; never: Infinity. */
export function expiresAtMs(item: Item | undefined): number {
  const expiry = item?.[baseExpiryAttribute];
  if (expiry === undefined) return Infinity;
  return "N" in expiry ? Number(expiry.N) * 1_000 : 0;
}

/**
 * The table of a deployment that holds the locks and records of its BASE transactions: one that is
 * registered like a user's, with history, so that transactions read and write it as any other.
 * @param controlTable the deployment's control table.
 */
export function baseRecordsTable(controlTable: string): string {
  return controlTable.slice(0, -controlSuffix.length) + baseRecordsSuffix;
}

/** Whether BASE transactions may use it, so that whoever reads or writes it looks at locks. */
export function takesBase({ baseSince }: Pick<TableDescription, "baseSince">): boolean {
  return baseSince !== undefined;
}

/**
 * What stands in the registry after a registration at `nowMs`.
 * @param before undefined for a table that was not registered: nobody can have used it.
 * @throws InvalidRequestError for a mixed table, one that moves, and one that is to be taken back.
 */
export function baseSinceAfter(
  before: TableDescription | undefined,
  wanted: WantedTable & Pick<TableDescription, "access" | "move">,
  nowMs: number,
): Pick<TableDescription, "baseSince"> {
  const { name, base = before?.baseSince !== undefined, access, move } = wanted;
  if (!base) {
    if (before?.baseSince === undefined) return {};
    throw new InvalidRequestError(
      "base",
      `table "${name}" is registered for BASE transactions, of which some may be open: it stays so`,
    );
  }
  if (access === "mixed" || move !== undefined) {
    throw new InvalidRequestError(
      "base",
      `table "${name}" cannot be mixed, or on the way there or back, and take BASE transactions: ` +
        "native writes look at no lock",
    );
  }
  if (before === undefined) return { baseSince: 0 as Timestamp };
  const since = Math.ceil(nowMs + limits.historyChangeMs) * 1000;
  return { baseSince: before.baseSince ?? (since as Timestamp) };
}
