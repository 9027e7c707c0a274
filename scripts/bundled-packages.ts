/** Which packages of node_modules have a part in what a bundler has put out. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Metafile } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** As `name@version`, sorted. What was left out whole, since nothing uses it, is not among them. */
export function bundledPackages(...metafiles: readonly Metafile[]): readonly string[] {
  return [...new Set(bundledFolders(...metafiles).map(nameAndVersion))].sort();
}

/** Where they are installed, below the root. */
export function bundledFolders(...metafiles: readonly Metafile[]): readonly string[] {
  const folders = new Set<string>();
  for (const { outputs } of metafiles) {
    for (const { inputs } of Object.values(outputs)) {
      for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
        const folder = bytesInOutput > 0 ? packageFolder(path) : undefined;
        if (folder !== undefined) folders.add(folder);
      }
    }
  }
  return [...folders].sort();
}

/** Of the innermost package, for one may stand in another's node_modules. */
export function packageFolder(path: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/u.exec(path)?.[0];
}

export function nameAndVersion(folder: string): string {
  const text = readFileSync(join(root, folder, "package.json"), "utf8");
  const { name, version } = JSON.parse(text) as { readonly name: string; readonly version: string };
  return `${name}@${version}`;
}
