/** Links between the files of a folder of HTML that lead nowhere. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/**
 * As somebody meets them who opens the files from a disk: a folder is not a page. Addresses with a
 * scheme are not looked at.
 * @returns a line for each, with the page that it stands on.
 */
export function deadLinks(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const pages = new Map(
    names
      .filter((name) => name.endsWith(".html"))
      .map((name) => [resolve(folder, name), readFileSync(join(folder, name), "utf8")]),
  );
  const anchors = new Map([...pages].map(([path, html]) => [path, valuesOf(html, "id")]));
  const found = new Set<string>();
  for (const [path, html] of pages) {
    for (const link of [...valuesOf(html, "href"), ...valuesOf(html, "src")]) {
      if (/^(?:[a-z][a-z+.-]*:|\/\/)/iu.test(link)) continue;
      const { file, anchor } = partsOf(link);
      const target = file === "" ? path : resolve(dirname(path), file);
      const why = !existsSync(target) || statSync(target).isDirectory() ? "file" : "heading";
      const known = anchors.get(target);
      const isThere = why === "heading" && (anchor === "" || (known?.has(anchor) ?? true));
      if (!isThere) found.add(`${relative(folder, path)}: no ${why} for the link ${link}`);
    }
  }
  return [...found].sort();
}

function valuesOf(html: string, attribute: "href" | "id" | "src"): ReadonlySet<string> {
  const pattern = new RegExp(`\\s${attribute}="([^"]*)"`, "gu");
  return new Set(Array.from(html.matchAll(pattern), ([, value = ""]) => value));
}

function partsOf(link: string): { readonly file: string; readonly anchor: string } {
  const [address = "", anchor = ""] = link.replaceAll("&amp;", "&").split("#");
  const [file = ""] = address.split("?");
  return { file: decodeURIComponent(file), anchor: decodeURIComponent(anchor) };
}
