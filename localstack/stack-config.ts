/**
 * The configuration file of a stack: found, loaded, checked. A TypeScript one is loaded by Node
 * where Node can do that (22.18 and newer, or under a loader such as tsx), and otherwise turned
 * into JavaScript by the project's own `typescript`.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { deploymentNames } from "../aws/names.ts";
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { splitPolicyOf } from "../core/split-policy.ts";
import {
  aBoolean,
  anObject,
  aText,
  type Checks,
  checkOptions,
  integerIn,
} from "../sdk/check-options.ts";
import type { TidemarkConfig } from "../sdk/config.ts";
import { StackError } from "./stack-error.ts";
import { tableSetup, type TableSetup } from "./table-setup.ts";

export type StackConfig = Omit<TidemarkConfig, "tables"> & {
  /** Absolute; undefined: there is none, and this is the default. */
  readonly file: string | undefined;
  readonly tables: readonly TableSetup[];
};

const endings = ["ts", "mts", "js", "mjs", "json"] as const;
const aPort = integerIn({ min: 0, max: 65_535 });

const configChecks = {
  tables: (value) => (Array.isArray(value) ? undefined : "an array of tables"),
  ports: anObject,
  data: aText,
  deployment: aText,
  region: aText,
  sampleTables: aBoolean,
  tablesOnly: aBoolean,
  shards: integerIn({ min: 1, max: limits.shardsMax }),
  autoSplit: (value) =>
    typeof value === "boolean" || anObject(value) === undefined
      ? undefined
      : "true, false or an object of settings",
} satisfies Checks<TidemarkConfig>;

const portChecks = {
  api: aPort,
  dynamodb: aPort,
  kinesis: aPort,
  console: aPort,
} satisfies Checks<NonNullable<TidemarkConfig["ports"]>>;

/**
 * @param folder where to look for `tidemark.config.*` if no file is named.
 * @throws StackError in one line: the file, what is wrong with it, what to do.
 */
export async function loadConfig(named: string | undefined, folder: string): Promise<StackConfig> {
  const file = named === undefined ? findConfig(folder) : resolve(folder, named);
  if (file === undefined) return { file, tables: [] };
  if (!existsSync(file)) {
    throw new StackError("config", `there is no file ${file}; name another with --config <file>`);
  }
  try {
    return checkedConfig(await contentOf(file), file);
  } catch (error) {
    if (error instanceof StackError) throw error;
    const because = error instanceof Error ? error.message : String(error);
    throw new StackError("config", `${basename(file)} (${file}): ${because}`, { cause: error });
  }
}

function findConfig(folder: string): string | undefined {
  const found = endings
    .map((ending) => join(folder, `tidemark.config.${ending}`))
    .filter((file) => existsSync(file));
  if (found.length <= 1) return found[0];
  const names = found.map((file) => basename(file)).join(" and ");
  throw new StackError("config", `${folder} holds ${names}; keep one, or name it with --config`);
}

async function contentOf(file: string): Promise<unknown> {
  if (file.endsWith(".json")) return JSON.parse(readFileSync(file, "utf8")) as unknown;
  try {
    return defaultExport(await import(pathToFileURL(file).href));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "ERR_UNKNOWN_FILE_EXTENSION") throw error;
    return defaultExport(await importTypeScript(file));
  }
}

function defaultExport(module: unknown): unknown {
  const { default: content } = module as { readonly default?: unknown };
  if (content === undefined) throw new Error("it has no default export");
  // A CommonJS project's compiled file has its default export within Node's.
  const inner = (content as { readonly default?: unknown }).default;
  return inner ?? content;
}

type Compiler = {
  transpileModule(
    source: string,
    options: { readonly compilerOptions: Readonly<Record<string, unknown>> },
  ): { readonly outputText: string };
};

/** @throws StackError where no compiler beside the file can do it: from 7 on none can. */
function compilerOf(file: string): Compiler {
  let found: Partial<Compiler> & { readonly version?: string };
  try {
    found = createRequire(file)("typescript") as typeof found;
  } catch {
    throw loadedByNobody(file, "typescript is not installed here: install typescript@6");
  }
  const { transpileModule, version } = found;
  if (typeof transpileModule === "function") return { transpileModule };
  const which = `the typescript ${version ?? ""} installed here turns no file into JavaScript`;
  throw loadedByNobody(file, `${which}: install typescript@6`);
}

function loadedByNobody(file: string, because: string): StackError {
  return new StackError(
    "config",
    `${basename(file)} (${file}): Node ${process.versions.node} cannot load TypeScript (22.18 ` +
      `and newer can), and ${because}, or write the file as tidemark.config.mjs or .json`,
  );
}

/** Beside the file, so that its imports are found where they would be. */
async function importTypeScript(file: string): Promise<unknown> {
  const { outputText } = compilerOf(file).transpileModule(readFileSync(file, "utf8"), {
    compilerOptions: { module: "ESNext", target: "ES2022", verbatimModuleSyntax: true },
  });
  const name = `.${basename(file)}.${process.pid.toString()}.mjs`;
  const compiled = join(dirname(file), name);
  try {
    writeFileSync(compiled, outputText);
    return (await import(pathToFileURL(compiled).href)) as unknown;
  } finally {
    rmSync(compiled, { force: true });
  }
}

/** @throws InvalidRequestError naming the field. */
function checkedConfig(content: unknown, file: string): StackConfig {
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new InvalidRequestError(
      "config",
      'the configuration must be an object such as { tables: [{ name: "orders", ' +
        'partitionKey: "customer" }] }',
    );
  }
  checkOptions("", content, configChecks);
  const config = content as TidemarkConfig;
  if (config.ports !== undefined) checkOptions("ports", config.ports, portChecks);
  if (config.deployment !== undefined) deploymentNames(config.deployment);
  if (typeof config.autoSplit === "object") splitPolicyOf(config.autoSplit);
  const tables = (config.tables ?? []).map((table, at) => tableSetup(table, `tables[${at}]`));
  assertDistinct(tables);
  return { ...config, file, tables };
}

/** @throws InvalidRequestError naming a table that is described twice. */
export function assertDistinct(tables: readonly TableSetup[]): void {
  const seen = new Set<string>();
  for (const { name } of tables) {
    if (seen.has(name)) {
      throw new InvalidRequestError("tables", `table "${name}" is described twice; keep one`);
    }
    seen.add(name);
  }
}
