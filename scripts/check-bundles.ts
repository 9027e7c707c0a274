/**
 * Bundles the built SDK and every Lambda handler as a user or a deployment would, in memory, so
 * that neither can rot between releases: nothing may be imported that a bundler cannot resolve.
 * Prints the sizes; test/package holds the SDK to its budget.
 */
import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Minified, without the AWS SDK. */
export const sdkBundleBytesMax = 60 * 1024;

/** Bytes of the entry's bundle. @throws when the entry does not bundle, or not without a warning. */
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

/** Bytes of the SDK's bundle, AWS SDK and Node's own modules left outside. */
export function sdkBundleBytes(entry: string): Promise<number> {
  return bundleBytes({
    entry,
    platform: "neutral",
    external: ["@aws-sdk/*", "@smithy/*", "node:*"],
  });
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
  const sdk = await sdkBundleBytes(join(root, "dist", "esm", "sdk", "index.js"));
  report("sdk", sdk);
  for (const entry of handlers()) {
    // Lambda's runtime carries the AWS SDK.
    const bytes = await bundleBytes({ entry, platform: "node", external: ["@aws-sdk/*"] });
    report(relative(root, entry), bytes);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
