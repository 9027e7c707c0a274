/**
 * Runs the suites of scripts/deployed-suite-list.ts against a deployment that is up, wherever it is
 * and whoever made it, and says by name what did not run: a skipped test is never a passed one.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { leftOut, suites, suitesFor } from "./deployed-suite-list.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

export type DeployedSuitesOptions = {
  readonly deployment: string;
  /** A local cloud's; undefined: AWS. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** Undefined: the suites of REST are left out. */
  readonly restUrl: string | undefined;
  /** Only the short selection. */
  readonly coreOnly: boolean;
};

/** Where a local cloud answers an HTTP API; LocalStack and ministack agree. */
export function localRestUrl(endpoint: string, apiId: string): string {
  return `${endpoint}/_aws/execute-api/${apiId}/$default`;
}

/** Returns vitest's exit code. */
export async function runDeployedSuites(options: DeployedSuitesOptions): Promise<number> {
  const { endpoint, restUrl, coreOnly } = options;
  const files = suitesFor({
    rest: restUrl !== undefined,
    tables: endpoint !== undefined,
    coreOnly,
  });
  const folder = mkdtempSync(join(tmpdir(), "tidemark-deployed-"));
  const reportPath = join(folder, "report.json");
  try {
    const code = await runVitest(files, reportPath, options);
    const complete = printReport(reportPath, files, options);
    return code === 0 && !complete ? 1 : code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runVitest(
  files: readonly string[],
  reportPath: string,
  options: DeployedSuitesOptions,
): Promise<number> {
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const child = spawn(
    process.execPath,
    [vitest, "run", "--config", "vitest.deployed.config.ts", ...files],
    {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
      env: {
        ...process.env,
        TIDEMARK_DEPLOYED_DEPLOYMENT: options.deployment,
        TIDEMARK_DEPLOYED_ENDPOINT: options.endpoint ?? "",
        TIDEMARK_DEPLOYED_REGION: options.region,
        TIDEMARK_DEPLOYED_REST_URL: options.restUrl ?? "",
        TIDEMARK_DEPLOYED_REPORT: reportPath,
      },
    },
  );
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      resolve(code ?? 1);
    });
  });
}

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          status: z.string(),
          meta: z.looseObject({ notHere: z.string().optional() }).optional(),
        }),
      ),
    }),
  ),
});

/**
 * Counts, and every test and file that did not run, with the reason. @returns whether every file
 * passed a test.
 */
function printReport(
  path: string,
  files: readonly string[],
  { endpoint, restUrl, coreOnly }: DeployedSuitesOptions,
): boolean {
  const { testResults } = reportSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const lines: string[] = [];
  const silent = new Set(files);
  for (const { name, assertionResults } of testResults) {
    const file = relative(root, name);
    for (const { fullName, status, meta } of assertionResults) {
      if (status === "passed") {
        counts.passed += 1;
        silent.delete(file);
      } else if (status === "failed") {
        counts.failed += 1;
      } else {
        counts.skipped += 1;
        lines.push(`NOT RUN: ${file}: ${fullName}: ${meta?.notHere ?? status}`);
      }
    }
  }
  for (const [file, reason] of Object.entries(leftOut)) lines.push(`NOT RUN: ${file}: ${reason}`);
  for (const { file, needs = [], core } of suites) {
    if (files.includes(file)) continue;
    const missing = [
      ...(needs.includes("rest") && restUrl === undefined ? ["the address of REST"] : []),
      ...(needs.includes("tables") && endpoint === undefined ? ["a local cloud's --endpoint"] : []),
    ];
    const reason = missing.length > 0 ? `needs ${missing.join(" and ")}` : "not in the selection";
    if (missing.length > 0 || (coreOnly && core !== true))
      lines.push(`NOT RUN: ${file}: ${reason}`);
  }
  for (const file of silent) lines.push(`NOTHING PASSED: ${file}`);
  for (const line of lines) console.log(line);
  const { passed, failed, skipped } = counts;
  console.log(`deployed suites: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  return silent.size === 0;
}
