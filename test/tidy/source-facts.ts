/**
 * What the tidy rules need to know of a TypeScript file, read from its syntax tree, so that words
 * in comments and strings count for nothing.
 */
import { dirname, join, normalize } from "node:path/posix";
import ts from "typescript";

/** Path relative to the repository, with forward slashes → text. */
export type Tree = ReadonlyMap<string, string>;

export type Import = {
  readonly specifier: string;
  /** The path in the repository, for a relative import. */
  readonly target: string | undefined;
  /** What is taken of it; undefined: the module as a whole. */
  readonly names: readonly string[] | undefined;
  /** Whether it comes when it is asked for: `await import("…")`. */
  readonly onDemand: boolean;
};

/** A function, class, variable or type that other files may import. */
export type Export = {
  readonly name: string;
  readonly isType: boolean;
  /** Its own file uses it as well. */
  readonly usedHere: boolean;
};

export type SourceFacts = {
  readonly path: string;
  /** The top-level folder; empty for a file at the root. */
  readonly layer: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  readonly exports: readonly Export[];
  /** Statements of the form `export … from`. */
  readonly reExports: number;
  readonly statements: number;
  /** Uses of clock, timers, randomness, environment or console, as written. */
  readonly ambient: readonly string[];
  /** `async`, `await` and dynamic imports. */
  readonly asynchronous: readonly string[];
  /** Enums, default exports, `export =` and namespaces. */
  readonly bannedSyntax: readonly string[];
  /** The names x of all `limits.x`. */
  readonly limitsUsed: readonly string[];
  /** Calls such as `test.skip` and `describe.only`. */
  readonly testModifiers: readonly string[];
};

const ambientGlobals = new Set([
  "setTimeout",
  "setInterval",
  "setImmediate",
  "performance",
  "globalThis",
  "process",
  "console",
  "crypto",
]);
const ambientCalls = new Set(["Date.now", "Math.random"]);
const testFunctions = new Set(["test", "it", "describe", "suite"]);
const testModifiers = new Set(["skip", "only", "todo", "skipIf", "runIf", "fails"]);

/** Whether an identifier is a use of the global, not a property, a declaration or a type's key. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isExpression(parent)) return !ts.isObjectLiteralExpression(parent);
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) {
    return parent.initializer === node;
  }
  return ts.isShorthandPropertyAssignment(parent) || ts.isStatement(parent);
}

function specifierOf(node: ts.Node): string | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    const from = node.moduleSpecifier;
    return from !== undefined && ts.isStringLiteral(from) ? from.text : undefined;
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const from = node.arguments[0];
    return from !== undefined && ts.isStringLiteralLike(from) ? from.text : undefined;
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    const { literal } = node.argument;
    return ts.isStringLiteral(literal) ? literal.text : undefined;
  }
  return undefined;
}

/** Names in the module that is imported, whatever they are called here. */
function namesTaken(node: ts.Node): readonly string[] | undefined {
  if (ts.isImportTypeNode(node)) {
    return node.qualifier === undefined ? undefined : [node.qualifier.getText()];
  }
  if (!ts.isImportDeclaration(node) && !ts.isExportDeclaration(node)) return undefined;
  const clause = ts.isImportDeclaration(node)
    ? node.importClause?.namedBindings
    : node.exportClause;
  if (clause === undefined || !("elements" in clause)) return undefined;
  return clause.elements.map((each) => (each.propertyName ?? each.name).text);
}

function exportsOf(source: ts.SourceFile): readonly Export[] {
  const uses = new Map<string, number>();
  const count = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) uses.set(node.text, (uses.get(node.text) ?? 0) + 1);
    ts.forEachChild(node, count);
  };
  count(source);
  return source.statements.filter(isExported).flatMap((node) => {
    const isType = ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node);
    const named = ts.isVariableStatement(node) ? node.declarationList.declarations : [node];
    return named
      .map((each) => ("name" in each && ts.isIdentifier(each.name) ? each.name.text : ""))
      .filter((name) => name !== "")
      .map((name) => ({ name, isType, usedHere: (uses.get(name) ?? 0) > 1 }));
  });
}

function isExported(node: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(node) ? ts.getModifiers(node) : undefined;
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

/** The ambient input that this node reads, if it reads any. */
function ambientUse(node: ts.Node): string | undefined {
  if (ts.isNewExpression(node) && node.expression.getText() === "Date") {
    return (node.arguments?.length ?? 0) === 0 ? "new Date()" : undefined;
  }
  if (ts.isPropertyAccessExpression(node)) {
    const text = node.getText();
    return ambientCalls.has(text) ? text : undefined;
  }
  const isGlobal = ts.isIdentifier(node) && ambientGlobals.has(node.text) && isReference(node);
  return isGlobal && !isBoundAround(node) ? node.text : undefined;
}

/**
 * Whether a function around this node has a parameter or variable of that name, which hides the
 * global.
 */
function isBoundAround(node: ts.Identifier): boolean {
  const binds = (at: ts.Node): boolean => {
    const declares = ts.isParameter(at) || ts.isVariableDeclaration(at) || ts.isBindingElement(at);
    if (declares && ts.isIdentifier(at.name) && at.name.text === node.text) return true;
    return ts.forEachChild(at, binds) ?? false;
  };
  for (let at: ts.Node = node.parent; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isFunctionLike(at) && binds(at)) return true;
  }
  return false;
}

function asynchronousUse(node: ts.Node): string | undefined {
  if (node.kind === ts.SyntaxKind.AsyncKeyword) return "async";
  if (ts.isAwaitExpression(node)) return "await";
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return "import()";
  }
  return undefined;
}

function bannedUse(node: ts.Node): string | undefined {
  if (ts.isEnumDeclaration(node)) return "enum";
  if (ts.isExportAssignment(node)) return "default export";
  if (node.kind === ts.SyntaxKind.DefaultKeyword && !ts.isDefaultClause(node.parent)) {
    return "default export";
  }
  // `declare module "x"` types an untyped package; a namespace is ours to avoid.
  return ts.isModuleDeclaration(node) && ts.isIdentifier(node.name) ? "namespace" : undefined;
}

function modifierUse(node: ts.Node): string | undefined {
  if (!ts.isPropertyAccessExpression(node) || !ts.isIdentifier(node.expression)) return undefined;
  const banned = testFunctions.has(node.expression.text) && testModifiers.has(node.name.text);
  return banned ? node.getText() : undefined;
}

/** Entries of `limits` that this node names, by access or by destructuring. */
function limitsNamed(node: ts.Node): string[] {
  if (ts.isPropertyAccessExpression(node)) {
    return node.expression.getText() === "limits" ? [node.name.text] : [];
  }
  if (!ts.isVariableDeclaration(node) || node.initializer?.getText() !== "limits") return [];
  if (!ts.isObjectBindingPattern(node.name)) return [];
  return node.name.elements.map((element) => (element.propertyName ?? element.name).getText());
}

/** Reads one file. */
export function factsOf(path: string, text: string): SourceFacts {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const imports: Import[] = [];
  const ambient: string[] = [];
  const asynchronous: string[] = [];
  const bannedSyntax: string[] = [];
  const limitsUsed: string[] = [];
  const modifiers: string[] = [];
  const push = (into: string[], value: string | undefined): void => {
    if (value !== undefined) into.push(value);
  };
  const visit = (node: ts.Node): void => {
    const specifier = specifierOf(node);
    if (specifier !== undefined) {
      const target = specifier.startsWith(".")
        ? normalize(join(dirname(path), specifier))
        : undefined;
      const onDemand = ts.isCallExpression(node);
      imports.push({ specifier, target, names: namesTaken(node), onDemand });
    }
    push(ambient, ambientUse(node));
    push(asynchronous, asynchronousUse(node));
    push(bannedSyntax, bannedUse(node));
    push(modifiers, modifierUse(node));
    limitsUsed.push(...limitsNamed(node));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return {
    path,
    layer: path.includes("/") ? path.slice(0, path.indexOf("/")) : "",
    lines: text.split("\n").length - (text.endsWith("\n") ? 1 : 0),
    imports,
    exports: exportsOf(source),
    reExports: source.statements.filter(
      (node) => ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined,
    ).length,
    statements: source.statements.filter((node) => !ts.isImportDeclaration(node)).length,
    ambient,
    asynchronous,
    bannedSyntax,
    limitsUsed,
    testModifiers: modifiers,
  };
}
