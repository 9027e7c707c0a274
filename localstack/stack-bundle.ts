/**
 * Turns the TypeScript of the stack's processes into JavaScript, once per start: bundling takes a
 * tenth of a second, while a loader would cost every process, restarted ones included, far more.
 * Packages stay outside. The result lies in a folder named by its content, so stacks that start at
 * the same time share it or do not meet.
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

const handlerPrefix = "function-";
const root = fileURLToPath(new URL("..", import.meta.url));
const cacheFolder = join(root, ".cache", "embedded");

/** Builds what an embedded stack with these handlers runs. */
export async function bundleStack(
  handlerFiles: ReadonlyMap<string, string>,
): Promise<StackScripts> {
  return stackScripts(await bundleScripts(stackEntries(handlerFiles)));
}

/** The stack's programs by name, as `bundleScripts` takes them. */
export function stackEntries(handlerFiles: ReadonlyMap<string, string>): Map<string, string> {
  return new Map([
    ["stores", "localstack/stores-process.ts"],
    ["host", "localstack/function-host.ts"],
    ...Array.from(handlerFiles, ([name, file]) => [`${handlerPrefix}${name}`, file] as const),
  ]);
}

/** Finds them again among built programs. */
export function stackScripts(scripts: ReadonlyMap<string, string>): StackScripts {
  const handlers = [...scripts].filter(([name]) => name.startsWith(handlerPrefix));
  return {
    stores: scripts.get("stores") ?? "",
    host: scripts.get("host") ?? "",
    handlers: new Map(handlers.map(([name, file]) => [name.slice(handlerPrefix.length), file])),
  };
}

/**
 * Builds programs into one folder, all from one reading of the sources.
 * @param entries TypeScript files by program name, relative to the repository.
 * @returns JavaScript files by program name.
 * @throws StackError if they cannot be built.
 */
export async function bundleScripts(
  entries: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const staging = join(cacheFolder, "staging");
  const result = await build({
    entryPoints: Object.fromEntries(
      Array.from(entries, ([name, file]) => [name, join(root, file)]),
    ),
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
  return new Map(Array.from(entries.keys(), (name) => [name, join(folder, `${name}.js`)]));
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
