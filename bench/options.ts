/** The command line of a benchmark: `--json` prints one machine-readable object instead of a table. */
import { parseArgs } from "node:util";

/** @throws TypeError naming an option that does not exist. */
export function benchOptions(): { readonly json: boolean } {
  const { values } = parseArgs({ options: { json: { type: "boolean", default: false } } });
  return { json: values.json };
}
