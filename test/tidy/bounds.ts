/**
 * Bounds have their name, and the reason for it, in core/limits.ts, where they can be related to
 * one another; those of a stack on one machine in localstack/limits.ts, of a look at a deployment
 * in inspection/limits.ts, of the command line in cli/limits.ts, of the console in
 * console/limits.ts, DynamoDB's of its requests in expressions/limits.ts and commands/limits.ts.
 * This finds numbers elsewhere in the product that bound something: constants and fields by their
 * name, a bare number given as the `max` of a check, and one that tries are counted against.
 * Nought and one need no name: they say that there is nothing, or nothing but one.
 */
import ts from "typescript";
import type { Tree } from "./source-facts.ts";

/**
 * `testing/` is left out: its stand-ins for AWS have limits of their own, so that a wrong idea of
 * AWS's limits in the product is found, and its faults have ranges, which bound nothing.
 */
const covered: ReadonlySet<string | undefined> = new Set([
  ...["core", "schemas", "expressions", "engine", "aws", "sdk", "native", "commands", "client"],
  ...["functions", "localstack", "inspection", "cli", "console"],
]);
const home = "core/limits.ts";
const homes: ReadonlySet<string> = new Set([
  home,
  "core/base-limits.ts",
  "core/chaining-limits.ts",
  "core/feed-limits.ts",
  "core/split-limits.ts",
  "core/native-limits.ts",
  "core/rest-limits.ts",
  "expressions/limits.ts",
  "commands/limits.ts",
  "localstack/limits.ts",
  "inspection/limits.ts",
  "cli/limits.ts",
  "console/limits.ts",
]);
/** How functions run has a table, and a rule, of its own (function-settings.ts). */
const settings = "functions/shared/settings.ts";

/** What a name that bounds ends in, whatever unit follows in it. */
const boundName =
  /(?:Max|Limit|Tries|Attempts|Patience|Grace|Timeout|Deadline|Default|Kept)(?:Ms|Seconds)?$/u;
/** A pace: what doubles, or is slept, between two looks. It changes nothing but how soon. */
const paceName = /(?:pause|poll|retry)Ms(?:Min|Max)$/iu;
/** What counts something that is done again. */
const countName = /(?:tries|attempts?|rounds?|failures|deaths)$/iu;

/** Names that sound like bounds and are none, or none of ours to choose. */
const exceptions: ReadonlyMap<string, string> = new Map([
  ["core/block-bytes.ts blockFrameBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts decisionBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts staleBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts checkCountBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts stampBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts votedBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts countedBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts partCountBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts partBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts busyBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts newRecordBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts sameRecordBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts writeCountBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts inlineLengthBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts simpleWriteBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts sortedWriteBytesMax", "follows from the format of blocks"],
  ["core/block-bytes.ts newTableBytesMax", "follows from the format of blocks"],
  ["schemas/log-block.ts sequenceBytesMax", "follows from the format of blocks"],
  ["schemas/commit-record.ts recordHeaderBytesMax", "follows from the format of records"],
  ["schemas/value-tags.ts shortLengthMax", "follows from the format of values"],
  ["schemas/transaction-id.ts firstWordMax", "follows from the format of ids"],
  ["core/certification-index.ts relativeMax", "the width of a field in the index"],
  ["core/certification-index.ts loadMax", "the share of a table at which it grows; no size"],
  ["schemas/payload-scan.ts pairwiseMax", "chooses the cheaper of two ways to the same answer"],
  ["schemas/rest/requests.ts max", "`between` has two ends"],
  ["engine/chaining/foreign-turns.ts looksPerPatience", "a pace, without a unit"],
  ["localstack/protocol-server.ts shardLimit", "what a stand-in for Kinesis is told to imitate"],
  ["localstack/stack-config.ts max", "the last port that there is"],
]);

export function boundViolations(tree: Tree, excepted = exceptions): string[] {
  const found: string[] = [];
  const met = new Set<string>();
  for (const [path, text] of tree) {
    if (
      !path.endsWith(".ts") ||
      !covered.has(path.split("/")[0]) ||
      homes.has(path) ||
      path === settings
    )
      continue;
    const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
    const visit = (node: ts.Node): void => {
      const name = statedBound(node);
      const known = `${path} ${name ?? ""}`;
      if (excepted.has(known)) met.add(known);
      else if (name !== undefined) found.push(`${path}: states ${name}, a bound: ${home}`);
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  for (const known of excepted.keys()) {
    if (!met.has(known)) found.push(`${known}: an exception that nothing needs`);
  }
  return found;
}

/** The name of the bound that this node gives a number to. */
function statedBound(node: ts.Node): string | undefined {
  if (ts.isCallExpression(node)) return boundOfSchema(node);
  if (ts.isBinaryExpression(node)) return boundOfCount(node);
  const declares =
    ts.isVariableDeclaration(node) ||
    ts.isPropertyAssignment(node) ||
    ts.isPropertyDeclaration(node) ||
    ts.isParameter(node) ||
    ts.isBindingElement(node);
  if (!declares || node.initializer === undefined || !isBound(node.initializer)) return undefined;
  const name = node.name.getText().replace(/^#/u, "");
  if (paceName.test(name)) return undefined;
  return name === "max" || boundName.test(name) ? name : undefined;
}

/** `z.string().max(255)`; not `Math.max(1, n)`. */
function boundOfSchema(node: ts.CallExpression): string | undefined {
  if (!ts.isPropertyAccessExpression(node.expression)) return undefined;
  const { name, expression } = node.expression;
  const [bound, ...rest] = node.arguments;
  if (name.text !== "max" || expression.getText() === "Math" || bound === undefined) {
    return undefined;
  }
  return rest.length === 0 && isBound(bound) ? `max(${bound.getText()})` : undefined;
}

/** `tries < 8`, either way round. */
function boundOfCount({ left, operatorToken, right }: ts.BinaryExpression): string | undefined {
  if (!/^[<>]=?$/u.test(operatorToken.getText())) return undefined;
  const isCount = countName.test(left.getText()) || countName.test(right.getText());
  if (!isCount || !(isBound(left) || isBound(right))) return undefined;
  return [left, operatorToken, right].map((part) => part.getText()).join(" ");
}

function isBound(node: ts.Node): boolean {
  return isNumber(node) && !/^-?[01]$/u.test(node.getText());
}

/**
 * Literals and what is worked out of them; with a named constant in it, it follows from that one.
 */
function isNumber(node: ts.Node): boolean {
  if (ts.isParenthesizedExpression(node)) return isNumber(node.expression);
  if (ts.isPrefixUnaryExpression(node)) return isNumber(node.operand);
  if (ts.isBinaryExpression(node)) return isNumber(node.left) && isNumber(node.right);
  return ts.isNumericLiteral(node);
}
