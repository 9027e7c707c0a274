/** What the command finds around itself: the package's manifest, built programs, other packages. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { DemoScripts } from "../demo/snapshot.ts";
import type { StackScripts } from "../localstack/stack-bundle.ts";
import { StackError } from "../localstack/stack-error.ts";
import { handlerFiles } from "../localstack/stack-functions.ts";

const require = createRequire(import.meta.url);

type Manifest = {
  readonly version: string;
  readonly engines: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
};

export function manifest(): Manifest {
  return JSON.parse(readFileSync(require.resolve("tidemark/package.json"), "utf8")) as Manifest;
}

/** Where the package lies, links followed. */
export function packageFolder(): string {
  return dirname(require.resolve("tidemark/package.json"));
}

export function packageVersion(): string {
  return manifest().version;
}

/**
 * The stack's programs as the package carries them, beside this one; undefined in a clone, where
 * they are built from the sources at every start.
 */
export function builtScripts(): StackScripts | undefined {
  const script = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url));
  if (!existsSync(script("stores"))) return undefined;
  return {
    stores: script("stores"),
    host: script("host"),
    handlers: new Map([...handlerFiles.keys()].map((name) => [name, script(`function-${name}`)])),
  };
}

/** The demo's programs, likewise. */
export function builtDemo(): DemoScripts | undefined {
  const stack = builtScripts();
  const script = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url));
  if (stack === undefined || !existsSync(script("demo-command"))) return undefined;
  return {
    command: script("demo-command"),
    client: script("demo-client"),
    native: script("demo-native"),
    base: script("demo-base"),
    stack,
  };
}

/** Of the clients of the console's traffic: the program's name, and its source. */
export const trafficEntry = ["console-client", "console/traffic/client-process.ts"] as const;

/** The same, as the package carries it. */
export function builtTraffic(): string | undefined {
  const script = fileURLToPath(new URL(`./${trafficEntry[0]}.js`, import.meta.url));
  return existsSync(script) ? script : undefined;
}

/** What `tidemark init` writes, as built: one file beside the programs. */
export const packedTemplate = "template.json";

/** How the template is compiled in a clone. */
const treesOwn = "tsconfig.json";

/** The template's files by their path in it: as the package carries them, or of a clone. */
export function templateFiles(): ReadonlyMap<string, string> {
  const packed = fileURLToPath(new URL(`./${packedTemplate}`, import.meta.url));
  if (existsSync(packed)) {
    const files = JSON.parse(readFileSync(packed, "utf8")) as Readonly<Record<string, string>>;
    return new Map(Object.entries(files));
  }
  const folder = fileURLToPath(new URL("./init/template", import.meta.url));
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (path) => path !== treesOwn && statSync(join(folder, path)).isFile(),
  );
  return new Map(
    paths.map((path) => [path.replaceAll(sep, "/"), readFileSync(join(folder, path), "utf8")]),
  );
}

/** What an entry of its own needs, and nothing that the command does. */
const ofOtherEntries: ReadonlySet<string> = new Set(["@opentelemetry/api"]);

function ownPeers(): readonly (readonly [name: string, range: string])[] {
  const all = Object.entries(manifest().peerDependencies);
  return all.filter(([name]) => !ofOtherEntries.has(name));
}

/**
 * The SDK needs few packages, the stack some more: they are optional peers of the package.
 * @throws StackError with the one command that adds what is missing.
 */
export function assertStackPackages(): void {
  const missing = ownPeers().filter(([name]) => !isInstalled(name));
  if (missing.length === 0) return;
  // By major version: a range's caret means something to some shells.
  const wanted = missing
    .map(([name, range]) => `${name}@${parseInt(range.slice(1), 10)}`)
    .join(" ");
  throw new StackError(
    "other",
    `the local stack needs packages that are not installed here; add them with\n\n` +
      `  npm install --save-dev ${wanted}\n`,
  );
}

/** A peer of the package: what it has to be, and what is installed. */
export type Peer = {
  readonly name: string;
  readonly range: string;
  /** Undefined: it is not. */
  readonly version: string | undefined;
  /** Only `tidemark start` needs it. */
  readonly isOptional: boolean;
};

export function peers(): readonly Peer[] {
  const { peerDependenciesMeta } = manifest();
  return ownPeers().map(([name, range]) => ({
    name,
    range,
    version: versionOf(name),
    isOptional: peerDependenciesMeta[name]?.optional === true,
  }));
}

function versionOf(name: string): string | undefined {
  try {
    const file = require.resolve(`${name}/package.json`);
    return (JSON.parse(readFileSync(file, "utf8")) as Pick<Manifest, "version">).version;
  } catch {
    return undefined;
  }
}

function isInstalled(name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}
