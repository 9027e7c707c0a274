/**
 * What the checker has been seen to say of each configuration and each mistake, committed beside
 * the model: what has not changed since need not be checked again by every change of the code.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CheckResult, checkerVersion, modelFolder } from "./checker.ts";

const path = join(modelFolder, "checked.json");

/** One run: a module with a configuration, whose mistake is named in it if there is one. */
export type Run = {
  /** Module of model/, without extension. */
  readonly module: string;
  /** The text of a configuration. */
  readonly config: string;
};

type Seen = {
  /** Of all that the answer depends on. */
  readonly fingerprint: string;
  /** `holds`, or what was violated. */
  readonly answer: string;
  readonly states: number;
  readonly generated: number;
};

/** Whether this very run, to the letter but for comments, is on record. */
export function isChecked(name: string, run: Run): boolean {
  return readSeen()[name]?.fingerprint === fingerprintOf(run);
}

/** Keeps what came out, if it is what had to come out. */
export function keepChecked(name: string, run: Run, result: CheckResult): void {
  const seen: Seen = {
    fingerprint: fingerprintOf(run),
    answer: result.violated ?? "holds",
    states: result.distinctStates,
    generated: result.generatedStates,
  };
  // Read again: `npm run model` and `model:mutants` may run side by side.
  const all = { ...readSeen(), [name]: seen };
  const sorted = Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
}

function readSeen(): Partial<Record<string, Seen>> {
  if (!existsSync(path)) return {};
  // The file is this module's own.
  return JSON.parse(readFileSync(path, "utf8")) as Partial<Record<string, Seen>>;
}

export function fingerprintOf({ module, config }: Run): string {
  const hash = createHash("sha256").update(`${checkerVersion}\n${withoutComments(config)}`);
  for (const text of textsOf(module)) hash.update(withoutComments(text));
  return hash.digest("hex").slice(0, 16);
}

/** The module, and what it extends. */
function textsOf(module: string): readonly string[] {
  const file = join(modelFolder, `${module}.tla`);
  // The others are the checker's own.
  if (!existsSync(file)) return [];
  const text = readFileSync(file, "utf8");
  const extended = /^EXTENDS (.+)$/m.exec(text)?.[1]?.split(",") ?? [];
  return [text, ...extended.flatMap((name) => textsOf(name.trim()))];
}

function withoutComments(text: string): string {
  return text
    .replaceAll(/\(\*[\s\S]*?\*\)/g, "")
    .replaceAll(/\\\*.*$/gm, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}
