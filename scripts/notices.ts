/**
 * The NOTICE of a bundle: which packages have a part in it, under which licence, and what each asks
 * whoever hands it on to say. A bundler drops all of that with the comments.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Metafile } from "esbuild";
import { bundledFolders, nameAndVersion } from "./bundled-packages.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

export const noticeFile = "NOTICE";

const noticeNames = /^(?:licen[cs]e|notice|copying|copyright)(?:[.-].*)?$/iu;
const rule = `\n${"-".repeat(80)}\n`;

/**
 * A text that several packages have stands once. The same packages give the same bytes.
 * @throws when a package neither carries a licence nor names one.
 */
export function noticesOf(...metafiles: readonly Metafile[]): string {
  const packagesOf = new Map<string, string[]>();
  for (const folder of bundledFolders(...metafiles)) {
    const name = nameAndVersion(folder);
    for (const text of textsOf(folder)) {
      const packages = packagesOf.get(text) ?? [];
      if (!packages.includes(name)) packages.push(name);
      packagesOf.set(text, packages);
    }
  }
  const parts = Array.from(packagesOf, ([text, packages]) => `${packages.join("\n")}\n\n${text}\n`);
  return ["Parts of these packages are in the programs beside this file.\n", ...parts].join(rule);
}

function textsOf(folder: string): readonly string[] {
  const names = readdirSync(join(root, folder)).filter((name) => noticeNames.test(name));
  const texts = names.sort().map((name) =>
    readFileSync(join(root, folder, name), "utf8")
      .replaceAll("\r\n", "\n")
      .trim(),
  );
  if (texts.length > 0) return texts;
  const manifest = readFileSync(join(root, folder, "package.json"), "utf8");
  const { license } = JSON.parse(manifest) as { readonly license?: unknown };
  if (typeof license !== "string") throw new Error(`${folder} does not say what its licence is`);
  return [`Licence: ${license}. The package carries no text of it.`];
}
