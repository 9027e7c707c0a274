/**
 * Names that no user's table may have: those of the tables that Tidemark keeps for itself. Of every
 * deployment, not only of one's own: who may register tables with one deployment must not reach
 * another's log by it.
 */
const ownTablePattern = /^tidemark-.+-(?:log|control|versions)$/u;

/** Whether the name is that of some deployment's own table (docs/protocol.md §1). */
export function isOwnTable(name: string): boolean {
  return ownTablePattern.test(name);
}
