/**
 * The names of the tables that Tidemark keeps for itself, which no user's table may have: of every
 * deployment, not only of one's own. Who may register tables with one deployment must not reach
 * another's log by it.
 */
const prefix = "tidemark-";
const suffixes = {
  logTable: "-log",
  controlTable: "-control",
  versionsTable: "-versions",
} as const;

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
  return Object.values(suffixes).some(
    (suffix) =>
      name.startsWith(prefix) &&
      name.endsWith(suffix) &&
      name.length > prefix.length + suffix.length,
  );
}
