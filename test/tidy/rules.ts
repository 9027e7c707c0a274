/**
 * The rules of the house that a compiler and a linter do not know, as pure functions from the tree
 * to violations, one line of text each: layers, cycles, ambient input, sizes, names, barrels,
 * unused files and limits, and text that must not be in the repository.
 */
import { dirname } from "node:path/posix";
import { entrySources } from "../../scripts/public-api.ts";
import type { SourceFacts } from "./source-facts.ts";

type Files = ReadonlyMap<string, SourceFacts>;

const library = [
  "core",
  "schemas",
  "expressions",
  "engine",
  "aws",
  "sdk",
  "native",
  "commands",
  "client",
];
const product = [...library, "functions"];

/** Folder → folders that it may import besides itself. A file of another folder is not checked. */
const layers: ReadonlyMap<string, readonly string[]> = new Map([
  ["core", []],
  ["schemas", ["core"]],
  ["expressions", ["core"]],
  ["engine", ["schemas", "core"]],
  ["aws", ["schemas", "core"]],
  ["sdk", ["aws", "engine", "schemas", "core"]],
  ["native", ["sdk", "aws", "expressions", "core"]],
  ["commands", ["engine", "expressions", "schemas", "core"]],
  ["client", ["commands", "expressions", "aws", "core"]],
  ["functions", ["aws", "engine", "schemas", "core"]],
  ["testing", product],
  ["localstack", [...product, "testing"]],
  ["inspection", library],
  ["cli", [...product, "inspection", "localstack", "demo"]],
  ["console", [...product, "inspection", "localstack", "demo", "examples"]],
  ["examples", [...product, "testing", "localstack"]],
  ["demo", [...product, "testing", "localstack", "examples"]],
  ["simulation", [...product, "testing", "examples"]],
  ["bench", [...product, "testing", "simulation", "localstack", "examples"]],
  ["model", [...product, "testing", "localstack"]],
  ["scripts", [...product, "testing", "simulation", "localstack", "cli", "console", "demo"]],
  [
    "test",
    [
      ...[...product, "testing", "simulation", "localstack", "cli", "examples", "demo"],
      ...["inspection", "console", "bench", "model", "scripts"],
    ],
  ],
]);

/**
 * Folders that stand above the rest of their layer, each with the one file that knows of it, and
 * loads it when it is needed (docs/adr/0011-the-sdk-is-larger-than-planned.md).
 */
const partsOnDemand: ReadonlyMap<string, string> = new Map([
  ["engine/chaining", "engine/engine-core.ts"],
  ["engine/express", "engine/engine-core.ts"],
  ["engine/mixed", "engine/engine-core.ts"],
]);

/** Parts of a folder above that a file loads when they are needed, likewise. */
const partsFromAbove: ReadonlyMap<string, string> = new Map([
  ["functions/housekeeping/by-clients", "sdk/connect.ts"],
  ["console/server", "cli/open-console.ts"],
]);

/** What the package exports; single-sources.ts compares it with package.json. */
const entries = new Set(Object.values(entrySources));
const awsUsers = new Set([
  ...["aws", "testing", "simulation", "localstack", "bench", "examples", "demo", "scripts", "test"],
]);
const linesMax = 500;
const kebabCase = /^(?:[a-z0-9]+(?:-[a-z0-9]+)*[./])*[a-z0-9]+(?:-[a-z0-9]+)*$/;

/**
 * Imports point down, core imports nothing but core, only aws/ knows the AWS SDK, and a part on
 * demand is known by its loader alone.
 */
export function layerViolations(files: Files): string[] {
  const found: string[] = [];
  for (const { path, layer, imports } of files.values()) {
    const below = layers.get(layer);
    if (below === undefined) continue;
    for (const { specifier, target, onDemand } of imports) {
      const folder = target?.split("/")[0];
      const part = target === undefined ? "" : dirname(target);
      const loader = partsOnDemand.get(part);
      const isOutside = loader !== undefined && dirname(path) !== part;
      if (isOutside && layer !== "test" && !(path === loader && onDemand)) {
        found.push(`${path}: only ${loader} loads ${part}, on demand`);
      }
      if (folder === undefined) {
        if (layer === "core") found.push(`${path}: core imports ${specifier}`);
        else if (/^@(aws-sdk|smithy)\//.test(specifier) && !awsUsers.has(layer)) {
          found.push(`${path}: only aws/ imports ${specifier}`);
        }
      } else if (onDemand && partsFromAbove.get(part) === path) {
        continue;
      } else if (folder !== layer && layers.has(folder) && !below.includes(folder)) {
        found.push(`${path}: ${layer} imports ${folder}`);
      }
    }
  }
  return found;
}

/** Examples are copied: what they import beside each other and packages, a user can import. */
export function exampleViolations(files: Files): string[] {
  const found: string[] = [];
  for (const { path, layer, imports } of files.values()) {
    if (layer !== "examples") continue;
    for (const { target } of imports) {
      if (target === undefined || target.startsWith("examples/") || entries.has(target)) continue;
      found.push(`${path}: imports ${target}, which is no entry of the package`);
    }
  }
  return found;
}

/** No file reaches itself through imports, those of types included. */
export function cycleViolations(files: Files): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      found.push(`cycle: ${[...trail.slice(start), path].join(" -> ")}`);
      return;
    }
    if (done.has(path)) return;
    for (const { target } of files.get(path)?.imports ?? []) {
      if (target !== undefined && files.has(target)) walk(target, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of files.keys()) walk(path, []);
  return found;
}

/** The one file by which virtual time gives way to what it is made of. */
const realEventLoop = "testing/kernel/macrotask.ts";

/**
 * Clock, timers, randomness, environment and console come in through ports; core is synchronous.
 */
export function ambientViolations(files: Files): string[] {
  const found: string[] = [];
  for (const { path, layer, ambient, asynchronous } of files.values()) {
    const pure = layer === "core";
    const isHandler = layer === "functions" && /(?:^|\/)handler\.ts$/.test(path);
    const injected = [
      "core",
      "schemas",
      "expressions",
      "engine",
      "sdk",
      "native",
      "commands",
      "client",
      "functions",
      "testing",
    ].includes(layer);
    if (injected && path !== realEventLoop) {
      if (!isHandler) found.push(...ambient.map((use) => `${path}: ${use} in ${layer}`));
    }
    if (pure) found.push(...asynchronous.map((use) => `${path}: ${use} in core`));
  }
  return found;
}

/** Files of at most 500 lines, with kebab-case names that say something, without banned syntax. */
export function shapeViolations(files: Files): string[] {
  const found: string[] = [];
  for (const { path, layer, lines, bannedSyntax, testModifiers } of files.values()) {
    if (lines > linesMax) found.push(`${path}: over ${linesMax.toString()} lines`);
    if (!kebabCase.test(path)) found.push(`${path}: not in kebab-case`);
    if (/(?:^|\/)(?:utils?|helpers?|misc|common)\.ts$/.test(path)) {
      found.push(`${path}: says nothing by its name`);
    }
    found.push(...testModifiers.map((use) => `${path}: ${use}`));
    // Tools at the root (vitest.config.ts) demand a default export.
    if (layer !== "") found.push(...bannedSyntax.map((use) => `${path}: ${use}`));
  }
  return found;
}

/** The entries are the only files that gather others' exports. */
export function barrelViolations(files: Files): string[] {
  const found: string[] = [];
  for (const { path, layer, reExports, statements } of files.values()) {
    if (entries.has(path)) continue;
    if (layer === "sdk" && reExports > 0) found.push(`${path}: re-exports beside sdk/index.ts`);
    else if (reExports > 0 && reExports === statements) found.push(`${path}: is a barrel`);
  }
  return found;
}

/** The files that these reach through imports, themselves included. */
function reachable(files: Files, entries: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const open = [...entries];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const facts = files.get(path);
    if (facts === undefined || seen.has(path)) continue;
    seen.add(path);
    for (const { target } of facts.imports) if (target !== undefined) open.push(target);
  }
  return seen;
}

/**
 * What the package's entries reach, types included, imports nothing that its user has not got:
 * Node's own modules and the declared peers.
 */
export function sdkDependencyViolations(
  files: Files,
  manifest: {
    readonly dependencies?: Readonly<Record<string, string>> | undefined;
    readonly peerDependencies?: Readonly<Record<string, string>> | undefined;
  },
): string[] {
  const found = Object.keys(manifest.dependencies ?? {}).map(
    (name) => `package.json: runtime dependency ${name}`,
  );
  const peers = new Set(Object.keys(manifest.peerDependencies ?? {}));
  for (const path of reachable(files, [...entries])) {
    for (const { specifier, target } of files.get(path)?.imports ?? []) {
      if (target !== undefined || specifier.startsWith("node:") || peers.has(specifier)) continue;
      found.push(`${path}: the SDK's user has no ${specifier}`);
    }
  }
  return found;
}

const tools = [
  ...["localstack", "cli", "console", "bench", "examples", "demo", "model", "scripts"],
];

/** Every file of the product is reached from an entry, a handler, or a command. */
export function unusedFileViolations(files: Files): string[] {
  const starts = [...files.values()]
    .filter(({ path, layer }) => {
      if (entries.has(path)) return true;
      if (layer === "functions") return path.endsWith("/handler.ts");
      return tools.includes(layer);
    })
    .map(({ path }) => path);
  const used = reachable(files, starts);
  const unused = [...files.values()]
    // Declarations of what the host provides are for the compiler; nobody imports them.
    .filter(
      ({ path, layer }) => product.includes(layer) && !path.endsWith(".d.ts") && !used.has(path),
    )
    .map(({ path }) => path);
  return unused.map((path) => `${path}: nothing but tests reaches it`);
}

/** Stand-ins that a deployed run puts in the place of modules of the same exports. */
const standIns = "test/deployed/attached/";

/**
 * What a file exports is imported somewhere. A type may be exported for whoever wants to name it,
 * if its own file uses it.
 */
export function unusedExportViolations(files: Files): string[] {
  const taken = new Map<string, Set<string>>();
  const whole = new Set<string>();
  for (const { target, names } of [...files.values()].flatMap(({ imports }) => imports)) {
    if (target === undefined) continue;
    if (names === undefined) whole.add(target);
    const known = taken.get(target) ?? new Set();
    taken.set(target, known);
    for (const name of names ?? []) known.add(name);
  }
  return [...files.values()]
    .filter(({ path }) => !entries.has(path) && !whole.has(path) && !path.startsWith(standIns))
    .flatMap(({ path, exports }) =>
      exports
        .filter(({ name, isType, usedHere }) => {
          if (name === "handler" || (isType && usedHere)) return false;
          return taken.get(path)?.has(name) !== true;
        })
        .map(({ name }) => `${path}: nobody imports ${name}`),
    );
}

/** Bounds of others that only enter the relations between our own (test/core/limits.test.ts). */
const foreignLimits = new Set(["signatureMsMax"]);

/** Every entry of core/limits.ts bounds something in the product. */
export function unusedLimitViolations(files: Files, names: readonly string[]): string[] {
  const used = new Set<string>();
  for (const { path, layer, limitsUsed } of files.values()) {
    if (/^core\/(?:[a-z]+-)?limits\.ts$/u.test(path) || layer === "test") continue;
    for (const name of limitsUsed) used.add(name);
  }
  return names
    .filter((name) => !used.has(name) && !foreignLimits.has(name))
    .map((name) => `limits.${name} bounds nothing`);
}

/** A test that starts servers says so by its folder or suffix; the unit suite stays pure. */
export function serverTestViolations(files: Files): string[] {
  const found: string[] = [];
  for (const { path } of files.values()) {
    if (!/^test\/.*\.test\.ts$/.test(path)) continue;
    if (/^test\/(?:aws|embedded|integration|package)\//.test(path)) continue;
    if (path.endsWith(".integration.test.ts")) continue;
    for (const reached of reachable(files, [path])) {
      const server = files
        .get(reached)
        ?.imports.find(({ specifier }) => /^(?:dynalite|kinesalite)$/.test(specifier));
      if (server === undefined) continue;
      found.push(`${path}: a unit test that can start ${server.specifier}, through ${reached}`);
      break;
    }
  }
  return found;
}

/** Patterns are put together from parts, so that this file does not contain what it forbids. */
const forbiddenText: readonly { readonly what: string; readonly pattern: RegExp }[] = [
  {
    what: "host of a package registry",
    pattern: new RegExp(
      ["registry[.]npmjs", "registry[.]yarnpkg", "npmmirror[.]com", "repo1?[.]maven", "pypi[.]org"]
        .map((part) => `(?:${part})`)
        .join("|"),
      "i",
    ),
  },
  {
    what: "path of one machine",
    pattern: new RegExp(
      ["(?<![\\w.~/*-])/", "(?:work|root|tmp|home/[a-z]+|Users/[A-Za-z]+)", "(?:/|\\b(?!-))"].join(
        "",
      ),
    ),
  },
  {
    what: "unfinished work",
    pattern: new RegExp(`\\b(?:${["TO" + "DO", "FIX" + "ME", "XX" + "X"].join("|")})\\b`),
  },
  {
    what: "switched-off check",
    pattern: new RegExp(
      ["eslint-" + "disable", "oxlint-" + "disable", "@ts-" + "ignore", "@ts-" + "nocheck"].join(
        "|",
      ),
    ),
  },
  {
    what: "access key",
    pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  },
];

/** Text that must not be in any tracked file. */
export function textViolations(tracked: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  for (const [path, text] of tracked) {
    for (const { what, pattern } of forbiddenText) {
      const match = pattern.exec(text);
      if (match === null) continue;
      const line = text.slice(0, match.index).split("\n").length;
      found.push(`${path}:${line.toString()}: ${what}: ${match[0]}`);
    }
  }
  return found;
}
