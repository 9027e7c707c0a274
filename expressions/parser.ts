/**
 * The grammar of condition, projection and update expressions. What depends on the placeholders'
 * meaning is checked later; here stands what depends on the text alone, and
 * so is done once for each text.
 */
import { ServiceError } from "./service-error.ts";
import {
  type ExpressionKind,
  invalidExpression,
  syntaxError,
  type Token,
  tokensOf,
} from "./tokens.ts";
import {
  type Comparator,
  comparators,
  type UpdateAction,
  updateActions,
  type WrittenCall,
  type WrittenCondition,
  type WrittenOperand,
  type WrittenPath,
  type WrittenStep,
  type WrittenUpdate,
} from "./tree.ts";
import { nestingMax, textsMax } from "./limits.ts";

const conditionFunctions: ReadonlySet<string> = new Set([
  ...["attribute_exists", "attribute_not_exists", "attribute_type"],
  ...["begins_with", "contains", "size"],
]);
const updateFunctions: ReadonlySet<string> = new Set(["if_not_exists", "list_append"]);

/** Remembers what a text parsed to, its error included. */
function remembering<Tree>(parse: (text: string, kind: ExpressionKind) => Tree) {
  const known = new Map<string, { readonly tree: Tree } | { readonly error: ServiceError }>();
  return (text: string, kind: ExpressionKind): Tree => {
    const key = `${kind} ${text}`;
    let result = known.get(key);
    if (result === undefined) {
      if (known.size >= textsMax) known.clear();
      try {
        result = { tree: parse(text, kind) };
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        result = { error };
      }
      known.set(key, result);
    }
    if ("tree" in result) return result.tree;
    throw new ServiceError(result.error.name, { message: result.error.message });
  };
}

export const parseCondition = remembering((text, kind): WrittenCondition => {
  const parser = new Parser(kind, text);
  const condition = parser.condition();
  parser.end();
  return condition;
});

export const parseProjection = remembering((text, kind): readonly WrittenPath[] => {
  const parser = new Parser(kind, text);
  const paths = parser.list(() => parser.path());
  parser.end();
  return paths;
});

export const parseUpdate = remembering((text, kind): readonly WrittenUpdate[] => {
  const parser = new Parser(kind, text);
  const updates = parser.updates();
  parser.end();
  return updates;
});

/** A parenthesis may hold a condition or an operand; which one is known only behind it. */
type Term =
  | { readonly kind: "condition"; readonly condition: WrittenCondition }
  | { readonly kind: "operand"; readonly operand: WrittenOperand; readonly at: Token };

class Parser {
  readonly #kind: ExpressionKind;
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #at = 0;
  #nesting = 0;

  constructor(kind: ExpressionKind, text: string) {
    this.#kind = kind;
    this.#text = text;
    this.#tokens = tokensOf(kind, text);
  }

  end(): void {
    if (this.#peek().kind !== "end") this.#fail();
  }

  condition(): WrittenCondition {
    return this.#asCondition(this.#or());
  }

  list<Element>(element: () => Element): readonly Element[] {
    const elements = [element()];
    while (this.#takeSymbol(",")) elements.push(element());
    return elements;
  }

  path(): WrittenPath {
    const steps: WrittenStep[] = [this.#pathName()];
    for (;;) {
      if (this.#takeSymbol(".")) {
        steps.push(this.#pathName());
      } else if (this.#takeSymbol("[")) {
        const token = this.#next();
        if (token.kind !== "number") this.#fail(token);
        steps.push({ kind: "index", index: Number(token.text) });
        this.#expectSymbol("]");
      } else {
        return { kind: "path", steps };
      }
    }
  }

  updates(): readonly WrittenUpdate[] {
    const updates: WrittenUpdate[] = [];
    const seen = new Set<string>();
    do {
      const token = this.#next();
      const action = updateActions.find((each) => each === token.text.toUpperCase());
      if (token.kind !== "word" || action === undefined) return this.#fail(token);
      if (seen.has(action)) {
        throw invalidExpression(
          this.#kind,
          `The "${action}" section can only be used once in an update expression;`,
        );
      }
      seen.add(action);
      updates.push(...this.list(() => this.#update(action)));
    } while (this.#peek().kind !== "end");
    return updates;
  }

  #update(action: UpdateAction): WrittenUpdate {
    const path = this.path();
    switch (action) {
      case "SET":
        this.#expectSymbol("=");
        return { action, path, operand: this.#sum() };
      case "REMOVE":
        return { action, path, operand: undefined };
      case "ADD":
      case "DELETE":
        return { action, path, operand: this.#plainValue() };
    }
  }

  #sum(): WrittenOperand {
    const left = this.#operand(updateFunctions);
    const operator = this.#takeSymbol("+") ? "+" : this.#takeSymbol("-") ? "-" : undefined;
    if (operator === undefined) return left;
    return { kind: "arithmetic", operator, left, right: this.#operand(updateFunctions) };
  }

  #plainValue(): WrittenOperand {
    const token = this.#next();
    if (token.kind !== "value") this.#fail(token);
    return { kind: "value", placeholder: token.text };
  }

  #or(): Term {
    let left = this.#and();
    while (this.#takeWord("OR")) {
      const condition = this.#asCondition(left);
      const right = this.#asCondition(this.#and());
      left = { kind: "condition", condition: { kind: "or", left: condition, right } };
    }
    return left;
  }

  #and(): Term {
    let left = this.#not();
    while (this.#takeWord("AND")) {
      const condition = this.#asCondition(left);
      const right = this.#asCondition(this.#not());
      left = { kind: "condition", condition: { kind: "and", left: condition, right } };
    }
    return left;
  }

  #not(): Term {
    if (!this.#takeWord("NOT")) return this.#comparison();
    const condition = this.#asCondition(this.#not());
    return { kind: "condition", condition: { kind: "not", condition } };
  }

  #comparison(): Term {
    const term = this.#primary();
    if (term.kind === "condition") return term;
    const token = this.#peek();
    const operator = comparators.find((each) => token.kind === "symbol" && each === token.text);
    if (operator !== undefined) return this.#compared(term.operand, operator);
    if (this.#takeWord("BETWEEN")) {
      const low = this.#operandTerm();
      if (!this.#takeWord("AND")) this.#fail();
      const high = this.#operandTerm();
      const { operand } = term;
      return { kind: "condition", condition: { kind: "between", operand, low, high } };
    }
    if (this.#takeWord("IN")) {
      this.#expectSymbol("(");
      const candidates = this.list(() => this.#operandTerm());
      this.#expectSymbol(")");
      const { operand } = term;
      return { kind: "condition", condition: { kind: "in", operand, candidates } };
    }
    return term;
  }

  #compared(left: WrittenOperand, operator: Comparator): Term {
    this.#next();
    const right = this.#operandTerm();
    return { kind: "condition", condition: { kind: "comparison", operator, left, right } };
  }

  #primary(): Term {
    const at = this.#peek();
    if (!this.#takeSymbol("(")) {
      return { kind: "operand", operand: this.#operand(conditionFunctions), at };
    }
    const twice = this.#peek().text === "(";
    const inner = this.#nested(() => this.#or());
    this.#expectSymbol(")");
    // `((a = b))` is redundant, `((a = b) AND c)` is not.
    if (twice && this.#tokens[this.#at - 2]?.text === ")" && this.#closesInner(at)) {
      throw invalidExpression(this.#kind, "The expression has redundant parentheses;");
    }
    return inner.kind === "condition" ? inner : { ...inner, at };
  }

  /** Whether the parenthesis that ends just before the last one began just behind `open`. */
  #closesInner(open: Token): boolean {
    const first = this.#tokens.indexOf(open) + 1;
    let depth = 0;
    for (let i = first; i < this.#at - 1; i++) {
      const { text, kind } = this.#tokens[i] ?? open;
      if (kind !== "symbol") continue;
      if (text === "(") depth += 1;
      if (text === ")") depth -= 1;
      if (depth === 0) return i === this.#at - 2;
    }
    return false;
  }

  #operandTerm(): WrittenOperand {
    const term = this.#primary();
    if (term.kind === "operand") return term.operand;
    const call = term.condition;
    return call.kind === "call" ? call : this.#fail();
  }

  /**
   * A bare operand is no condition, except a function that answers yes or no (checked when it is
   * bound).
   */
  #asCondition(term: Term): WrittenCondition {
    if (term.kind === "condition") return term.condition;
    return term.operand.kind === "call" ? term.operand : this.#fail();
  }

  #operand(functions: ReadonlySet<string>): WrittenOperand {
    const token = this.#peek();
    if (token.kind === "value") {
      this.#next();
      return { kind: "value", placeholder: token.text };
    }
    if (token.kind === "word" && this.#peek(1).text === "(") return this.#call(functions);
    if (functions === updateFunctions && this.#takeSymbol("(")) {
      const operand = this.#nested(() => this.#sum());
      this.#expectSymbol(")");
      return operand;
    }
    return this.path();
  }

  #call(functions: ReadonlySet<string>): WrittenCall {
    const name = this.#next().text;
    this.#expectSymbol("(");
    const operand = (): WrittenOperand =>
      functions === updateFunctions ? this.#operand(functions) : this.#operandTerm();
    const operands = this.#nested(() => this.list(operand));
    this.#expectSymbol(")");
    if (!functions.has(name)) {
      const known = conditionFunctions.has(name) || updateFunctions.has(name);
      throw invalidExpression(
        this.#kind,
        known
          ? "The function is not allowed in " +
              `${this.#kind === "UpdateExpression" ? "an update" : "a condition"} expression; ` +
              `function: ${name}`
          : `Invalid function name; function: ${name}`,
      );
    }
    return { kind: "call", name, operands };
  }

  #nested<Tree>(parse: () => Tree): Tree {
    this.#nesting += 1;
    if (this.#nesting > nestingMax) {
      throw invalidExpression(this.#kind, "The expression is nested too deeply;");
    }
    const tree = parse();
    this.#nesting -= 1;
    return tree;
  }

  #pathName(): WrittenStep {
    const token = this.#next();
    // `REMOVE` is no reserved word, but it is a word of the grammar.
    if (token.text.toUpperCase() === "REMOVE") return this.#fail(token);
    if (token.kind === "word") return { kind: "word", text: token.text };
    if (token.kind === "name") return { kind: "placeholder", text: token.text };
    return this.#fail(token);
  }

  #peek(ahead = 0): Token {
    const token = this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)];
    if (token === undefined) throw new RangeError("an expression without an end");
    return token;
  }

  #next(): Token {
    const token = this.#peek();
    this.#at += 1;
    return token;
  }

  #takeSymbol(text: string): boolean {
    const token = this.#peek();
    if (token.kind !== "symbol" || token.text !== text) return false;
    this.#at += 1;
    return true;
  }

  #takeWord(word: string): boolean {
    const token = this.#peek();
    if (token.kind !== "word" || token.text.toUpperCase() !== word) return false;
    this.#at += 1;
    return true;
  }

  #expectSymbol(text: string): void {
    if (!this.#takeSymbol(text)) this.#fail();
  }

  #fail(token: Token = this.#peek()): never {
    throw syntaxError(this.#kind, this.#text, token);
  }
}
