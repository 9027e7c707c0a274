/**
 * Builds the command `tidemark`, the console's page, the template of `tidemark init` and the
 * programs of the embedded stack into `dist/cli`: plain JavaScript with everything in it but the
 * package's peers, so that `npx tidemark start` runs from an installed package, without sources and
 * without a loader. Prints the size and fails above the budget.
 */
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { packedTemplate, templateFiles, trafficEntry } from "../cli/package.ts";
import { builtPage } from "../console/bundle-page.ts";
import { demoEntries } from "../demo/snapshot.ts";
import { stackEntries } from "../localstack/stack-bundle.ts";
import { handlerFiles } from "../localstack/stack-functions.ts";
import { bundledPackages } from "./bundled-packages.ts";
import { requireBanner } from "./function-bundles.ts";
import { noticeFile, noticesOf } from "./notices.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Everything together; half of it is the functions' own libraries. */
const cliBytesMax = 3 * 1024 * 1024;

/** How many bytes it has, and the packages that have a part in it. */
export type BuiltCommand = { readonly bytes: number; readonly packages: readonly string[] };

export async function buildCli(folder: string): Promise<BuiltCommand> {
  rmSync(folder, { recursive: true, force: true });
  const entries = [
    ["tidemark", "cli/main.ts"],
    trafficEntry,
    ...demoEntries,
    ...stackEntries(handlerFiles),
  ] as const;
  const { metafile, warnings } = await build({
    entryPoints: Object.fromEntries(entries),
    absWorkingDir: root,
    outdir: folder,
    bundle: true,
    splitting: true,
    metafile: true,
    platform: "node",
    target: "node20",
    format: "esm",
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    // Peers of the package; and what builds programs from sources, which are not there.
    external: ["@aws-sdk/client-*", "dynalite", "kinesalite", "esbuild"],
    banner: { js: requireBanner },
    logLevel: "silent",
  });
  const [warning] = warnings;
  if (warning !== undefined) throw new Error(`dist/cli: ${warning.text}`);
  chmodSync(join(folder, "tidemark.js"), 0o755);
  const page = await builtPage();
  writeFileSync(join(folder, "console.html"), page.html);
  const notices = noticesOf(metafile, page.metafile);
  writeFileSync(join(folder, noticeFile), notices);
  const template = JSON.stringify(Object.fromEntries(templateFiles()));
  writeFileSync(join(folder, packedTemplate), template);
  const programs = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
  return {
    bytes: programs + Buffer.byteLength(page.html) + Buffer.byteLength(template),
    packages: bundledPackages(metafile, page.metafile),
  };
}

async function main(): Promise<void> {
  const { bytes } = await buildCli(join(root, "dist", "cli"));
  console.log(`dist/cli: ${(bytes / 1024).toFixed(1)} KiB`);
  if (bytes > cliBytesMax) throw new Error(`dist/cli: over the budget of ${cliBytesMax} bytes`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
