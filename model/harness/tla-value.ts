/**
 * Values as TLC prints them, read into plain data: model values and strings become strings, sets
 * and sequences arrays (sets sorted), records and functions objects.
 */
export type TlaValue =
  | number
  | boolean
  | string
  | readonly TlaValue[]
  | { readonly [name: string]: TlaValue };

const token = /\s*(<<|>>|\|->|:>|@@|"(?:[^"\\]|\\.)*"|-?\d+|[A-Za-z_]\w*|[[\](){},])/y;

/** @throws SyntaxError when the text is not exactly one value. */
export function parseTlaValue(text: string): TlaValue {
  const parser = new Parser(text);
  const value = parser.value();
  parser.expectEnd();
  return value;
}

class Parser {
  readonly #tokens: string[] = [];
  #at = 0;

  constructor(text: string) {
    const source = text.trimEnd();
    token.lastIndex = 0;
    while (token.lastIndex < source.length) {
      const from = token.lastIndex;
      const match = token.exec(source)?.[1];
      if (match === undefined) throw new SyntaxError(`no TLA+ value: ${source.slice(from, 40)}`);
      this.#tokens.push(match);
    }
  }

  value(): TlaValue {
    const next = this.#take();
    switch (next) {
      case "<<":
        return this.#list(">>");
      case "{":
        return [...this.#list("}")].sort((left, right) =>
          JSON.stringify(left) < JSON.stringify(right) ? -1 : 1,
        );
      case "[":
        return this.#fields("|->", ",", "]");
      case "(":
        return this.#fields(":>", "@@", ")");
      case "TRUE":
        return true;
      case "FALSE":
        return false;
      default:
        if (next.startsWith('"')) return next.slice(1, -1);
        return /^-?\d/.test(next) ? Number(next) : next;
    }
  }

  expectEnd(): void {
    if (this.#at < this.#tokens.length) throw new SyntaxError("text after a TLA+ value");
  }

  #list(end: string): readonly TlaValue[] {
    const values: TlaValue[] = [];
    while (!this.#skip(end)) {
      values.push(this.value());
      this.#skip(",");
    }
    return values;
  }

  #fields(arrow: string, separator: string, end: string): TlaValue {
    const fields: Record<string, TlaValue> = {};
    while (!this.#skip(end)) {
      const name = this.#take();
      if (!this.#skip(arrow)) throw new SyntaxError(`a TLA+ field ${name} without value`);
      fields[name] = this.value();
      this.#skip(separator);
    }
    return fields;
  }

  #take(): string {
    const next = this.#tokens[this.#at];
    if (next === undefined) throw new SyntaxError("a TLA+ value ends early");
    this.#at += 1;
    return next;
  }

  #skip(wanted: string): boolean {
    if (this.#tokens[this.#at] !== wanted) return false;
    this.#at += 1;
    return true;
  }
}
