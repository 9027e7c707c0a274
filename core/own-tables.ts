/**
 * The names of the tables that Tidemark keeps for itself, which no user's table may have: of every
 * deployment, not only of one's own. Who may register tables with one deployment must not reach
 * another's log by it.
 */
import { InvalidRequestError } from "./errors.ts";
import * as limits from "./limits.ts";

const prefix = "tidemark-";
const suffixes = {
  logTable: "-log",
  controlTable: "-control",
  versionsTable: "-versions",
} as const;
/** Of what is recorded of BASE transactions (base-tables.ts). */
export const baseRecordsSuffix = "-base";

export type OwnTables = { readonly [Table in keyof typeof suffixes]: string };

/** What a deployment calls its own tables (docs/protocol.md §1). */
export function ownTables(deployment: string): OwnTables {
  const named = (suffix: string): string => `${prefix}${deployment}${suffix}`;
  return {
    logTable: named(suffixes.logTable),
    controlTable: named(suffixes.controlTable),
    versionsTable: named(suffixes.versionsTable),
  };
}

/** For error messages. */
export const ownTableNames: readonly string[] = Object.values(ownTables("*"));

/** Whether the name is that of some deployment's own table. */
export function isOwnTable(name: string): boolean {
  return Object.values(suffixes).some((suffix) => isNamed(name, suffix));
}

/**
 * Whether some deployment has its BASE transactions there. Such a table is registered, and its
 * commits are as all others; but only Tidemark makes them.
 */
export function isBaseRecordsTable(name: string): boolean {
  return isNamed(name, baseRecordsSuffix);
}

/** For who names it all the same. */
export function recordsAreOwn(name: string): InvalidRequestError {
  return new InvalidRequestError(
    "table",
    `table "${name.slice(0, limits.nameBytesMax)}" is Tidemark's own: it holds what is recorded ` +
      "of BASE transactions; `npx tidemark base` shows them",
  );
}

function isNamed(name: string, suffix: string): boolean {
  return (
    name.startsWith(prefix) && name.endsWith(suffix) && name.length > prefix.length + suffix.length
  );
}
