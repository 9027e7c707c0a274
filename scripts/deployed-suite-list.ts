/**
 * Which suites run against a deployment, and which cannot. A single test that needs control of the
 * functions says so itself (attached/control.ts); a file is named here if that is so before its
 * first test.
 */

type Suite = {
  readonly file: string;
  /**
   * What it needs beside the deployment: its HTTP API, or tables of its own, which only a local
   * cloud gives.
   */
  readonly needs?: readonly ("rest" | "tables")[];
  /** Part of the short selection for CI: together they call every part of a deployment. */
  readonly core?: true;
};

const integration = (name: string): Suite => ({
  file: `test/integration/${name}.test.ts`,
  needs: ["tables"],
});

export const suites: readonly Suite[] = [
  { file: "test/deployed/sdk.deployed.ts", core: true },
  { file: "test/deployed/rest.deployed.ts", needs: ["rest"], core: true },
  { file: "test/functions/api.integration.test.ts", needs: ["rest", "tables"] },
  { file: "test/sdk/sdk.integration.test.ts", needs: ["tables"] },
  ...["crash", "detached", "history", "limits", "pages-of-written-rows"].map((name): Suite => ({
    ...integration(name),
    core: true,
  })),
  ...[
    "examples",
    "hermitage/hermitage",
    "idempotency",
    "isolation",
    "operations",
    "calls-and-signals",
    "commit-interleavings",
    "unhandled-rejections",
    "unknown-outcome",
  ].map(integration),
];

/** Files of test/integration of which no test can run against a deployment, and why. */
export const leftOut: Readonly<Record<string, string>> = {
  "test/integration/adoption.test.ts": "registers a table, and takes it out of the registry again",
  "test/integration/base-requests.test.ts": "makes a table, and registers it for BASE transactions",
  "test/integration/base-runner.test.ts": "registers a table for BASE transactions",
  "test/integration/express.test.ts":
    "appends to the log, to which the rights of a deployed suite's clients do not reach",
  "test/integration/hermitage/page.test.ts": "compares a document with the scripts; asks no server",
  "test/integration/hermitage/uninstalled.test.ts": "begins with replay stopped",
  "test/integration/fulfilment.test.ts": "makes tables, and registers them for BASE transactions",
  "test/integration/newcomer-errors.test.ts": "makes mistakes with servers of its own",
  "test/integration/oracles.test.ts":
    "runs, repeats and freezes oracles of its own, and feeds the stream hostile records",
  "test/integration/mixed/crashes.test.ts": "begins with replay stopped",
  "test/integration/mixed/moving.test.ts": "registers mixed tables",
  "test/integration/mixed/resumed.test.ts": "registers mixed tables",
  "test/integration/mixed/transactions.test.ts":
    "registers mixed tables, to which the rights of a deployed suite do not reach",
  "test/integration/own-commits.test.ts": "begins with replay stopped",
  "test/integration/readme.test.ts": "runs what is printed for the stack of `npm start`",
  "test/integration/stream-switch.test.ts": "takes the stream away, and makes one",
  "test/integration/trust/breaks.test.ts": "begins with replay stopped",
  "test/integration/trust/consumer.test.ts": "begins with replay stopped",
  "test/integration/trust/keeper.test.ts":
    "keeps house without a stream, and is denied what it needs",
  "test/integration/trust/rights.test.ts":
    "answers for IAM itself; a deployment has one set of rights, which test/deploy compares",
  "test/integration/workload.test.ts": "repeats, overlaps and loses invocations of both functions",
};

/**
 * Single tests that are left out although they ask for no control: file, end of the full name,
 * reason.
 */
export const leftOutTests: readonly (readonly [file: string, title: string, reason: string])[] = [
  [
    "test/functions/api.integration.test.ts",
    "concurrent transfers over both instances conserve money and never overdraw",
    "24 requests at once outlast REST's deadline where one loop drives all mappings, as in the " +
      "light cloud",
  ],
  [
    "test/integration/history.test.ts",
    "are removed by the reaper once they are due, and nothing else is",
    "runs the reaper with a clock set ahead: on others' tombstones too",
  ],
];

export function deployedFiles(): string[] {
  return suites.map(({ file }) => file);
}

export function suitesFor(has: {
  readonly rest: boolean;
  readonly tables: boolean;
  readonly coreOnly: boolean;
}): readonly string[] {
  return suites
    .filter(({ needs = [] }) => needs.every((need) => has[need]))
    .filter(({ core }) => core === true || !has.coreOnly)
    .map(({ file }) => file);
}
