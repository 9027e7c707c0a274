/**
 * `npm run option-tables`: writes the tables of options in docs/sdk.md. What an option takes is
 * what its check says that it must be; its default and its sentence stand in the TSDoc of its
 * type, so that none of this is in the code that a user loads.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import * as limits from "../core/limits.ts";
import { outcomeChecks, snapshotChecks, transactChecks } from "../sdk/call-options.ts";
import { changesChecks, consumeChecks } from "../sdk/changes-options.ts";
import type { LooseCheck } from "../sdk/check-options.ts";
import { startChecks } from "../sdk/base.ts";
import { definitionChecks } from "../sdk/base-definition.ts";
import { runnerChecks } from "../sdk/base-runner-options.ts";
import { clientChecks, marshallChecks } from "../sdk/client-options.ts";
import { emfChecks } from "../sdk/emf.ts";
import { otelChecks } from "../sdk/otel.ts";
import { allChecks, pageChecks, queryChecks } from "../sdk/query.ts";
import { tableChecks } from "../sdk/table.ts";
import { formatMarkdown } from "./format-markdown.ts";

type CheckTable = Readonly<Record<string, LooseCheck>>;

const bounds = "engine/types.ts: CallBounds";

/** Each call's checks, and the types whose comments describe its options. */
export const optionTables = {
  createClient: {
    checks: clientChecks,
    types: [
      "sdk/client-options.ts: EmbeddedClientOptions",
      "sdk/client-options.ts: DeployedClientOptions",
      "sdk/client-options.ts: SharedClientOptions",
    ],
  },
  marshall: { checks: marshallChecks, types: ["sdk/marshall.ts: MarshallOptions"] },
  defineTable: { checks: tableChecks, types: ["sdk/table.ts: SchemaTableOptions"] },
  transact: {
    checks: transactChecks,
    types: ["sdk/call-options.ts: TransactOptions", "engine/types.ts: TransactOptions", bounds],
  },
  snapshot: { checks: snapshotChecks, types: ["sdk/call-options.ts: SnapshotOptions", bounds] },
  query: {
    checks: queryChecks,
    types: ["sdk/query.ts: QueryOptions", "sdk/query.ts: QuerySettings"],
  },
  page: { checks: pageChecks, types: ["sdk/query.ts: PageOptions"] },
  all: { checks: allChecks, types: ["sdk/query.ts: AllOptions"] },
  consume: {
    checks: consumeChecks,
    types: ["sdk/changes-options.ts: ConsumeOptions", "sdk/changes-options.ts: ChangesOptions"],
  },
  changes: { checks: changesChecks, types: ["sdk/changes-options.ts: ChangesOptions"] },
  outcome: { checks: outcomeChecks, types: [bounds] },
  defineBase: { checks: definitionChecks, types: ["sdk/base-definition.ts: BaseOptions"] },
  base: { checks: startChecks, types: ["sdk/base.ts: BaseStartOptions"] },
  baseRunner: { checks: runnerChecks, types: ["sdk/base-runner-options.ts: BaseRunnerOptions"] },
  otelSpans: { checks: otelChecks, types: ["sdk/otel.ts: OtelOptions"] },
  emfMetrics: { checks: emfChecks, types: ["sdk/emf.ts: EmfOptions"] },
} as const satisfies Readonly<
  Record<string, { readonly checks: CheckTable; readonly types: readonly string[] }>
>;

/** Defaults that are numbers, where the code has them. */
const numericDefaults: Readonly<Record<string, number>> = {
  attemptsMax: limits.attemptsDefault,
  deadlineMs: limits.deadlineMsDefault,
  callTriesMax: limits.callTriesDefault,
  callTimeoutMs: limits.callTimeoutMsDefault,
  rowsMax: limits.transactionKeysMax,
  maxStalenessMs: 0,
  pollMs: limits.changesPollMsDefault,
  version: 1,
  silentMsMax: limits.baseSilentMsDefault,
  parkAfterMs: limits.baseParkAfterMsDefault,
  takeOverMs: limits.baseTakeOverMsDefault,
};

/** Where an option has another default than elsewhere. */
const ownDefaults: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  baseRunner: { pollMs: limits.baseRunnerPollMsDefault },
};

const root = fileURLToPath(new URL("..", import.meta.url));
const guide = join(root, "docs", "sdk.md");

/** The guide with its tables as the code has them. */
export async function guideText(): Promise<string> {
  let text = readFileSync(guide, "utf8");
  for (const [name, { checks, types }] of Object.entries(optionTables)) {
    const place = new RegExp(`(<!-- options of ${name}: begin -->).*?(<!-- end -->)`, "su");
    if (!place.test(text)) throw new Error(`docs/sdk.md has no place for the options of ${name}`);
    const defaults = { ...numericDefaults, ...ownDefaults[name] };
    const table = tableText({ checks, types, defaults });
    text = text.replace(place, (_, begin: string, end: string) => `${begin}\n\n${table}\n${end}`);
  }
  return formatMarkdown(text);
}

type Told = {
  readonly checks: CheckTable;
  readonly types: readonly string[];
  readonly defaults: Readonly<Record<string, number>>;
};

function tableText({ checks, types, defaults }: Told): string {
  const comments = new Map(types.toReversed().flatMap((type) => [...commentsOf(type)]));
  const rows = Object.entries(checks).map(([name, check]) => {
    const comment = comments.get(name);
    if (comment === undefined) throw new Error(`option ${name} (${types[0]}) has no comment`);
    const { standard, sentence } = parsed(name, comment, defaults[name]);
    const cells = [`\`${name}\``, valuesOf(name, check), standard, sentence];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  return ["| option | value | default | |", "| --- | --- | --- | --- |", ...rows, ""].join("\n");
}

/** What a check takes, in its own words; the unit is in the name. */
function valuesOf(name: string, check: LooseCheck): string {
  const wanted = check(Symbol("of another type")) ?? "anything";
  return wanted
    .replace(/^a whole number\b/u, name.endsWith("Ms") ? "$& of milliseconds" : "$&")
    .replace(/(?<=(?:from|to|most) )\d{4,}/gu, (digits) => Number(digits).toLocaleString("en-US"))
    .replace(/"[^"]*"/gu, (text) => `\`${text}\``);
}

/** @throws where a default is a number other than the code's. */
function parsed(
  name: string,
  comment: string,
  number: number | undefined,
): { readonly standard: string; readonly sentence: string } {
  const [whole, standard = ""] = /Default:? (.+?)\.(?=\s|$)/u.exec(comment) ?? [""];
  const [sentence = ""] = /^.+?\.(?=\s|$)/u.exec(comment.replace(whole, "").trim()) ?? [];
  if (sentence === "") throw new Error(`option ${name} has no sentence: ${comment}`);
  const given = number?.toLocaleString("en-US");
  if (/^\d/u.test(standard) ? standard !== given : given !== undefined) {
    throw new Error(`option ${name}: its comment says default ${standard}, the code ${given}`);
  }
  return { standard: /^(?:true|false)$/u.test(standard) ? `\`${standard}\`` : standard, sentence };
}

/** The comments of a type's own properties; of "path: name". */
function commentsOf(place: string): ReadonlyMap<string, string> {
  const [path = "", typeName] = place.split(": ");
  const text = readFileSync(join(root, path), "utf8");
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const comments = new Map<string, string>();
  const visit = (node: ts.Node): void => {
    if (!ts.isPropertySignature(node)) {
      ts.forEachChild(node, visit);
      return;
    }
    const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
    const words = ts.getTextOfJSDocComment(comment?.comment)?.replaceAll(/\s+/gu, " ").trim();
    if (words !== undefined && words !== "") comments.set(node.name.getText(file), words);
  };
  const declared = file.statements.find(
    (each) => ts.isTypeAliasDeclaration(each) && each.name.text === typeName,
  );
  if (declared === undefined) throw new Error(`there is no type ${place}`);
  visit(declared);
  return comments;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(guide, await guideText());
