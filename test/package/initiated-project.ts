/**
 * What `tidemark init` writes, with the packages that it asks for. Nothing is fetched: Tidemark is
 * the one of another project, and the others are the repository's own, which have to be what its
 * package.json says. It lies apart from both, so that it finds no package that it does not name.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execute, mustSucceed, type Finished, type Project } from "./packed-project.ts";

const root = join(import.meta.dirname, "..", "..");

type Initiated = {
  /** That its package.json names. */
  readonly packages: readonly string[];
  readonly npm: (...args: readonly string[]) => Promise<Finished>;
  readonly remove: () => void;
};

type Manifest = Readonly<Record<"dependencies" | "devDependencies", Record<string, string>>>;

export async function initiate(by: Project, name: string): Promise<Initiated> {
  const apart = mkdtempSync(join(tmpdir(), "tidemark-initiated-"));
  const command = join(by.packageFolder, "..", ".bin", "tidemark");
  await mustSucceed(execute(command, ["init", name], { cwd: apart }));
  const folder = join(apart, name);
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const packages = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
  for (const each of packages) {
    const isOurs = each === "tidemark";
    const source = isOurs ? by.packageFolder : join(root, "node_modules", each);
    linkPackage(source, join(folder, "node_modules", each));
  }
  for (const [program, file] of [
    ["tidemark", "tidemark/dist/cli/tidemark.js"],
    ["tsc", "typescript/bin/tsc"],
    ["vitest", "vitest/vitest.mjs"],
  ] as const) {
    linkPackage(join("..", file), join(folder, "node_modules", ".bin", program));
  }
  return {
    packages,
    npm: (...args) => execute("npm", args, { cwd: folder }),
    remove: () => {
      rmSync(apart, { recursive: true, force: true });
    },
  };
}

function linkPackage(source: string, target: string): void {
  mkdirSync(dirname(target), { recursive: true });
  symlinkSync(source, target);
}
