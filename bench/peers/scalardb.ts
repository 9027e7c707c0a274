/**
 * ScalarDB on DynamoDB as a contestant: built with Maven into a git-ignored folder once for each
 * state of its sources, and run as a process of its own, which prints its result. What it does is
 * told in bench/peers/scalardb/README.md.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { scalarDbArguments, type ScalarDbOptions } from "./scalardb-arguments.ts";
import { parseScalarDbOutput, type ScalarDbResult } from "./scalardb-result.ts";

export type ScalarDbTool = "java" | "maven";

/** This machine cannot run it; a benchmark leaves the contestant out and says so. */
export class ScalarDbUnavailable extends Error {
  override readonly name = "ScalarDbUnavailable";
  readonly missing: ScalarDbTool;
  constructor(missing: ScalarDbTool, detail: string, options?: ErrorOptions) {
    super(`the ScalarDB peer needs ${needs[missing]}: ${detail}`, options);
    this.missing = missing;
  }
}

/** Maven could not build it, or it ended with an error of its own. */
class ScalarDbFailed extends Error {
  override readonly name = "ScalarDbFailed";
}

const needs: Readonly<Record<ScalarDbTool, string>> = {
  java: "Java 17 or newer",
  maven: "Maven",
};
const javaVersionMin = 17;
const sources = fileURLToPath(new URL("scalardb", import.meta.url));
const cache = fileURLToPath(new URL("../../.cache/scalardb-peer", import.meta.url));
/** Of what a failed process said, its end is told. */
const errorTextMax = 2_000;

/**
 * The jar to run, with what it needs beside it.
 * @param say is told before something that takes long.
 * @throws ScalarDbUnavailable without Java or Maven, ScalarDbFailed if Maven cannot build it.
 */
export async function buildScalarDb(say: (line: string) => void): Promise<string> {
  await checkJava();
  const built = join(cache, digestOf(sources));
  const jar = join(built, "scalardb-peer.jar");
  if (existsSync(jar)) return jar;
  say("building the ScalarDB peer with Maven");
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, "build-"));
  try {
    await runMaven(work);
    // The folder appears under its final name only when it is complete; who comes second keeps the
    // first one's.
    if (!existsSync(built)) renameSync(work, built);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return jar;
}

/**
 * Loads tables, runs a workload, or both; builds the peer if needed.
 * @throws ScalarDbUnavailable, ScalarDbFailed, and ScalarDbOutputError for a result that makes no
 * sense.
 */
export async function runScalarDb(
  options: ScalarDbOptions,
  say: (line: string) => void,
): Promise<ScalarDbResult> {
  const jar = await buildScalarDb(say);
  const ended = await runTool("java", "java", ["-jar", jar, ...scalarDbArguments(options)]);
  if (ended.code !== 0) throw failed("the ScalarDB peer", ended);
  return parseScalarDbOutput(ended.output);
}

async function checkJava(): Promise<void> {
  const { code, errors, output } = await runTool("java", "java", ["-version"]);
  const said = errors + output;
  const version = /version "(\d+)/.exec(said)?.[1];
  if (code !== 0 || version === undefined) {
    throw new ScalarDbUnavailable("java", "java does not tell its version");
  }
  if (Number(version) < javaVersionMin) throw new ScalarDbUnavailable("java", `found ${version}`);
}

async function runMaven(directory: string): Promise<void> {
  const ended = await runTool("maven", "mvn", [
    ...["-B", "-q", "-C", "-f", join(sources, "pom.xml"), `-Dpeer.directory=${directory}`],
    "package",
  ]);
  if (ended.code !== 0) throw failed("Maven", ended);
}

type Ended = { readonly code: number | null; readonly output: string; readonly errors: string };

function failed(who: string, { code, errors, output }: Ended): ScalarDbFailed {
  const said = (errors + output).trim().slice(-errorTextMax);
  return new ScalarDbFailed(`${who} ended with ${code ?? "a signal"}: ${said}`);
}

/** The process does not outlive this one. */
function runTool(tool: ScalarDbTool, command: string, args: readonly string[]): Promise<Ended> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  const killIt = (): void => {
    child.kill("SIGKILL");
  };
  process.once("exit", killIt);
  return collect(tool, child).finally(() => {
    process.off("exit", killIt);
  });
}

function collect(tool: ScalarDbTool, child: ChildProcess): Promise<Ended> {
  let output = "";
  let errors = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (errors += text));
  return new Promise((resolve, reject) => {
    child.once("error", (cause) => {
      reject(new ScalarDbUnavailable(tool, "it cannot be run", { cause }));
    });
    child.once("close", (code) => {
      resolve({ code, output, errors });
    });
  });
}

/** Of all that the build is made of. */
function digestOf(folder: string): string {
  const hash = createHash("sha256");
  const names = readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" })
    .map((name) => join("src", name))
    .filter((name) => statSync(join(folder, name)).isFile());
  for (const name of ["pom.xml", ...names.sort()]) {
    hash
      .update(`${name}\0`)
      .update(readFileSync(join(folder, name)))
      .update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}
