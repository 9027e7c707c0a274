/**
 * Reads the lines of a history. Strict: what is missing, unknown or of another type is an error
 * that names its line and field, since a judge that guesses acquits the guilty.
 */
import {
  HistoryFormatError,
  type FinalState,
  type HistoryKind,
  type HistoryOp,
  type HistoryStatus,
  type HistoryTransaction,
  type VersionOrder,
} from "./types.ts";

/** Parses one line; `line` counts from 1 and is for the error. @throws HistoryFormatError */
export type LineParser<Entry> = (text: string, line: number) => Entry;

const statuses: readonly HistoryStatus[] = ["commit", "abort", "unknown"];
const kinds: readonly HistoryKind[] = ["init", "txn", "native", "base"];
const isolations: readonly HistoryTransaction["isolation"][] = ["serializable", "snapshot"];

const transactionFields = new Set([
  ...["id", "process", "start", "end", "status", "kind", "parent", "step", "isolation"],
  ...["strict", "installed", "ops", "snapshotTs", "commitTs", "place"],
]);

export const parseTransaction: LineParser<HistoryTransaction> = (text, line) => {
  const fields = new Fields(text, line, transactionFields);
  const start = fields.integer("start");
  const end = fields.integer("end");
  if (end < start) throw fields.fault("end", `lies before start (${start})`);
  const status = fields.oneOf("status", statuses);
  const commitTs = fields.optional("commitTs", (name) => fields.integer(name));
  if (commitTs !== undefined && status === "abort") {
    throw fields.fault("commitTs", "an aborted transaction has none");
  }
  const parent = fields.optional("parent", (name) => fields.text(name));
  const step = fields.optional("step", (name) => fields.integer(name));
  if (step !== undefined && parent === undefined) {
    throw fields.fault("step", "says something beside parent only");
  }
  const snapshotTs = fields.optional("snapshotTs", (name) => fields.integer(name));
  const place = fields.optional("place", (name) => fields.integer(name));
  if (place !== undefined && commitTs === undefined) {
    throw fields.fault("place", "says something beside commitTs only");
  }
  const strict = fields.optional("strict", (name) => fields.onlyFalse(name));
  const installed = fields.optional("installed", (name) => fields.onlyFalse(name));
  const kind = fields.oneOf("kind", kinds);
  return {
    id: fields.text("id"),
    process: fields.text("process"),
    start,
    end,
    status,
    kind,
    ...(parent === undefined ? {} : { parent }),
    ...(step === undefined ? {} : { step }),
    isolation: fields.oneOf("isolation", isolations),
    ...(strict === undefined ? {} : { strict }),
    ...(installed === undefined ? {} : { installed }),
    ops: fields.list("ops").map((op, i) => parseOp(fields, { path: `ops[${i}]`, kind }, op)),
    ...(snapshotTs === undefined ? {} : { snapshotTs }),
    ...(commitTs === undefined ? {} : { commitTs }),
    ...(place === undefined ? {} : { place }),
  };
};

export const parseVersionOrder: LineParser<VersionOrder> = (text, line) => {
  const fields = new Fields(text, line, new Set(["key", "versions"]));
  const versions = fields
    .list("versions")
    .map((version, i) => fields.asText(`versions[${i}]`, version));
  return { key: fields.text("key"), versions };
};

export const parseFinalState: LineParser<FinalState> = (text, line) => {
  const fields = new Fields(text, line, new Set(["key", "version"]));
  return { key: fields.text("key"), version: fields.textOrNull("version") };
};

/** Every line of a text; empty lines are passed over. @throws HistoryFormatError */
export function parseLines<Entry>(text: string, parse: LineParser<Entry>): Entry[] {
  const entries: Entry[] = [];
  text.split("\n").forEach((content, i) => {
    if (content.trim() !== "") entries.push(parse(content, i + 1));
  });
  return entries;
}

/** As `parseLines`, from chunks that may end anywhere. Holds one line at a time. */
export async function* readLines<Entry>(
  chunks: AsyncIterable<string | Uint8Array>,
  parse: LineParser<Entry>,
): AsyncGenerator<Entry, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  let line = 0;
  const take = (content: string): Entry | undefined => {
    line += 1;
    return content.trim() === "" ? undefined : parse(content, line);
  };
  for await (const chunk of chunks) {
    rest += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const content of lines) {
      const entry = take(content);
      if (entry !== undefined) yield entry;
    }
  }
  const last = take(rest + decoder.decode());
  if (last !== undefined) yield last;
}

function parseOp(
  fields: Fields,
  { path, kind: of }: { readonly path: string; readonly kind: HistoryKind },
  op: unknown,
): HistoryOp {
  if (!Array.isArray(op)) throw fields.fault(path, "must be a list");
  const [kind, key, version] = op as readonly unknown[];
  if (op.length !== 3) throw fields.fault(path, `must have 3 members; has ${op.length}`);
  const keyText = fields.asText(`${path}[1]`, key);
  switch (kind) {
    case "x":
      if (of !== "native") throw fields.fault(`${path}[0]`, '"x" is of native operations alone');
      return ["x", keyText, version === null ? null : fields.asText(`${path}[2]`, version)];
    case "r":
      return ["r", keyText, version === null ? null : fields.asText(`${path}[2]`, version)];
    case "w":
    case "d":
    case "a":
      return [kind, keyText, fields.asText(`${path}[2]`, version)];
    default:
      throw fields.fault(`${path}[0]`, 'must be "r", "w", "d", "a" or "x"');
  }
}

/** The fields of one line, by type. */
class Fields {
  readonly #line: number;
  readonly #fields: ReadonlyMap<string, unknown>;

  constructor(text: string, line: number, known: ReadonlySet<string>) {
    this.#line = line;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw this.fault("", `is no JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw this.fault("", "must be an object");
    }
    this.#fields = new Map(Object.entries(value));
    for (const name of this.#fields.keys()) {
      if (!known.has(name)) throw this.fault(name, "is no field of the format");
    }
  }

  fault(field: string, problem: string): HistoryFormatError {
    return new HistoryFormatError({ line: this.#line, field }, problem);
  }

  asText(field: string, value: unknown): string {
    if (typeof value === "string" && value !== "") return value;
    throw this.fault(field, value === undefined ? "is missing" : "must be a text, not empty");
  }

  text(name: string): string {
    return this.asText(name, this.#fields.get(name));
  }

  textOrNull(name: string): string | null {
    return this.#fields.get(name) === null ? null : this.text(name);
  }

  integer(name: string): number {
    const value = this.#fields.get(name);
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    throw this.fault(
      name,
      value === undefined ? "is missing" : "must be an integer from 0 to 2^53 - 1",
    );
  }

  onlyFalse(name: string): false {
    if (this.#fields.get(name) === false) return false;
    throw this.fault(name, "must be false or be left out");
  }

  oneOf<Member extends string>(name: string, members: readonly Member[]): Member {
    const value = this.#fields.get(name);
    const member = members.find((each) => each === value);
    if (member !== undefined) return member;
    throw this.fault(
      name,
      value === undefined ? "is missing" : `must be one of ${members.join(", ")}`,
    );
  }

  list(name: string): readonly unknown[] {
    const value = this.#fields.get(name);
    if (Array.isArray(value)) return value as readonly unknown[];
    throw this.fault(name, value === undefined ? "is missing" : "must be a list");
  }

  optional<T>(name: string, read: (name: string) => T): T | undefined {
    return this.#fields.has(name) ? read(name) : undefined;
  }
}
