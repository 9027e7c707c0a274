/** Every public function and method has an example, and each example compiles. */
import { join } from "node:path";
import ts from "typescript";
import { beforeAll, describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import {
  compilerOptions,
  entrySources,
  publicApi,
  type Callable,
} from "../../scripts/public-api.ts";
import type * as Prelude from "./example-prelude.ts";

/** Its names come from its file: no example imports it by hand. */
const samplePrelude: keyof typeof Prelude = "db";

const root = join(import.meta.dirname, "..", "..");
const prelude = join(import.meta.dirname, "example-prelude.ts");

/** What a program gets that imports all entries, and what the prelude adds to it. */
function namesOf(program: ts.Program): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const checker = program.getTypeChecker();
  for (const [entry, path] of [["prelude", prelude], ...Object.entries(entrySources)] as const) {
    const source = program.getSourceFile(entry === "prelude" ? prelude : join(root, path));
    const module = source && checker.getSymbolAtLocation(source);
    for (const { name } of module === undefined ? [] : checker.getExportsOfModule(module)) {
      if (!names.has(name)) names.set(name, entry === "prelude" ? prelude : join(root, path));
    }
  }
  if (!names.has(samplePrelude)) throw new Error("the prelude is empty");
  return names;
}

/** An example as a module: what it uses is imported, unless it declares or imports it itself. */
function moduleOf(example: string, names: ReadonlyMap<string, string>): string {
  const lines = example.split("\n");
  const isImport = (line: string): boolean => line.startsWith("import ");
  const imports = lines.filter(isImport);
  const body = lines.filter((line) => !isImport(line)).map((line) => line.replace(/^export /u, ""));
  const text = body.join("\n").replace(/^default /mu, "");
  const mentioned = new Set(Array.from(text.matchAll(/\b[A-Za-z]\w*/gu), ([word]) => word));
  const own = new Set(Array.from(imports.join("\n").matchAll(/\b[A-Za-z]\w*/gu), ([word]) => word));
  const needed = [...names].filter(([name]) => mentioned.has(name) && !own.has(name));
  return [
    ...needed.map(([name, path]) => `import { ${name} } from ${JSON.stringify(path)};`),
    ...imports,
    `export async function example() {\n${text}\n}`,
  ].join("\n");
}

/** What the compiler says of each, as a program of its own. */
function complaintsOf(examples: ReadonlyMap<string, string>): readonly string[] {
  const paths = Object.fromEntries(
    Object.entries(entrySources).map(([entry, path]) => [entry, [join(root, path)]]),
  );
  const options: ts.CompilerOptions = {
    ...compilerOptions(),
    ...{ paths, noEmit: true, verbatimModuleSyntax: false, isolatedModules: false },
    ...{
      noUnusedLocals: false,
      rewriteRelativeImportExtensions: false,
      noPropertyAccessFromIndexSignature: false,
    },
  };
  const sources = Object.values(entrySources).map((path) => join(root, path));
  // Both programs are mostly of the same files, which are read once.
  const read = new Map<string, ts.SourceFile | undefined>();
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists, getSourceFile } = host;
  host.getSourceFile = (path, ...rest) => {
    if (!read.has(path)) read.set(path, getSourceFile(path, ...rest));
    return read.get(path);
  };
  const names = namesOf(ts.createProgram([prelude, ...sources], options, host));
  const files = new Map(
    [...examples].map(([name, text], i) => {
      const path = join(import.meta.dirname, `example-${i}.ts`);
      return [path, { name, text: moduleOf(text, names) }];
    }),
  );
  const { getSourceFile: getShared } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path)?.text ?? readFile(path);
  host.getSourceFile = (path, language, ...rest) => {
    const text = files.get(path)?.text;
    return text === undefined
      ? getShared(path, language, ...rest)
      : ts.createSourceFile(path, text, language, true);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files].flatMap(([path, { name }]) => {
    const source = program.getSourceFile(path);
    const found = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ];
    return found.map(
      (each) => `${name}: ${ts.flattenDiagnosticMessageText(each.messageText, " ")}`,
    );
  });
}

let api: readonly Callable[];
beforeAll(() => {
  api = publicApi();
});

describe("the API reference", () => {
  test("is of all entries of the package", () => {
    const exported = Object.keys(packageJson.exports).filter((name) => name !== "./package.json");
    expect(Object.keys(entrySources).sort()).toEqual(
      exported.map((name) => name.replace(/^\./u, "tidemark")).sort(),
    );
    const names = api.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(70);
    expect(names).toEqual(
      expect.arrayContaining(["tidemark: Client.transact", "tidemark/otel: otelSpans"]),
    );
  });

  test("has an example at every function and method", () => {
    const without = api.filter(({ examples }) => examples.length === 0);
    expect(without.map(({ name, place }) => `${place}: ${name}`)).toEqual([]);
  });

  test("has examples that compile, and a compiler that really looks", () => {
    const examples = api.flatMap(({ name, place, examples }) =>
      examples.map((text, i): [string, string] => [`${place}: ${name}, ${i + 1}`, text]),
    );
    const wrong: readonly [string, string][] = [
      ["wrong call", "await db.transct(async (tx) => tx.get(accounts, 'ann'));"],
      ["wrong type", "tx.put(accounts, { id: 7, balanceCents: 1 });"],
      ["wrong entry", 'import { nothing } from "tidemark/otel";\nnothing();'],
    ];
    const complaints = complaintsOf(new Map([...examples, ...wrong]));
    expect(complaints.filter((text) => !text.startsWith("wrong "))).toEqual([]);
    const found = complaints.map((text) => text.split(":")[0]);
    expect([...new Set(found)]).toEqual(wrong.map(([name]) => name));
  }, 180_000);
});
