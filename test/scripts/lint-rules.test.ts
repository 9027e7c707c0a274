/** The linter's configuration, on a tree of mistakes: what each folder forbids is really found. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** File → its text, and the rules that must complain of it. */
const mistakes: Readonly<Record<string, readonly [text: string, ...rules: readonly string[]]>> = {
  "sdk/floating.ts": ["Promise.reject(new Error());", "no-floating-promises"],
  "sdk/any.ts": ["export const [one] = JSON.parse('[1]');", "no-unsafe-assignment"],
  "sdk/cases.ts": [
    "export function f(of: 'a' | 'b'): number { switch (of) { case 'a': return 1; } return 2; }",
    "switch-exhaustiveness-check",
  ],
  "sdk/condition.ts": [
    "export const f = (list: string[]): number => (list ? 1 : 2);",
    "no-unnecessary-condition",
  ],
  "sdk/old.ts": ["/** @deprecated gone */ const a = 1; export const b = a;", "no-deprecated"],
  "engine/clock.ts": ["export const now = (): Date => new Date();", "no-clock"],
  "engine/timer.ts": ["setTimeout(() => undefined, 1);", "no-restricted-globals"],
  "engine/random.ts": ["export const r = (): number => Math.random();", "no-restricted-properties"],
  "engine/module.ts": ["import 'node:timers';", "no-restricted-imports"],
  "core/package.ts": ["import 'node:fs';", "no-restricted-imports"],
  "core/upwards.ts": ["import '../sdk/old.ts';", "no-restricted-imports"],
  "core/later.ts": [
    "export async function f(): Promise<void> { await Promise.resolve(); }",
    "synchronous",
    "no-restricted-globals",
  ],
  "scripts/here.ts": ["export const here = import.meta.dirname;", "oldest-node"],
  "scripts/bounds.ts": [
    "import * as limits from '../core/limits.ts'; export const { keysMax } = limits;",
    "one-limit",
  ],
  "sdk/print.ts": ["console.log(1);", "no-console"],
};

const right: Readonly<Record<string, string>> = {
  "core/limits.ts": "export const keysMax = 1;\n",
  "core/ports.ts": "export type Sleep = () => Promise<void>;\n",
  "engine/formats.ts": "export const then = (ms: number): Date => new Date(ms);\n",
  "functions/oracle/handler.ts": "export const now = (): number => Date.now();\n",
  "cli/print.ts": "console.log(1);\n",
};

describe("lint", () => {
  let folder: string;
  let found: ReadonlyMap<string, readonly string[]>;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "tidemark-lint-"));
    for (const each of [".oxlintrc.jsonc", "scripts/lint-rules.js", "tsconfig.json"]) {
      cpSync(join(root, each), join(folder, each));
    }
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
    const texts = Object.entries(mistakes).map(([path, [text]]) => [path, text] as const);
    for (const [path, text] of [...texts, ...Object.entries(right)]) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    found = await rulesBroken(folder);
  });

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(Object.entries(mistakes))("finds the mistake of %s", (path, [, ...rules]) => {
    expect(found.get(path) ?? []).toEqual(expect.arrayContaining(rules));
  });

  test.each(Object.keys(right))("has no complaint about %s", (path) => {
    expect(found.get(path)).toBeUndefined();
  });
});

/** Path → rules, as a run of the linter in that folder says. */
async function rulesBroken(folder: string): Promise<ReadonlyMap<string, readonly string[]>> {
  // Its command needs Node 20.19; this is what that imports.
  const program = join(root, "node_modules", "oxlint", "dist", "cli.js");
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [program, "--format=json"], { cwd: folder }, (_, stdout) => {
      resolve(stdout);
    });
  });
  const { diagnostics } = JSON.parse(output) as {
    readonly diagnostics: readonly { readonly code: string; readonly filename: string }[];
  };
  const rules = new Map<string, string[]>();
  for (const { code, filename } of diagnostics) {
    rules.set(filename, [...(rules.get(filename) ?? []), ruleOf(code)]);
  }
  return rules;
}

/** `typescript(no-deprecated)` → `no-deprecated`. */
const ruleOf = (code: string): string => /\((.+)\)$/u.exec(code)?.[1] ?? code;
