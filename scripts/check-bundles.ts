/**
 * Bundles the built SDK and every Lambda handler as a user or a deployment would, in memory, so
 * that neither can rot between releases: nothing may be imported that a bundler cannot resolve.
 * Prints the sizes; test/package holds the SDK to its budget.
 */
import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What the SDK should be, minified, without the AWS SDK (ADR 11). */
export const sdkTargets = {
  /** Loaded by importing it. */
  eagerBytes: 30 * 1024,
  /** Loaded by a transaction without queries, history and chains. */
  baseBytes: 90 * 1024,
  /** As one file, the way the peers in ADR 11 are measured. */
  gzippedBytes: 46 * 1024,
} as const;

/** What the tests hold it to. What raises them has a reason in its commit. */
export const sdkBudget = {
  eagerBytesMax: 26 * 1024,
  /** By default, which is `auto`: the client's own blocks are made, and the stream is at hand. */
  baseBytesMax: 221 * 1024,
  /** Where it only ever goes by the stream. */
  streamBytesMax: 190 * 1024,
  gzippedBytesMax: 139 * 1024,
} as const;

/** Of `tidemark/native` in one file, minified: an application's every process loads it. */
export const nativeBytesMax = 22.5 * 1024;

/** Of `tidemark/client`, likewise. */
export const clientBytesMax = 68 * 1024;

/** Of `tidemark/otel`, likewise, without OpenTelemetry's API. */
export const otelBytesMax = 8 * 1024;

/**
 * Bytes of the entry's bundle.
 * @throws when the entry does not bundle, or not without a warning.
 */
async function bundleBytes(options: {
  readonly entry: string;
  readonly platform: "node" | "neutral";
  readonly external: readonly string[];
}): Promise<number> {
  const result = await build({
    entryPoints: [options.entry],
    absWorkingDir: root,
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "node20",
    platform: options.platform,
    external: [...options.external],
    logLevel: "silent",
  });
  const warning = result.warnings[0];
  if (warning !== undefined) throw new Error(`${options.entry}: ${warning.text}`);
  return result.outputFiles.reduce((bytes, file) => bytes + file.contents.byteLength, 0);
}

export type SdkSizes = {
  /** Loaded by importing the package. */
  readonly eagerBytes: number;
  /** All parts in one file. */
  readonly wholeBytes: number;
  readonly gzippedBytes: number;
};

function sdkOptions(entry: string) {
  return {
    entryPoints: [entry],
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format: "esm" as const,
    target: "node20",
    platform: "neutral" as const,
    // A function's program, which a client with `housekeeping` loads.
    external: ["@aws-sdk/*", "@smithy/*", "node:*", "../functions/*"],
    logLevel: "silent" as const,
  };
}

/** Sizes of the SDK's bundle, minified, AWS SDK and Node's own modules left outside. */
export async function sdkSizes(entry: string): Promise<SdkSizes> {
  const options = { ...sdkOptions(entry), write: false as const, outdir: "bundle" };
  const { metafile } = await build({ ...options, splitting: true, metafile: true });
  const outputs = Object.entries(metafile.outputs);
  // Of the built SDK, or of its sources.
  const first = outputs.find(([, { entryPoint = "" }]) => /sdk\/index\.[jt]s$/.test(entryPoint));
  const eager = new Set<string>();
  const follow = (path: string): void => {
    const output = metafile.outputs[path];
    if (output === undefined || eager.has(path)) return;
    eager.add(path);
    for (const each of output.imports) if (each.kind === "import-statement") follow(each.path);
  };
  if (first !== undefined) follow(first[0]);
  const whole = (await build(options)).outputFiles.map(({ contents }) => contents);
  return {
    eagerBytes: outputs.reduce((sum, [path, { bytes }]) => sum + (eager.has(path) ? bytes : 0), 0),
    wholeBytes: whole.reduce((sum, contents) => sum + contents.byteLength, 0),
    gzippedBytes: whole.reduce((sum, each) => sum + gzipSync(each, { level: 9 }).byteLength, 0),
  };
}

/** What each file of the bundle does first. */
const tellLoaded = "(globalThis.loadedChunks??=new Set).add(import.meta.url);";

/**
 * Bytes of the files that a transaction has loaded, found by running one: it reads two items by key
 * and writes them, with chaining off, in a process of its own.
 * @param options.client what `createClient` takes, without functions, but for chaining.
 * @param options.table has the key `id`, and neither history nor sort key.
 */
export async function baseTransactionBytes(options: {
  readonly entry: string;
  readonly client: object;
  readonly table: string;
}): Promise<number> {
  const cache = join(root, ".cache");
  mkdirSync(cache, { recursive: true });
  // In the repository, where the AWS SDK is found.
  const outdir = mkdtempSync(join(cache, "bundle-"));
  try {
    const banner = { js: tellLoaded };
    const names = { entryNames: "sdk", outExtension: { ".js": ".mjs" } };
    await build({ ...sdkOptions(options.entry), ...names, outdir, splitting: true, banner });
    const client = JSON.stringify({ ...options.client, chaining: false });
    const program = `
import { createClient, defineTable } from "./sdk.mjs";
const rows = defineTable(${JSON.stringify(options.table)}, { key: "id" });
const db = createClient(${client});
const { receipt } = await db.transact(async (tx) => {
  const ids = ["base-1", "base-2"];
  for (const id of ids) {
    const row = await tx.get(rows, id);
    tx.put(rows, { id, count: (row?.count ?? 0) + 1 });
  }
});
if (receipt.commitTimestamp === undefined) throw new Error("nothing was committed");
const loaded = [...globalThis.loadedChunks];
await db.close();
console.log(JSON.stringify(loaded));
`;
    const main = join(outdir, "main.mjs");
    writeFileSync(main, program);
    const { stdout } = await promisify(execFile)(process.execPath, [main]);
    const loaded = JSON.parse(stdout) as readonly string[];
    const bytes = loaded.map((url) => statSync(fileURLToPath(url)).size - tellLoaded.length - 1);
    return bytes.reduce((sum, each) => sum + each, 0);
  } finally {
    rmSync(outdir, { recursive: true });
  }
}

/** Bytes of `tidemark/native`, minified. */
export function nativeBytes(entry: string): Promise<number> {
  return bundleBytes({ entry, platform: "neutral", external: ["@aws-sdk/*"] });
}

/** Bytes of `tidemark/client`, minified. */
export function clientBytes(entry: string): Promise<number> {
  return bundleBytes({ entry, platform: "node", external: ["@aws-sdk/*"] });
}

/** Bytes of `tidemark/otel`, minified. */
export function otelBytes(entry: string): Promise<number> {
  return bundleBytes({ entry, platform: "neutral", external: ["@opentelemetry/api"] });
}

function handlers(): string[] {
  const folder = join(root, "functions");
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name === "handler.ts" || name.endsWith("/handler.ts"))
    .sort()
    .map((name) => join(folder, name));
}

function report(name: string, bytes: number, target = Infinity): void {
  const kib = (count: number): string => (count / 1024).toFixed(1);
  const missed = bytes > target ? `, MISSES its target of ${kib(target)} KiB` : "";
  process.stdout.write(`${name}: ${kib(bytes)} KiB minified${missed}\n`);
}

async function main(): Promise<void> {
  const sdk = await sdkSizes(join(root, "dist", "esm", "sdk", "index.js"));
  report("sdk, loaded by importing it", sdk.eagerBytes, sdkTargets.eagerBytes);
  report("sdk, whole", sdk.wholeBytes);
  report("sdk, whole and gzipped", sdk.gzippedBytes, sdkTargets.gzippedBytes);
  const native = await nativeBytes(join(root, "dist", "esm", "native", "index.js"));
  report("native", native, nativeBytesMax);
  const client = await clientBytes(join(root, "dist", "esm", "client", "index.js"));
  report("client", client, clientBytesMax);
  const otel = await otelBytes(join(root, "dist", "esm", "sdk", "otel.js"));
  report("otel", otel, otelBytesMax);
  for (const entry of handlers()) {
    // Lambda's runtime carries the AWS SDK.
    const bytes = await bundleBytes({ entry, platform: "node", external: ["@aws-sdk/*"] });
    report(relative(root, entry), bytes);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
