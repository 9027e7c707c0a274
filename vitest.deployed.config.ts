/**
 * The suites against a deployment that is up (scripts/deployed-suite-list.ts says which); apart
 * from `npm test`, which needs none. The integration suites run as they are: only what they stand
 * on is exchanged here.
 */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { deployedFiles } from "./scripts/deployed-suite-list.ts";

const attached = (name: string): string =>
  fileURLToPath(new URL(`test/deployed/attached/${name}.ts`, import.meta.url));

/** Where `npm run test:deployed` reads what ran and what did not. */
const reportPath = process.env["TIDEMARK_DEPLOYED_REPORT"];

export default defineConfig({
  resolve: {
    alias: [
      { find: /^.*\/harness\/local-deployment\.ts$/, replacement: attached("deployment") },
      { find: /^.*\/localstack\/embedded-stack\.ts$/, replacement: attached("stack") },
      { find: /^.*\/functions\/api\/service\.ts$/, replacement: attached("rest") },
      { find: /^.*\/functions\/api\/handler\.ts$/, replacement: attached("rest-handler") },
    ],
  },
  test: {
    include: deployedFiles(),
    setupFiles: ["test/deployed/attached/left-out.ts"],
    reporters:
      reportPath === undefined ? ["default"] : ["default", ["json", { outputFile: reportPath }]],
    testTimeout: 240_000,
    hookTimeout: 120_000,
    // All of them use the deployment's one shard.
    fileParallelism: false,
  },
});
