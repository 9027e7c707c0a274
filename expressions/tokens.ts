/** The words of an expression. */
import { invalid } from "./refusals.ts";
import { expressionBytesMax } from "./limits.ts";

export type Token = {
  readonly kind: "word" | "name" | "value" | "number" | "symbol" | "end";
  readonly text: string;
  readonly at: number;
};

/** The kinds of expressions, as the service names them in its messages. */
export type ExpressionKind =
  | "ConditionExpression"
  | "FilterExpression"
  | "KeyConditionExpression"
  | "ProjectionExpression"
  | "UpdateExpression";

const pattern = new RegExp(
  [
    /\s+/,
    /([A-Za-z][A-Za-z0-9_]*)/,
    /(#[A-Za-z0-9_]+)/,
    /(:[A-Za-z0-9_]+)/,
    /([0-9]+)/,
    /(<>|<=|>=|[=<>()[\],.+-])/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gy",
);

/** The last token is of kind `end`. @throws ServiceError for characters that no expression has. */
export function tokensOf(kind: ExpressionKind, text: string): readonly Token[] {
  if (text === "") throw invalidExpression(kind, "The expression can not be empty;");
  if (text.length > expressionBytesMax) {
    throw invalidExpression(
      kind,
      "Expression size has exceeded the maximum allowed size; expression size: " +
        text.length.toString(),
    );
  }
  const tokens: Token[] = [];
  pattern.lastIndex = 0;
  while (pattern.lastIndex < text.length) {
    const at = pattern.lastIndex;
    const match = pattern.exec(text);
    if (match === null) throw syntaxError(kind, text, { at, text: text.charAt(at) });
    const [whole, word, name, value, number, symbol] = match;
    if (word !== undefined) tokens.push({ kind: "word", text: word, at });
    else if (name !== undefined) tokens.push({ kind: "name", text: name, at });
    else if (value !== undefined) tokens.push({ kind: "value", text: value, at });
    else if (number !== undefined) tokens.push({ kind: "number", text: number, at });
    else if (symbol !== undefined) tokens.push({ kind: "symbol", text: whole, at });
  }
  tokens.push({ kind: "end", text: "<EOF>", at: text.length });
  return tokens;
}

export function syntaxError(
  kind: ExpressionKind,
  text: string,
  token: Pick<Token, "at" | "text">,
): Error {
  const near = text.slice(Math.max(0, token.at - 10), token.at + token.text.length + 10);
  return invalidExpression(kind, `Syntax error; token: "${token.text}", near: "${near}"`);
}

export function invalidExpression(kind: ExpressionKind, detail: string): Error {
  return invalid(`Invalid ${kind}: ${detail}`);
}
