/**
 * Builds what the package publishes: the SDK and the files that it reaches, once as ES modules and
 * once as CommonJS, with declarations for each. Both trees are plain `tsc` output, file by file,
 * so a bundler can shake them and a stack trace names the module that it came from.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compiles } from "./compiler.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");

/**
 * `tsc` rewrites `./file.ts` to `./file.js` in code but not in declarations. Compilers do resolve
 * `./file.ts` to `file.d.ts`, yet only with luck in every mode, so the declarations name what is
 * really there.
 */
function rewriteDeclarationSpecifiers(declaration: string): string {
  return declaration.replaceAll(/((?:from|import)\s*\(?\s*"\.{1,2}\/[^"]+)\.ts"/g, '$1.js"');
}

function compile(project: string): void {
  if (!compiles(project)) throw new Error(`tsc -p ${project} failed`);
}

function rewriteDeclarations(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".d.ts")) continue;
    const path = join(folder, name);
    writeFileSync(path, rewriteDeclarationSpecifiers(readFileSync(path, "utf8")));
  }
}

function build(): void {
  rmSync(dist, { recursive: true, force: true });
  compile("tsconfig.sdk.json");
  compile("tsconfig.sdk-cjs.json");
  for (const [folder, type] of [
    ["esm", "module"],
    ["cjs", "commonjs"],
  ] as const) {
    rewriteDeclarations(join(dist, folder));
    // Node and TypeScript take a file's module system from the nearest package.json; `sideEffects`
    // is read from there too.
    const manifest = { type, sideEffects: false };
    writeFileSync(join(dist, folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build();
