/**
 * The rules of the house, checked on the whole tree, and each of them seen failing on a small tree
 * that breaks it.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import * as limits from "../core/limits.ts";
import {
  ambientViolations,
  barrelViolations,
  cycleViolations,
  exampleViolations,
  layerViolations,
  sdkDependencyViolations,
  serverTestViolations,
  shapeViolations,
  textViolations,
  unusedExportViolations,
  unusedFileViolations,
  unusedLimitViolations,
} from "./tidy/rules.ts";
import { ruleCases } from "./tidy/rule-cases.ts";
import { boundViolations } from "./tidy/bounds.ts";
import { settingViolations } from "./tidy/function-settings.ts";
import {
  commandViolations,
  invariantViolations,
  linkViolations,
  mentionViolations,
  outsideViolations,
  sectionViolations,
  termViolations,
} from "./tidy/references.ts";
import { defaultPorts } from "../cli/default-ports.ts";
import { entrySources } from "../scripts/public-api.ts";
import { entryViolations, portViolations } from "./tidy/single-sources.ts";
import { widthViolations } from "./tidy/width.ts";
import { factsOf, type SourceFacts, type Tree } from "./tidy/source-facts.ts";

const root = join(import.meta.dirname, "..");

const manifestSchema = z.object({
  dependencies: z.record(z.string(), z.string()).optional(),
  peerDependencies: z.record(z.string(), z.string()).optional(),
  scripts: z.record(z.string(), z.string()).optional(),
});

function facts(tree: Tree): Map<string, SourceFacts> {
  const sources = [...tree].filter(([path]) => /\.tsx?$/u.test(path));
  return new Map(sources.map(([path, text]) => [path, factsOf(path, text)]));
}

/** Every file that is, or would be, committed; ignored files are not the project's. */
function trackedFiles(): Map<string, string> {
  const listed = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  const isFile = (path: string): boolean =>
    statSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true;
  const paths = listed.split("\0").filter((path) => path !== "" && isFile(path));
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]));
}

describe("the tree", () => {
  const tracked = trackedFiles();
  const files = facts(tracked);
  const manifest = manifestSchema.parse(JSON.parse(tracked.get("package.json") ?? ""));

  test("is really read", () => {
    expect(files.has("core/limits.ts")).toBe(true);
    expect(files.has("test/tidy.test.ts")).toBe(true);
  });
  test("imports point down the layers only", () => {
    expect(layerViolations(files)).toEqual([]);
  });
  test("examples import what users of the package can", () => {
    expect(exampleViolations(files)).toEqual([]);
  });
  test("no import cycle exists", () => {
    expect(cycleViolations(files)).toEqual([]);
  });
  test("clock, timers, randomness and environment come in through ports", () => {
    expect(ambientViolations(files)).toEqual([]);
  });
  test("files are short and well named, without banned syntax or switched-off tests", () => {
    expect(shapeViolations(files)).toEqual([]);
  });
  test("the entries are the sole barrels", () => {
    expect(barrelViolations(files)).toEqual([]);
  });
  test("the package's entries need nothing but Node and its peers", () => {
    expect(sdkDependencyViolations(files, manifest)).toEqual([]);
  });
  test("the unit suite starts no servers", () => {
    expect(serverTestViolations(files)).toEqual([]);
  });
  test("no file of the product is there for tests alone", () => {
    expect(unusedFileViolations(files)).toEqual([]);
  });
  test("what is exported is imported somewhere", () => {
    expect(unusedExportViolations(files)).toEqual([]);
  });
  test("every limit bounds something", () => {
    expect(unusedLimitViolations(files, Object.keys(limits))).toEqual([]);
  });
  test("no tracked file names a registry host, a machine's path, a key or unfinished work", () => {
    expect(textViolations(tracked)).toEqual([]);
  });
  test("how functions run is stated in one table, and changed only for a reason", () => {
    expect(settingViolations(tracked)).toEqual([]);
  });
  test("what bounds something has its name and reason in core/limits.ts", () => {
    expect(boundViolations(tracked)).toEqual([]);
  });
  test("the package's entries are the same in every list of them", () => {
    expect(entryViolations(tracked, entrySources)).toEqual([]);
  });
  test("addresses that users are shown have the port of the local API", () => {
    expect(portViolations(tracked, defaultPorts.api)).toEqual([]);
  });
  test("tests that replace a module stand alone", () => {
    const replacing = [...tracked]
      .filter(([file, text]) => /^test\/.*\.test\.ts$/.test(file) && /^vi\.mock\(/m.test(text))
      .map(([file]) => file);
    expect(replacing.filter((file) => !file.endsWith(".alone.test.ts"))).toEqual([]);
  });
  test("code, comments and prose keep to 100 columns", () => {
    expect(widthViolations(tracked)).toEqual([]);
  });
  test("so does code of README, which readers save in their clone", () => {
    const fenced = [...(tracked.get("README.md") ?? "").matchAll(/```ts\n(.*?)```/gsu)];
    const code = fenced.map(([, text = ""], at): [string, string] => [`README ${at}.ts`, text]);
    expect(code).not.toEqual([]);
    expect(widthViolations(new Map(code))).toEqual([]);
  });
  test("links lead to a file, and to a heading in it", () => {
    expect(linkViolations(tracked)).toEqual([]);
  });
  test("files that prose and comments mention exist", () => {
    expect(mentionViolations(tracked)).toEqual([]);
  });
  test("names that documents quote from the code are in it", () => {
    expect(termViolations(tracked)).toEqual([]);
  });
  test("sections of docs/protocol.md exist wherever they are referred to", () => {
    expect(sectionViolations(tracked)).toEqual([]);
  });
  test("invariants are those of docs/protocol.md, asserted where it says", () => {
    expect(invariantViolations(tracked)).toEqual([]);
  });
  test("commands that documents name are there", () => {
    expect(commandViolations(tracked, new Set(Object.keys(manifest.scripts ?? {})))).toEqual([]);
  });
  test("nothing refers to a document outside of the repository", () => {
    expect(outsideViolations(tracked)).toEqual([]);
  });
});

describe("each rule is seen failing", () => {
  test.each(ruleCases)("$rule", ({ check, tree, violations }) => {
    expect(check(facts(new Map(Object.entries(tree))))).toEqual(violations);
  });

  test("text", () => {
    const slash = "/";
    const key = "AKIA" + "ABCDEFGHIJKLMNOP";
    const text = new Map([
      ["a.md", `see\n${slash}work${slash}x and ${slash}home${slash}ann${slash}y`],
      ["b.md", "https://" + ["registry", "npmjs", "org"].join(".")],
      ["c.ts", "// TO" + "DO: later"],
      ["d.ts", "// eslint-" + "disable-next-line"],
      ["e.md", key],
      [
        "f.md",
        `a${slash}work${slash}b, https://x.org${slash}work${slash}, work/, net${slash}tmp-file`,
      ],
    ]);
    expect(textViolations(text)).toEqual([
      `a.md:2: path of one machine: ${slash}work${slash}`,
      "b.md:1: host of a package registry: " + ["registry", "npmjs"].join("."),
      "c.ts:1: unfinished work: TO" + "DO",
      "d.ts:1: switched-off check: eslint-" + "disable",
      `e.md:1: access key: ${key}`,
    ]);
  });

  test("settings of functions", () => {
    const tree = new Map([
      ["functions/shared/settings.ts", "export const a = { batchSize: 500 };"],
      ["test/a.test.ts", "start({ batchSize: 2 });"],
      ["bench/a.ts", "start({ windowMs: 1_000 }); const timeLimitMs = 60_000;"],
      ["bench/b.ts", "start({ windowMs: seconds * 1_000, remainingMs: () => 5 });"],
      [
        "bench/c.ts",
        'const x = { windowMs: { value: 0, because: "it is a bench, nobody waits" } };',
      ],
      ["bench/d.ts", 'const because = "why"; const x = { windowMs: { value: 0, because } };'],
    ]);
    expect(settingViolations(tree)).toEqual([
      "bench/a.ts: states windowMs, which is in functions/shared/settings.ts",
      "bench/a.ts: states timeLimitMs, which is in functions/shared/settings.ts",
      "bench/b.ts: states remainingMs, which is in functions/shared/settings.ts",
      "bench/d.ts: a setting is changed without a reason: { value: 0, because }",
    ]);
  });

  test("bounds", () => {
    const tree = new Map([
      ["core/limits.ts", "export const keysMax = 10;"],
      ["core/a.ts", "const bytesMax = 4 * 1024; const headMax = limits.keysMax + 2;"],
      ["engine/b.ts", "class B { readonly #readTries = 12; } const installPatienceMs = (9_000);"],
      ["engine/c.ts", "const pauseMsMax = 200; let tries = 0; const x = { recordsMax: 1 };"],
      [
        "engine/d.ts",
        "while (tries < 8) tries += 1; if (tries < limits.keysMax || 3 >= deaths) f();",
      ],
      ["schemas/e.ts", "z.string().max(255); z.string().max(keysMax); Math.max(5, n);"],
      ["sdk/f.ts", "const check = integerIn({ min: 5, max: 100 });"],
      ["aws/g.ts", "const widthMax = 7;"],
      ["testing/h.ts", "const shardsMax = 7;"],
      ["expressions/limits.ts", "export const nestingMax = 300;"],
      ...["expressions", "native", "commands", "client"].map((layer): [string, string] => [
        `${layer}/i.ts`,
        "const partsMax = 7;",
      ]),
    ]);
    const excepted = new Map([
      ["aws/g.ts widthMax", "the width of a field"],
      ["aws/g.ts goneMax", "was taken away"],
    ]);
    expect(boundViolations(tree, excepted)).toEqual([
      "core/a.ts: states bytesMax, a bound: core/limits.ts",
      "engine/b.ts: states readTries, a bound: core/limits.ts",
      "engine/b.ts: states installPatienceMs, a bound: core/limits.ts",
      "engine/d.ts: states tries < 8, a bound: core/limits.ts",
      "engine/d.ts: states 3 >= deaths, a bound: core/limits.ts",
      "schemas/e.ts: states max(255), a bound: core/limits.ts",
      "sdk/f.ts: states max, a bound: core/limits.ts",
      "expressions/i.ts: states partsMax, a bound: core/limits.ts",
      "native/i.ts: states partsMax, a bound: core/limits.ts",
      "commands/i.ts: states partsMax, a bound: core/limits.ts",
      "client/i.ts: states partsMax, a bound: core/limits.ts",
      "aws/g.ts goneMax: an exception that nothing needs",
    ]);
  });

  test("entries", () => {
    const both = (source: string) => {
      const at = (kind: string) => ({
        types: `./dist/${kind}/${source}.d.ts`,
        default: `./dist/${kind}/${source}.js`,
      });
      return { import: at("esm"), require: at("cjs") };
    };
    const manifest = {
      exports: { ".": both("sdk/index"), "./a": both("sdk/b"), "./package.json": "./package.json" },
      typesVersions: { "*": { a: ["./dist/cjs/sdk/a.d.ts"], gone: ["./dist/cjs/gone.d.ts"] } },
    };
    const tree = new Map([
      ["package.json", JSON.stringify(manifest)],
      ["tsconfig.sdk.json", JSON.stringify({ files: ["sdk/index.ts"] })],
    ]);
    const sources = { tidemark: "sdk/index.ts", "tidemark/a": "sdk/a.ts" };
    expect(entryViolations(tree, sources)).toEqual([
      "package.json: exports: ./a is not as scripts/public-api.ts has it",
      "package.json: typesVersions: gone is not as scripts/public-api.ts has it",
      "tsconfig.sdk.json: files: sdk/a.ts is not as scripts/public-api.ts has it",
    ]);
  });

  test("ports", () => {
    const tree = new Map([
      ["sdk/a.ts", "http://127.0.0.1:4600 http://127.0.0.1:4601"],
      ["test/a.ts", "http://127.0.0.1:4601"],
    ]);
    expect(portViolations(tree, 4600)).toEqual([
      "sdk/a.ts: 127.0.0.1:4601, and the API listens at 4600",
    ]);
  });

  test("width", () => {
    const full = "é".repeat(100);
    const over = `${full}x`;
    const text = new Map([
      ["a.ts", `${full}\n${over}\nend`],
      ["b.md", `| ${full} |\n\`\`\`\n${over}\n\`\`\`\n${over}`],
      ["c.yaml", `# see https://example.org/${full}\n# ${full} https://example.org`],
      ["d.json", over],
      [".ci/run", over],
      ["e.tf", over],
      ["f.tftest.hcl", over],
    ]);
    expect(widthViolations(text)).toEqual([
      "a.ts:2: 101 columns",
      "b.md:5: 101 columns",
      "c.yaml:2: 122 columns",
      ".ci/run:1: 101 columns",
      "e.tf:1: 101 columns",
      "f.tftest.hcl:1: 101 columns",
    ]);
  });

  test("references", () => {
    const chapter = (reference: string): string => `docs/protocol${reference}`;
    const tree = new Map([
      [
        chapter(".md"),
        "# P\n## 1. Stores, names\n### Two words\n## 2. Time\n(section 2) (section 7)",
      ],
      ["core/a.ts", "/**\n * core/b.ts, core/*.ts, src/b.ts\n */\nconst x = 'core/c.ts';"],
      ["core/d.ts", `// ${chapter(".md")} §1, Two\n// words; ${chapter(".md")} §2 and §3`],
      ["core/e.ts", `// ${chapter(".md")} §1, Three words.\n// as in the\n// design`],
      [
        "README.md",
        "[a](core/a.ts) [b](core) [c](docs/protocol.md#1-stores-names) [d](https://x.org/y)\n" +
          "[e](core/b.ts) [f](docs/protocol.md#3-more) `core/g.ts`\n```\n[h](no) core/i.ts\n```\n" +
          "`core/` `core/gone/` `core/old.trace` `mine/x/` `theOld()` `theLimit` `TheLimit`",
      ],
    ]);
    expect(linkViolations(tree)).toEqual([
      "README.md: no file for the link core/b.ts",
      "README.md: no heading for the link docs/protocol.md#3-more",
    ]);
    expect(mentionViolations(tree)).toEqual([
      "core/a.ts: no file core/b.ts",
      "README.md: no file core/b.ts",
      "README.md: no file core/g.ts",
      "README.md: no file core/gone/",
      "README.md: no file core/old.trace",
    ]);
    const named = new Map([...tree, ["core/limits.ts", "export const theLimit = 1;"]]);
    expect(termViolations(named)).toEqual([
      "README.md: no code has theOld",
      "README.md: no code has TheLimit",
    ]);
    expect(sectionViolations(tree)).toEqual([
      `${chapter(".md")}: ${chapter(".md")} has no section 7`,
      `core/d.ts: ${chapter(".md")} has no section 3`,
      `core/e.ts: ${chapter(".md")} §1 has no heading Three words`,
    ]);
    const table = "| **I1** | dense | `core/a.ts` (fold), `core/b.ts` |";
    const invariants = new Map([
      [chapter(".md"), table],
      ["core/a.ts", 'assert(x, "I1: dense");'],
      ["core/b.ts", 'assert(\n  f(x),\n  "I12: unheard of",\n);'],
    ]);
    expect(invariantViolations(invariants)).toEqual([
      `${chapter(".md")}: core/b.ts does not speak of I1`,
      "core/b.ts: asserts I12, which no table has",
    ]);
    const commands = new Map([["a.md", "`npm run sim -- --seeds 1`\n```\nnpm run sin\n```"]]);
    expect(commandViolations(commands, new Set(["sim"]))).toEqual([
      "a.md: no script for npm run sin",
    ]);
    expect(outsideViolations(tree)).toEqual([
      "core/e.ts: refers to a document outside of the repository: as in the design",
    ]);
  });
});
