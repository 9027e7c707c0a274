/**
 * Where the package came from that writes a project. A version that nobody has published cannot be
 * installed by its number: the project takes it from where this one was taken.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

export type PackageSource =
  | { readonly kind: "registry" }
  /** Installed from a file, which may have gone since. */
  | { readonly kind: "tarball"; readonly path: string; readonly isThere: boolean }
  /** A clone, or a folder that another project links to. */
  | { readonly kind: "folder"; readonly path: string };

/** @param folder the package's own, links followed. */
export function packageSource(folder: string): PackageSource {
  const modules = dirname(folder);
  if (basename(modules) !== "node_modules") return { kind: "folder", path: folder };
  const resolved = resolvedBy(join(modules, ".package-lock.json"), basename(folder));
  const [, file] = /^file:(.+)$/u.exec(resolved ?? "") ?? [];
  if (file === undefined) return { kind: "registry" };
  const path = resolve(dirname(modules), file);
  return { kind: "tarball", path, isThere: existsSync(path) };
}

/** As npm notes it beside what it has installed; other package managers do not. */
function resolvedBy(lock: string, name: string): string | undefined {
  type Lock = { readonly packages?: Readonly<Record<string, { readonly resolved?: unknown }>> };
  try {
    const { packages } = JSON.parse(readFileSync(lock, "utf8")) as Lock;
    const resolved = packages?.[`node_modules/${name}`]?.resolved;
    return typeof resolved === "string" ? resolved : undefined;
  } catch {
    return undefined;
  }
}

/** What installs the project's packages, Tidemark among them: a shell's commands. */
export function installCommands(source: PackageSource, version: string): readonly string[] {
  switch (source.kind) {
    case "registry":
      return ["npm install"];
    case "tarball":
      return [`npm install ${quoted(source.path)}`];
    case "folder":
      // Not a link: the package's own copies of what both need would come along with it.
      return [`npm pack ${quoted(source.path)}`, `npm install ./tidemark-${version}.tgz`];
  }
}

/** What has to be known of these commands; undefined: nothing. */
export function installNote(source: PackageSource): string | undefined {
  switch (source.kind) {
    case "registry":
      return undefined;
    case "tarball":
      return source.isThere
        ? "This Tidemark was installed from a file, so the project is given the same one."
        : `This Tidemark was installed from ${source.path}, which is not there any more: name ` +
            "where it is now.";
    case "folder":
      return (
        "This Tidemark runs from a folder: `npm pack` builds it, which takes a minute and needs " +
        "its packages (`npm ci` there), and the project is given the file."
      );
  }
}

/** As a shell takes it. */
export function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
