/** What is kept in memory, and what is let go. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** How many of them are there still, once all is collected that nobody can reach. */
export async function keptOf(references: readonly WeakRef<object>[]): Promise<number> {
  for (let turns = 0; turns < 3; turns += 1) {
    // Until its turn of the event loop ends, what a reference was made or asked for stays.
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  return references.filter((each) => each.deref() !== undefined).length;
}
