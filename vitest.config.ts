/**
 * The suites. `unit` is pure and fast; `integration` starts real protocol servers on free loopback
 * ports; `package` installs the packed tarball; `types` compiles type tests. `instruments` is for
 * what measures and proves the product, and a suite of its own; a file of `long` takes a processor
 * half a minute and more: neither is a part of `npm test`. Groups run one after another: what only
 * computes, on two cores, then what also waits for servers and processes.
 */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { PackagesFirst } from "./scripts/packages-first.ts";
import { strayErrorsReporter } from "./scripts/stray-errors-reporter.ts";

/** Folders whose tests start servers, and the suffix that marks such a test elsewhere. */
const integration = [
  "test/{aws,embedded,integration}/**/*.test.ts",
  "test/**/*.integration.test.ts",
];
/** Benchmarks, demo, simulator, model, clouds and checkers, and the scripts of this repository. */
const instruments = ["test/{bench,demo,model,scripts,simulation,testing}/**/*.test.ts"];
const packaged = ["test/package/**/*.test.ts"];
const types = ["test/types/**/*.{test,test-d}.ts"];
const long = ["test/**/*.long.test.ts"];
/** Those of which the other suites run a part (test/harness/sweep.ts), and the long one all. */
const sweeps = [
  "test/bench/{contestants,run-plan}.integration.test.ts",
  "test/client/answers.test.ts",
  "test/core/refusals.test.ts",
  "test/engine/chained-states-at-random.test.ts",
  "test/engine/express/commit-policy.test.ts",
  "test/engine/stream-switch/stream-switch-faults.test.ts",
  "test/functions/api-sharded.test.ts",
  "test/simulation/changed-access.test.ts",
  "test/simulation/workloads.test.ts",
  "test/testing/{base,checker,native}-brute-force.test.ts",
  "test/testing/dynamodb-differential.integration.test.ts",
];
/** Those that replace a module, or load one anew, as others of their process would see. */
const alone = ["test/**/*.alone.test.ts"];

/** Of `tidemark init`: what it writes passes its own tests, and names the package as users do. */
const template = "cli/init/template";
const source = (entry: string): string => fileURLToPath(new URL(entry, import.meta.url));
const packageNames = {
  "tidemark/testing": source("testing/index.ts"),
  tidemark: source("sdk/index.ts"),
};

/** Where `.ci/run` wants the results as JSON; unset in daily work. */
const reportPath = process.env["TIDEMARK_TEST_REPORT"];

export default defineConfig({
  test: {
    sequence: { sequencer: PackagesFirst },
    reporters:
      reportPath === undefined
        ? ["default"]
        : ["default", ["json", { outputFile: reportPath }], strayErrorsReporter(reportPath)],
    projects: [
      {
        resolve: {
          alias: Object.entries(packageNames).map(([name, replacement]) => ({
            find: new RegExp(`^${name}$`),
            replacement,
          })),
        },
        test: {
          name: "unit",
          // Examples of tests are tests.
          include: ["test/**/*.test.ts", "examples/**/*.test.ts", `${template}/test/*.test.ts`],
          exclude: [...integration, ...instruments, ...packaged, ...types, ...long, ...alone],
          testTimeout: 60_000,
          // The first one of a file loads what it needs.
          hookTimeout: 60_000,
          maxWorkers: 2,
          // Modules are loaded once per worker: nothing in them remembers one file's tests.
          isolate: false,
          unstubEnvs: true,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "instruments",
          include: instruments,
          exclude: long,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          maxWorkers: 2,
          isolate: false,
          unstubEnvs: true,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "alone",
          include: alone,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "long",
          include: [...long, ...sweeps],
          env: { TIDEMARK_TEST_SWEEP: "all" },
          testTimeout: 600_000,
          hookTimeout: 600_000,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "types",
          include: [],
          typecheck: {
            enabled: true,
            only: true,
            include: types,
            // `npm run typecheck` judges the sources; here only the type tests count.
            tsconfig: "./test/types/tsconfig.json",
            checker: source("node_modules/typescript-native/bin/tsc"),
            ignoreSourceErrors: true,
          },
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "integration",
          include: integration,
          exclude: instruments,
          // Each starts processes, and a busy machine may have other work.
          testTimeout: 180_000,
          hookTimeout: 180_000,
          // They wait for servers as much as they compute.
          maxWorkers: 4,
          isolate: false,
          unstubEnvs: true,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "package",
          include: packaged,
          testTimeout: 180_000,
          hookTimeout: 300_000,
          // Most of it is one file, which waits for npm: the others of the group go on beside it.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
