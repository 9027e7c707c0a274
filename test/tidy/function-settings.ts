/**
 * How functions run is stated in one table (functions/shared/settings.ts). This finds a setting
 * that some other file states, and a change of one that does not say why.
 */
import ts from "typescript";
import type { Tree } from "./source-facts.ts";

const table = "functions/shared/settings.ts";
const settings = new Set([
  ...["batchSize", "windowMs", "windowSeconds", "partialBatchResponse", "enhancedFanOut"],
  ...["parallelizationFactor", "bisect", "retriesMax", "recordAgeSecondsMax", "startingPosition"],
  ...["memoryMb", "timeoutSeconds", "timeLimitMs", "functionTimeLimitMs", "invocationMsMax"],
  ...["remainingMs", "everyMs", "everyMinutes", "schedule", "eventAgeSecondsMax"],
  ...["BatchSize", "MaximumBatchingWindowInSeconds", "ParallelizationFactor", "StartingPosition"],
  ...["BisectBatchOnFunctionError", "MaximumRetryAttempts", "MaximumRecordAgeInSeconds"],
  ...["MemorySize", "Timeout", "ScheduleExpression"],
]);
/** Shorter texts give no reason. */
const reasonLengthMin = 20;

/** Tests of a mapping, a host or a service try settings out; what they run is not a deployment. */
function isFree(path: string): boolean {
  return (
    path === table || path.endsWith(".test.ts") || /^test\/(?:embedded\/fixtures|tidy)\//.test(path)
  );
}

export function settingViolations(tree: Tree): string[] {
  const found: string[] = [];
  for (const [path, text] of tree) {
    if (!path.endsWith(".ts") || isFree(path)) continue;
    const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
    const visit = (node: ts.Node): void => {
      const stated = statedSetting(node);
      if (stated !== undefined) found.push(`${path}: states ${stated}, which is in ${table}`);
      if (isChange(node) && !hasReason(node, source)) {
        found.push(`${path}: a setting is changed without a reason: ${node.getText()}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}

/** The setting's name, where this node gives it a value of its own. */
function statedSetting(node: ts.Node): string | undefined {
  if (!ts.isPropertyAssignment(node) && !ts.isVariableDeclaration(node)) return undefined;
  const name = ts.isIdentifier(node.name) ? node.name.text : "";
  if (!settings.has(name) || node.initializer === undefined) return undefined;
  return statesValue(node.initializer) ? name : undefined;
}

/** Literals count; what is asked of the table, and a change with its reason, do not. */
function statesValue(node: ts.Node): boolean {
  if (isChange(node)) return false;
  if (ts.isCallExpression(node)) return false;
  if (ts.isArrowFunction(node)) return statesValue(node.body);
  // Units are converted by factors.
  if (ts.isBinaryExpression(node)) return statesValue(node.left) && statesValue(node.right);
  if (ts.isPrefixUnaryExpression(node)) return statesValue(node.operand);
  const words = [ts.SyntaxKind.TrueKeyword, ts.SyntaxKind.FalseKeyword];
  return ts.isNumericLiteral(node) || ts.isStringLiteralLike(node) || words.includes(node.kind);
}

function isChange(node: ts.Node): node is ts.ObjectLiteralExpression {
  if (!ts.isObjectLiteralExpression(node)) return false;
  const names = node.properties.map((property) => property.name?.getText());
  return names.length === 2 && names.includes("value") && names.includes("because");
}

function hasReason(node: ts.ObjectLiteralExpression, source: ts.SourceFile): boolean {
  const because = node.properties.find((property) => property.name?.getText() === "because");
  if (because === undefined) return false;
  if (ts.isPropertyAssignment(because)) return isReason(because.initializer);
  // `{ value, because }`: a reason that several changes share stands in a constant above them.
  return source.statements.some(
    (statement) =>
      ts.isVariableStatement(statement) &&
      statement.declarationList.declarations.some(
        ({ name, initializer }) => name.getText() === "because" && isReason(initializer),
      ),
  );
}

function isReason(node: ts.Expression | undefined): boolean {
  return node !== undefined && ts.isStringLiteralLike(node) && node.text.length >= reasonLengthMin;
}
