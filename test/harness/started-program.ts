/** A program as a process of its own, which does not outlive its test. */
import { spawn, type ChildProcess } from "node:child_process";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";

const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

export type StartedProgram = {
  readonly child: ChildProcess;
  /** What it has said so far. */
  readonly seen: { readonly out: string; readonly err: string };
  /** Its exit code; null: a signal has ended it. */
  readonly ended: Promise<number | null>;
};

/** Words that start one of our sources, for a shell too. */
export function wordsOf(
  source: string,
  ...args: readonly string[]
): readonly [string, ...string[]] {
  return [process.execPath, "--import", loader, source, ...args];
}

export function startProgram(
  [command, ...args]: readonly [string, ...string[]],
  options: { readonly cwd?: string } = {},
): StartedProgram {
  const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const seen = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (seen.out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (seen.err += chunk.toString()));
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, seen, ended };
}
