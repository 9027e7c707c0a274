/**
 * What the package's entries let users call: exported functions, and methods of exported types and
 * classes that the package makes; with the examples in their comments.
 */
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Each entry's source, by the name that users import. */
export const entrySources: Readonly<Record<string, string>> = {
  tidemark: "sdk/index.ts",
  "tidemark/client": "client/index.ts",
  "tidemark/config": "sdk/config.ts",
  "tidemark/emf": "sdk/emf.ts",
  "tidemark/native": "native/index.ts",
  "tidemark/otel": "sdk/otel.ts",
  "tidemark/tables": "sdk/tables.ts",
  "tidemark/testing": "testing/index.ts",
};

export type Callable = {
  /** Such as `tidemark: Client.transact`. */
  readonly name: string;
  /** Where it stands: `sdk/client.ts:58`. */
  readonly place: string;
  /** Code of its examples, without fences. */
  readonly examples: readonly string[];
};

/** Options of the compiler as the clone has them. */
export function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), (path) =>
    ts.sys.readFile(path),
  ) as { readonly config: unknown };
  return ts.parseJsonConfigFileContent(config, ts.sys, root).options;
}

/** Types that users write themselves, or hand on: they call no method of theirs. */
const writtenByUsers = new Set([
  ...["Clock", "Random", "Validator", "FenceClearing", "SendingClient"],
  // Called by the AWS SDK, and by `tx.send`.
  ...["CommandPlugin", "NativePlugin", "SdkClient", "SdkCommand"],
]);

export function publicApi(): readonly Callable[] {
  const files = Object.values(entrySources).map((path) => join(root, path));
  const program = ts.createProgram(files, compilerOptions());
  const checker = program.getTypeChecker();
  const seen = new Set<ts.Node>();
  const found: Callable[] = [];
  const add = (name: string, declarations: readonly ts.Declaration[]): void => {
    const [first] = declarations;
    if (first === undefined || seen.has(first)) return;
    seen.add(first);
    const examples = declarations.flatMap((each) => examplesOf(each));
    found.push({ name, place: placeOf(first), examples });
  };
  for (const [entry, path] of Object.entries(entrySources)) {
    const source = program.getSourceFile(join(root, path));
    const module = source && checker.getSymbolAtLocation(source);
    if (module === undefined) throw new Error(`${path} is no module`);
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol =
        (exported.flags & ts.SymbolFlags.Alias) === 0
          ? exported
          : checker.getAliasedSymbol(exported);
      const declarations = symbol.declarations ?? [];
      if ((symbol.flags & ts.SymbolFlags.Function) !== 0) {
        add(`${entry}: ${exported.name}`, declarations.filter(isSignature));
        continue;
      }
      if (writtenByUsers.has(exported.name)) continue;
      for (const [method, signatures] of methodsOf(declarations)) {
        add(`${entry}: ${exported.name}.${method}`, signatures);
      }
    }
  }
  return found;
}

/** Of overloads the ones that callers see. */
function isSignature(node: ts.Declaration, _: number, all: readonly ts.Declaration[]): boolean {
  return ts.isFunctionDeclaration(node) && (node.body === undefined || all.length === 1);
}

/** By name, with their overloads; of a class without its private ones. */
function methodsOf(
  declarations: readonly ts.Declaration[],
): ReadonlyMap<string, readonly ts.Declaration[]> {
  const methods = new Map<string, ts.Declaration[]>();
  const visit = (node: ts.Node): void => {
    if (ts.isMethodSignature(node) || ts.isMethodDeclaration(node)) {
      const isHidden =
        ts.isPrivateIdentifier(node.name) ||
        ts.isComputedPropertyName(node.name) ||
        (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private) !== 0 ||
        ts.getJSDocTags(node).some((tag) => tag.tagName.text === "internal");
      const name = node.name.getText();
      if (!isHidden) methods.set(name, [...(methods.get(name) ?? []), node]);
    } else if (ts.isTypeNode(node) || ts.isTypeAliasDeclaration(node) || ts.isClassLike(node)) {
      ts.forEachChild(node, visit);
    }
  };
  for (const declaration of declarations) {
    if (ts.isTypeAliasDeclaration(declaration) || ts.isClassDeclaration(declaration)) {
      visit(declaration);
    }
  }
  return methods;
}

function examplesOf(declaration: ts.Declaration): readonly string[] {
  return ts
    .getJSDocTags(declaration)
    .filter((tag) => tag.tagName.text === "example")
    .map((tag) => ts.getTextOfJSDocComment(tag.comment) ?? "")
    .map((text) => /```ts\n(.*?)\n```/su.exec(text)?.[1] ?? text);
}

function placeOf(node: ts.Node): string {
  const source = node.getSourceFile();
  const { line } = source.getLineAndCharacterOfPosition(node.getStart());
  return `${relative(root, source.fileName)}:${line + 1}`;
}
