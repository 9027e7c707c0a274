/** How a statement of docs/operations.md, on what a right can break and what not, is tried. */

/** A test, or the files in which it is tried. */
export type Trial = (() => Promise<void>) | readonly string[];

/** By what the statement says. */
export type Trials = Readonly<Record<string, Trial>>;

/** What somebody can break, and what not. */
export type Breakage = { readonly can: Trials; readonly not: Trials };
