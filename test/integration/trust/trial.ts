/** How a statement of docs/operations.md, on what a right can break and what not, is tried. */
import { startWorld, type World } from "./world.ts";

/** A test, or the files in which it is tried. */
export type Trial = (() => Promise<void>) | readonly string[];

/** By what the statement says. */
export type Trials = Readonly<Record<string, Trial>>;

/** What somebody can break, and what not. */
export type Breakage = { readonly can: Trials; readonly not: Trials };

/** On a deployment of its own, for what stops a shard or loses commits. */
export const inItsOwnWorld =
  (body: (world: World) => Promise<void>): Trial =>
  async () => {
    const world = await startWorld();
    try {
      await body(world);
    } finally {
      await world.stop();
    }
  };
