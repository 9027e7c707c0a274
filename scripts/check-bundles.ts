/**
 * Bundles the built SDK and every Lambda handler as a user or a deployment would, in memory, so
 * that neither can rot between releases: nothing may be imported that a bundler cannot resolve.
 * Prints the sizes; test/package holds the SDK to its budget.
 */
import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * What the whole SDK should be, minified, without the AWS SDK. Not reached yet; the build says by
 * how much.
 */
export const sdkTargetBytes = 60 * 1024;

/**
 * What the tests hold it to until then: what an import loads, everything gzipped, and everything
 * minified, which may only shrink from where it is. (It rose twice: reading from undecided commits,
 * engine/chaining, is 10 KiB of it; telling replay what is installed, 1 KiB.)
 */
export const sdkBudget = {
  eagerBytesMax: 60 * 1024,
  gzippedBytesMax: 60 * 1024,
  wholeBytesMax: 132 * 1024,
} as const;

/**
 * Bytes of the entry's bundle.
 * @throws when the entry does not bundle, or not without a warning.
 */
export async function bundleBytes(options: {
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
  /** With what a client loads on its first use. */
  readonly wholeBytes: number;
  readonly gzippedBytes: number;
};

/** Sizes of the SDK's bundle, minified, AWS SDK and Node's own modules left outside. */
export async function sdkSizes(entry: string): Promise<SdkSizes> {
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    absWorkingDir: root,
    bundle: true,
    minify: true,
    splitting: true,
    write: false,
    metafile: true,
    outdir: "bundle",
    format: "esm",
    target: "node20",
    platform: "neutral",
    external: ["@aws-sdk/*", "@smithy/*", "node:*"],
    logLevel: "silent",
  });
  const sum = (bytes: readonly number[]): number => bytes.reduce((total, each) => total + each, 0);
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
  return {
    eagerBytes: sum(outputs.filter(([path]) => eager.has(path)).map(([, { bytes }]) => bytes)),
    wholeBytes: sum(outputFiles.map(({ contents }) => contents.byteLength)),
    gzippedBytes: sum(
      outputFiles.map(({ contents }) => gzipSync(contents, { level: 9 }).byteLength),
    ),
  };
}

function handlers(): string[] {
  const folder = join(root, "functions");
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name === "handler.ts" || name.endsWith("/handler.ts"))
    .sort()
    .map((name) => join(folder, name));
}

function report(name: string, bytes: number): void {
  process.stdout.write(`${name}: ${(bytes / 1024).toFixed(1)} KiB minified\n`);
}

async function main(): Promise<void> {
  const sdk = await sdkSizes(join(root, "dist", "esm", "sdk", "index.js"));
  report("sdk, loaded by importing it", sdk.eagerBytes);
  report("sdk, whole", sdk.wholeBytes);
  if (sdk.wholeBytes > sdkTargetBytes) {
    const excess = (sdk.wholeBytes / sdkTargetBytes).toFixed(1);
    process.stdout.write(
      `sdk, whole: MISSES its target of 60 KiB minified, ${excess} times over\n`,
    );
  }
  process.stdout.write(
    `sdk, whole: ${(sdk.gzippedBytes / 1024).toFixed(1)} KiB minified and gzipped\n`,
  );
  for (const entry of handlers()) {
    // Lambda's runtime carries the AWS SDK.
    const bytes = await bundleBytes({ entry, platform: "node", external: ["@aws-sdk/*"] });
    report(relative(root, entry), bytes);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
