/**
 * Places of the product that mutants change. A comment `// mutant: some-name` on a line of its own
 * marks what stands below it, as it is parsed: the statement, property or expression that begins
 * there. So a mutant goes on to fit when the line is written in another way, and whoever changes
 * the line sees what it must not lose.
 */
import ts from "typescript";
import type { Edit } from "./mutant.ts";

const markPattern = /^[ \t]*\/\/ mutant: ([a-z0-9-]+)$/gmu;

type Mark = { readonly name: string; readonly at: number };

/** A mark that marks nothing, or an edit that does not fit what is marked. */
export class MutantError extends Error {
  override readonly name = "MutantError";
}

/** The marks of a file, in their order. */
export function marksIn(text: string): readonly Mark[] {
  return Array.from(text.matchAll(markPattern), (match) => ({
    name: match[1] ?? "",
    at: match.index + match[0].indexOf("//"),
  }));
}

/**
 * The file's text with the edits made at the marks that they name.
 * @throws MutantError
 */
export function edited(file: string, text: string, edits: ReadonlyMap<string, Edit>): string {
  const marks = marksIn(text).filter(({ name }) => edits.has(name));
  if (marks.length === 0) return text;
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true);
  let result = text;
  // From the last to the first, so that the positions of those to come stay true.
  for (const mark of marks.toReversed()) {
    const edit = edits.get(mark.name);
    const node = nodeBelow(source, mark.at);
    if (edit === undefined || node === undefined) {
      throw new MutantError(`${file}: nothing stands below the mark ${mark.name}`);
    }
    const change = changeOf(node, edit);
    if (change === undefined) {
      throw new MutantError(`${file}: what stands below ${mark.name} has no ${edit.kind}`);
    }
    result = result.slice(0, change.from) + change.text + result.slice(change.to);
  }
  return result;
}

/** The outermost piece of syntax that the comment stands directly before. */
function nodeBelow(source: ts.SourceFile, at: number): ts.Node | undefined {
  const visit = (node: ts.Node): ts.Node | undefined => {
    if (at < node.pos || at >= node.end) return undefined;
    if (node !== source && at < node.getStart(source)) return node;
    return ts.forEachChild(node, visit);
  };
  return visit(source);
}

type Change = { readonly from: number; readonly to: number; readonly text: string };

function changeOf(node: ts.Node, edit: Edit): Change | undefined {
  const replaced = (place: ts.Node, text: string): Change => ({
    from: place.getStart(),
    to: place.end,
    text,
  });
  switch (edit.kind) {
    case "omitted":
      if (ts.isStatement(node)) return replaced(node, ";");
      return ts.isPropertyAssignment(node) ? replaced(node, "...{}") : undefined;
    case "preceded":
      return ts.isStatement(node)
        ? replaced(node, `${edit.statement}\n${node.getText()}`)
        : undefined;
    case "condition": {
      const condition = conditionOf(node);
      return condition === undefined ? undefined : replaced(condition, edit.condition);
    }
    case "value": {
      const value = valueOf(node);
      return value === undefined ? undefined : replaced(value, edit.value(value.getText()));
    }
  }
}

function conditionOf(node: ts.Node): ts.Node | undefined {
  if (ts.isIfStatement(node)) return node.expression;
  const value = valueOf(node);
  return value !== undefined && ts.isConditionalExpression(value) ? value.condition : undefined;
}

function valueOf(node: ts.Node): ts.Node | undefined {
  if (ts.isIfStatement(node)) return node.thenStatement;
  if (ts.isVariableStatement(node)) return node.declarationList.declarations[0]?.initializer;
  if (ts.isPropertyAssignment(node) || ts.isPropertyDeclaration(node)) return node.initializer;
  if (ts.isReturnStatement(node) || ts.isThrowStatement(node)) return node.expression;
  if (ts.isExpressionStatement(node)) return assigned(node.expression) ?? node.expression;
  return ts.isExpression(node) ? node : undefined;
}

function assigned(node: ts.Expression): ts.Expression | undefined {
  if (!ts.isBinaryExpression(node)) return undefined;
  return node.operatorToken.kind === ts.SyntaxKind.EqualsToken ? node.right : undefined;
}
