/**
 * How much of a sweep runs: the few in the suites of every day, all in `npm run test:long`, whose
 * project sets the variable (vitest.config.ts). Files that import this are part of both.
 */
export function sweep<Size>(few: Size, all: Size): Size {
  return process.env["TIDEMARK_TEST_SWEEP"] === "all" ? all : few;
}
