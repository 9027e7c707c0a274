/**
 * What a test cannot have of a deployment that others run: its functions stopped, interposed or
 * watched. Such a test is skipped in the moment in which it asks, and scripts/deployed-suites.ts
 * lists it by name, with the reason.
 */
import { TestRunner, type RunnerTestCase } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** Why the test cannot run against a deployment. */
    notHere?: string;
  }
}

/**
 * @throws always: to skip the test that runs, or, outside of one, as an error that says what to do.
 */
export function needsControl(what: string): never {
  const test = TestRunner.getCurrentTest<RunnerTestCase | undefined>();
  if (test !== undefined) {
    test.meta.notHere = what;
    test.context.skip(what);
  }
  throw new Error(
    `no test of this file can run against a deployment, since it ${what} before the first: ` +
      "name it in scripts/deployed-suite-list.ts as one that is left out",
  );
}
