/**
 * Turns the TypeScript of the stack's processes into JavaScript, once per start: bundling takes a
 * tenth of a second, while a loader would cost every process, restarted ones included, far more. Packages stay
 * outside. The result lies in a folder named by its content, so stacks that start at the same
 * time share it or do not meet.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { StackError } from "./stack-error.ts";

export type StackScripts = {
  readonly stores: string;
  readonly host: string;
  /** By function name. */
  readonly handlers: ReadonlyMap<string, string>;
};

const root = fileURLToPath(new URL("..", import.meta.url));
const cacheFolder = join(root, ".cache", "embedded");

export async function bundleStack(
  handlerFiles: ReadonlyMap<string, string>,
): Promise<StackScripts> {
  const entries: Record<string, string> = {
    stores: join(root, "localstack/stores-process.ts"),
    host: join(root, "localstack/function-host.ts"),
  };
  for (const [name, file] of handlerFiles) entries[`function-${name}`] = join(root, file);
  const staging = join(cacheFolder, "staging");
  const result = await build({
    entryPoints: entries,
    outdir: staging,
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    packages: "external",
    platform: "node",
    target: "node20",
    format: "esm",
    sourcemap: "linked",
    write: false,
    logLevel: "silent",
  }).catch((error: unknown) => {
    const because = error instanceof Error ? error.message : String(error);
    throw new StackError("other", `the stack could not be built: ${because}`, { cause: error });
  });
  const hash = createHash("sha256");
  for (const file of result.outputFiles) hash.update(file.path).update(file.contents);
  const folder = join(cacheFolder, hash.digest("hex").slice(0, 16));
  if (!existsSync(folder)) publish(result.outputFiles, { staging, folder });
  return {
    stores: join(folder, "stores.js"),
    host: join(folder, "host.js"),
    handlers: new Map(
      [...handlerFiles.keys()].map((name) => [name, join(folder, `function-${name}.js`)]),
    ),
  };
}

/** Files appear under their final name all at once. */
function publish(
  files: readonly { readonly path: string; readonly contents: Uint8Array }[],
  { staging, folder }: { readonly staging: string; readonly folder: string },
): void {
  mkdirSync(cacheFolder, { recursive: true });
  const temporary = mkdtempSync(join(cacheFolder, `${basename(folder)}-`));
  for (const file of files) {
    const target = join(temporary, relative(staging, file.path));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, file.contents);
  }
  try {
    renameSync(temporary, folder);
  } catch (error) {
    // Another stack was faster with the very same content.
    rmSync(temporary, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}
